package flows

import (
	"context"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
)

// Words returns what a workflow's activities last said while they run, by the
// task queue that they run on. A queue on which several of them run is left out,
// since it does not tell whose words they are. They may be some seconds old: the
// SDK throttles heartbeats.
func (c Client) Words(ctx context.Context, id string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	description, err := c.Temporal.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return nil, explain("ask what "+id+" is doing", err)
	}
	words, several := map[string]string{}, map[string]bool{}
	for _, activity := range description.RawResponse.GetPendingActivities() {
		queue := activity.GetActivityOptions().GetTaskQueue().GetName()
		if _, taken := words[queue]; taken {
			several[queue] = true
		}
		words[queue] = wordsOf(activity)
	}
	for queue := range several {
		delete(words, queue)
	}
	return words, nil
}

// wordsOf is empty for an activity that has not said anything, or not in words.
func wordsOf(activity *workflowpb.PendingActivityInfo) string {
	var text string
	payloads := activity.GetHeartbeatDetails()
	if len(payloads.GetPayloads()) == 0 || converter.GetDefaultDataConverter().FromPayloads(payloads, &text) != nil {
		return ""
	}
	return text
}
