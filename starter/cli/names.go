package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
)

// name is what somebody has typed: a Delivery, or a rollout when number is set.
type name struct {
	project  string // empty when it was left out
	delivery string
	stage    string
	number   int
}

// parseName reads [project/]name and [project/]name/stage/number. Workflow ids,
// as the Temporal Web UI shows them, are read too.
func parseName(text string) (name, error) {
	bare := strings.TrimPrefix(strings.TrimPrefix(text, "delivery/"), "rollout/")
	parts := strings.Split(bare, "/")
	if len(parts) > 4 || slices.Contains(parts, "") {
		return name{}, fmt.Errorf("%q is no name: write a Delivery as project/name, a rollout as project/name/stage/number", text)
	}
	var n name
	if number, err := strconv.Atoi(parts[len(parts)-1]); len(parts) >= 3 {
		if err != nil || number < 1 {
			return name{}, fmt.Errorf("%q is no rollout: its number is missing, as in shop/production/7", text)
		}
		n.stage, n.number = parts[len(parts)-2], number
		parts = parts[:len(parts)-2]
	}
	if len(parts) == 2 {
		n.project = parts[0]
	}
	n.delivery = parts[len(parts)-1]
	return n, nil
}

// rollout is the name as a rollout's id, of the Delivery that was resolved.
func (n name) rollout(key string) client.RolloutID {
	return client.RolloutID{Delivery: key, Stage: n.stage, Number: n.number}
}

// resolve finds the project of a name that came without.
func (n name) resolve(ctx context.Context, c client.Client) (key string, err error) {
	if n.project != "" {
		return n.project + "/" + n.delivery, nil
	}
	list, err := c.Deliveries(ctx)
	if err != nil {
		return "", err
	}
	return pick(n.delivery, list.Deliveries)
}

func pick(delivery string, all []api.Delivery) (string, error) {
	var found, known []string
	for _, d := range all {
		known = append(known, d.Delivery)
		if strings.HasSuffix(d.Delivery, "/"+delivery) {
			found = append(found, d.Delivery)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%s is in several projects: say which of %s", delivery, strings.Join(found, ", "))
	case len(known) == 0:
		return "", fmt.Errorf("there is no Delivery %s, nor any other; `tidegate get problems` says what the catalog refuses", delivery)
	}
	const few = 10
	if len(known) > few {
		known = append(known[:few], "…")
	}
	return "", fmt.Errorf("there is no Delivery %s; there are %s", delivery, strings.Join(known, ", "))
}
