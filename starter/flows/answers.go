package flows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"k8s.io/utils/lru"
)

// Answers remembers what workflows answered. A workflow's answer is a function of
// its history, so an answer holds until that grows: asking Temporal how long it is
// costs a fraction of a query, which some worker has to answer. It makes watching
// cheap for those who are watched by many.
type Answers struct {
	known *lru.Cache
	now   func() time.Time
}

// question is one query of one workflow.
type question struct{ id, query string }

// answered is what a question was answered when the history was so long.
type answered struct {
	version version
	value   converter.EncodedValue
	at      time.Time
}

// version tells one state of a workflow from another.
type version struct {
	run    string
	events int64
}

// maxAnswerAge bounds how long an answer is repeated: a worker of a newer version
// may answer the same history otherwise.
const maxAnswerAge = 10 * time.Second

// NewAnswers returns a memory for so many answers.
func NewAnswers(size int) *Answers {
	return &Answers{known: lru.New(size), now: time.Now}
}

// query asks a workflow unless the answer is known. The history's length is read
// first: an answer may be newer than the version under which it is kept, never
// older.
func (c Client) query(ctx context.Context, q question) (converter.EncodedValue, error) {
	if c.Answers == nil {
		return c.ask(ctx, q, "")
	}
	v, err := c.version(ctx, q.id)
	if err != nil {
		return nil, err
	}
	if known, ok := c.Answers.known.Get(q); ok {
		if a, ok := known.(answered); ok && a.version == v && c.Answers.now().Sub(a.at) < maxAnswerAge {
			return a.value, nil
		}
	}
	value, err := c.ask(ctx, q, v.run)
	if err != nil {
		return nil, err
	}
	c.Answers.known.Add(q, answered{v, value, c.Answers.now()})
	return value, nil
}

// askAgain is how soon a workflow is asked again that has only just begun.
const askAgain = 50 * time.Millisecond

// ask queries a workflow. One that has begun and does not know the question yet
// is still reading what it goes on from: it is asked until it answers.
func (c Client) ask(ctx context.Context, q question, run string) (converter.EncodedValue, error) {
	for {
		value, err := c.Temporal.QueryWorkflow(ctx, q.id, run, q.query)
		if !isBeginning(err) {
			return value, err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// isBeginning recognises how a worker answers for a workflow whose code has not
// come to the place where it takes the query.
func isBeginning(err error) bool {
	var failed *serviceerror.QueryFailed
	return errors.As(err, &failed) && strings.HasPrefix(failed.Message, "unknown queryType")
}

func (c Client) version(ctx context.Context, id string) (version, error) {
	description, err := c.Temporal.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return version{}, fmt.Errorf("ask for its version: %w", err)
	}
	info := description.RawResponse.GetWorkflowExecutionInfo()
	return version{run: info.GetExecution().GetRunId(), events: info.GetHistoryLength()}, nil
}
