package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// strategySpec is what a stage says of how a release goes through its targets.
type strategySpec struct {
	Batches       []string `yaml:"batches"`
	MaxParallel   int      `yaml:"maxParallel"`
	OrderBy       string   `yaml:"orderBy"`
	Soak          string   `yaml:"soak"`
	FailureBudget string   `yaml:"failureBudget"`
	OnFailure     string   `yaml:"onFailure"`
	Deadline      string   `yaml:"deadline"`
}

// readStrategy gives a stage's strategy its meaning; nil for all targets at once.
func (s strategySpec) readStrategy(n *yaml.Node, path string, out reporter) *gitops.Strategy {
	read := &gitops.Strategy{MaxParallel: s.MaxParallel}
	before := 0
	for i, text := range s.Batches {
		field := fmt.Sprintf("%s.batches[%d]", path, i)
		amount, err := gitops.ParseAmount(text)
		switch {
		case err != nil:
			out.at(get(n, "batches").Content[i], field, "%s", err)
		case amount == gitops.Amount{}:
			out.at(get(n, "batches").Content[i], field, "a batch of no target; leave it out")
		case amount.Percent > 0 && amount.Percent <= before:
			out.at(get(n, "batches").Content[i], field, "%s is not more than the batch before; batches say how many targets have had their turn after each", text)
		}
		before = max(before, amount.Percent)
		read.Batches = append(read.Batches, amount)
	}
	read.Soak = readDuration(get(n, "soak"), path+".soak", s.Soak, out)
	read.Deadline = readDuration(get(n, "deadline"), path+".deadline", s.Deadline, out)
	if s.FailureBudget != "" {
		budget, err := gitops.ParseAmount(s.FailureBudget)
		if err != nil {
			out.at(get(n, "failureBudget"), path+".failureBudget", "%s", err)
		}
		read.FailureBudget = &budget
	}
	switch on := gitops.OnFailure(s.OnFailure); on {
	case gitops.Continue, gitops.RollBack, gitops.Halt:
		read.OnFailure = on
	case "halt":
	default:
		out.at(get(n, "onFailure"), path+".onFailure", "%q is not what can happen; use halt, continue or rollback", s.OnFailure)
	}
	if s.isZero() {
		return nil
	}
	return read
}

func (s strategySpec) isZero() bool {
	return len(s.Batches) == 0 && s.MaxParallel == 0 && s.Soak == "" && s.FailureBudget == "" && s.OnFailure == "" && s.Deadline == ""
}

// readDuration reads a duration as 90s, 15m or 2h30m; empty is none.
func readDuration(n *yaml.Node, field, text string, out reporter) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		out.at(n, field, "%q is no duration; write it as 90s, 15m or 2h30m", text)
		return 0
	}
	return d
}

// order is the targets by the value of a label, numbers as such; those without it come
// last.
func order(label string, targets []gitops.Target, labels func(gitops.Target) map[string]string) (names []string) {
	if label == "" {
		return nil
	}
	value := func(t gitops.Target) (text string, number int, kind int) {
		text, labelled := labels(t)[label]
		number, err := strconv.Atoi(text)
		switch {
		case !labelled:
			return "", 0, 2
		case err != nil:
			return text, 0, 1
		}
		return "", number, 0
	}
	for _, t := range slices.SortedFunc(slices.Values(targets), func(a, b gitops.Target) int {
		textA, numberA, kindA := value(a)
		textB, numberB, kindB := value(b)
		return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(numberA, numberB), strings.Compare(textA, textB), strings.Compare(a.Name, b.Name))
	}) {
		names = append(names, t.Name)
	}
	return names
}
