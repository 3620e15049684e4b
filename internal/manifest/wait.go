package manifest

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// longestDeadline is what may be asked for at most.
const longestDeadline = 24 * time.Hour

// readWait reads whether and how long the object is waited for.
func (o *Options) readWait(annotations map[string]string) error {
	o.NoWait = annotations[annotationIgnoreHealth] == "true"
	if text, ok := annotations[annotationWait]; ok {
		wait, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%w: %s is %q; it is true or false, in quotes", ErrInvalid, annotationWait, text)
		}
		o.NoWait = !wait
	}
	if text, ok := annotations[annotationDeadline]; ok {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > longestDeadline {
			return fmt.Errorf("%w: %s is %q; it is a duration between 1s and %s, such as 30m", ErrInvalid, annotationDeadline, text, longestDeadline)
		}
		o.Deadline = int(math.Ceil(d.Seconds()))
	}
	return nil
}
