package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

const addAttempts = 5

// EnsureSearchAttributes registers the search attributes that the namespace does not have yet; it may run in every
// process at every start. An attribute that exists with another type is an error and is left as it is. A new attribute
// can take some seconds until Temporal accepts it in a workflow's start. The right to register is an operator's: callers
// that lack it should log the error and go on, as the attributes may have been registered for them.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string, want map[string]enums.IndexedValueType) error {
	for range addAttempts {
		missing, err := missingIn(ctx, c, namespace, want)
		if err != nil || len(missing) == 0 {
			return err
		}
		_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: missing,
		})
		var exists *serviceerror.AlreadyExists
		if !errors.As(err, &exists) { // else another process was quicker with one of them: look again
			return wrapAdd(err, namespace, missing)
		}
	}
	return fmt.Errorf("register search attributes in namespace %q: others keep registering them; start again", namespace)
}

func wrapAdd(err error, namespace string, missing map[string]enums.IndexedValueType) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("register search attributes %v in namespace %q: %w", slices.Sorted(maps.Keys(missing)), namespace, err)
}

func missingIn(ctx context.Context, c client.Client, namespace string, want map[string]enums.IndexedValueType) (map[string]enums.IndexedValueType, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes of namespace %q: %w", namespace, err)
	}
	missing, err := missingAttributes(have.GetCustomAttributes(), want)
	if err != nil {
		return nil, fmt.Errorf("namespace %q: %w", namespace, err)
	}
	return missing, nil
}

func missingAttributes(have, want map[string]enums.IndexedValueType) (map[string]enums.IndexedValueType, error) {
	missing := map[string]enums.IndexedValueType{}
	var conflicts []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch got, ok := have[name]; {
		case !ok:
			missing[name] = want[name]
		case got != want[name]:
			conflicts = append(conflicts, fmt.Errorf("search attribute %s is a %s and must be a %s: remove it with `temporal operator search-attribute remove`",
				name, got, want[name]))
		}
	}
	return missing, errors.Join(conflicts...)
}
