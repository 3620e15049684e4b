package gitops

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Strategy says how a release goes through the targets of a stage. The zero value is all
// of them at once.
type Strategy struct {
	// Order are the targets in the order in which they are taken; those that are not
	// named come last, by name.
	Order []string `json:"order,omitempty"`
	// Batches are how many targets have had their turn after the first batch, the
	// second, and so on; what is left is the last one.
	Batches []Amount `json:"batches,omitempty"`
	// MaxParallel is how many targets are delivered to at the same time; 0 for all of a
	// batch.
	MaxParallel int `json:"maxParallel,omitempty"`
	// Soak is how long the targets of a batch must have been healthy without a break
	// before the next one begins, or the stage is done.
	Soak time.Duration `json:"soak,omitempty"`
	// FailureBudget is how many targets may fail or be unreachable; without it none may
	// fail.
	FailureBudget *Amount `json:"failureBudget,omitempty"`
	// OnFailure says what happens when more do.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// Deadline is how long the stage may take once its first target was begun; 0 for as
	// long as it takes.
	Deadline time.Duration `json:"deadline,omitempty"`
}

// OnFailure says what happens when a stage has spent its failure budget.
type OnFailure string

// The values of OnFailure. In every case the release has failed in the stage.
const (
	Halt     OnFailure = ""         // no further target is begun
	Continue OnFailure = "continue" // the others have their turn all the same
	RollBack OnFailure = "rollback" // no further target is begun, and the stage goes back to the release before
)

// Amount is a number of targets, or a share of them.
type Amount struct {
	Count   int `json:"count,omitempty"`
	Percent int `json:"percent,omitempty"`
}

// ParseAmount reads a number, as 3, or a share, as 25%.
func ParseAmount(text string) (Amount, error) {
	number, share := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 0:
		return Amount{}, fmt.Errorf("%q is no number of targets; write a number, as 3, or a share, as 25%%", text)
	case share && n > 100:
		return Amount{}, fmt.Errorf("%q is more than all targets", text)
	case share:
		return Amount{Percent: n}, nil
	}
	return Amount{Count: n}, nil
}

// AtLeast is the amount out of so many, shares rounded up.
func (a Amount) AtLeast(total int) int {
	return min(a.Count+(a.Percent*total+99)/100, total)
}

// AtMost is the amount out of so many, shares rounded down.
func (a Amount) AtMost(total int) int { return min(a.Count+a.Percent*total/100, total) }

// String is the form in which it is written.
func (a Amount) String() string {
	if a.Percent > 0 {
		return fmt.Sprintf("%d%%", a.Percent)
	}
	return strconv.Itoa(a.Count)
}
