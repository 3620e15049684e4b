package main

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tidegate/tidegate/workflows"
)

// steps is when each kind of activity was first scheduled and last completed.
type steps map[string]span

type span struct{ first, last time.Time }

func (s steps) took(activity string) time.Duration { return s[activity].last.Sub(s[activity].first) }

// readSteps reads from the workflows' histories how long each part of a delivery
// took.
func (b *bench) readSteps(ctx context.Context, since time.Time) (steps, error) {
	result := steps{}
	ids := []string{workflows.DeliveryID(delivery)}
	rollouts, err := b.api.Rollouts(ctx, delivery)
	if err != nil {
		return nil, err
	}
	newest := 0
	for _, r := range rollouts.Rollouts {
		newest = max(newest, r.Number)
	}
	ids = append(ids, workflows.RolloutID(delivery, "all", newest))
	ids = append(ids, workflows.PushID(b.ref()))
	for _, id := range ids {
		if err := b.addSteps(ctx, result, id, since); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (b *bench) addSteps(ctx context.Context, result steps, id string, since time.Time) error {
	names := map[int64]string{}
	events := b.temporal.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("read the history of %s: %w", id, err)
		}
		at := event.GetEventTime().AsTime()
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil && at.After(since) {
			name := scheduled.GetActivityType().GetName()
			names[event.GetEventId()] = name
			if s := result[name]; s.first.IsZero() || at.Before(s.first) {
				s.first = at
				result[name] = s
			}
		}
		if completed := event.GetActivityTaskCompletedEventAttributes(); completed != nil {
			name := names[completed.GetScheduledEventId()]
			if s := result[name]; name != "" && at.After(s.last) {
				s.last = at
				result[name] = s
			}
		}
	}
	return nil
}
