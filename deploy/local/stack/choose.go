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
	var failed []error
	for _, p := range o.Ports.List() {
		width := 1
		if p.Number == &o.Ports.Region {
			width = max(1, len(o.Regions))
		}
		if *p.Number == 0 {
			var err error
			*p.Number, err = reserved.take(width)
			failed = append(failed, err)
			continue
		}
		failed = append(failed, checkRow(p, width))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("choose its ports: %w", err)
	}
	return nil
}

// checkRow checks as many ports as a row is wide, and returns the error of the first that is taken.
func checkRow(p Port, width int) error {
	for offset := range width {
		number := *p.Number + offset
		if err := checkPort(Port{Number: &number, Purpose: p.Purpose, Variable: p.Variable, offset: offset}); err != nil {
			return err
		}
	}
	return nil
}
