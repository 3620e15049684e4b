package stack

import (
	"errors"
	"fmt"
)

// choosePorts fills in the ports left out, and checks that the others are free. It reports every one that is taken at once.
func choosePorts(o *Options) (*reservation, error) {
	reserved, err := newReservation()
	if err != nil {
		return nil, err
	}
	if err := fillPorts(o, reserved); err != nil {
		reserved.release()
		return nil, err
	}
	return reserved, nil
}

func fillPorts(o *Options, reserved *reservation) error {
	var taken []error
	for _, p := range o.Ports.List() {
		var err error
		if *p.Number == 0 {
			*p.Number, err = reserved.take(1)
		} else {
			err = checkPort(p)
		}
		taken = append(taken, err)
	}
	if o.Ports.Region == 0 {
		var err error
		o.Ports.Region, err = reserved.take(max(1, len(o.Regions)))
		return errors.Join(append(taken, err)...)
	}
	for i, r := range o.Regions {
		number := o.Ports.Region + i
		taken = append(taken, checkPort(Port{Number: &number, Purpose: "region " + r.Name, Variable: "REGION_PORT"}))
	}
	if err := errors.Join(taken...); err != nil {
		return fmt.Errorf("choose its ports: %w", err)
	}
	return nil
}
