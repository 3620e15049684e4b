package activities

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/tidegate/tidegate/internal/gitops"
)

// ObserveInput asks where a ref stands.
type ObserveInput struct {
	Ref gitops.Ref `json:"ref"`
	// Hint is a commit that somebody says the head is; it is never believed.
	Hint string `json:"hint,omitempty"`
	// Wanted are Deliveries that must be told in any case.
	Wanted []string `json:"wanted,omitempty"`
}

// ObserveResult is where a ref stands, and whom that concerns.
type ObserveResult struct {
	Commit   string `json:"commit"`
	Sequence int64  `json:"sequence"` // grows with each move of the ref
	Moved    bool   `json:"moved"`    // since the ref was noted last
	// HintShown says that Git shows the hinted commit, or has shown it before.
	HintShown bool `json:"hintShown"`
	// Deliveries are all that follow the ref; Affected those that read something
	// which has changed.
	Deliveries []string `json:"deliveries,omitempty"`
	Affected   []string `json:"affected,omitempty"`
	// Missing says why there is no commit: the ref or the repository is not there,
	// or wants a password. It is a condition to show, never a change.
	Missing string `json:"missing,omitempty"`
}

// Observe asks Git for the head of a ref, fetches it once, and compares what
// each Delivery reads with what it read when the ref was noted last.
func (s *Source) Observe(ctx context.Context, in ObserveInput) (ObserveResult, error) {
	defer beat(ctx)()
	followers, err := s.followers(ctx, in.Ref)
	if err != nil {
		return ObserveResult{}, classify(err)
	}
	result := ObserveResult{Deliveries: followers.keys, HintShown: true}
	if len(followers.keys) == 0 {
		result.Missing = fmt.Sprintf("no Delivery follows %s any more", in.Ref)
		return result, nil
	}
	noted, err := s.noted(ctx, in.Ref)
	if err != nil {
		return result, classify(err)
	}
	head, err := s.head(ctx, followers, in.Ref)
	if isUserError(err) {
		result.Commit, result.Sequence, result.HintShown = noted.Commit, noted.Sequence, in.Hint == ""
		result.Missing, result.Affected = err.Error(), followers.keys
		return result, nil
	}
	if err != nil {
		return result, classify(err)
	}
	result.Commit, result.Moved = head, head != noted.Commit || noted.Missing
	result.Sequence = noted.next(result.Moved, activity.GetInfo(ctx).ScheduledTime.UnixMilli())
	result.HintShown = in.Hint == "" || in.Hint == head
	if !result.HintShown {
		if result.HintShown, err = s.has(ctx, followers, in.Hint); err != nil {
			return result, classify(err)
		}
	}
	for _, key := range followers.keys {
		if slices.Contains(in.Wanted, key) || !slices.Contains(noted.Deliveries, key) || result.Moved && s.concerns(ctx, SourceAt{RepoURL: followers.url, Chart: followers.chart, Ref: in.Ref, Commit: noted.Commit}, key, head) {
			result.Affected = append(result.Affected, key)
		}
	}
	return result, nil
}

// followers are the Deliveries that read a ref.
type followers struct {
	url   string // what to dial
	chart string
	keys  []string
}

func (s *Source) followers(ctx context.Context, ref gitops.Ref) (followers, error) {
	var f followers
	var cat gitops.Catalog
	if _, err := s.Blobs.namedJSON(ctx, CatalogName, &cat); err != nil {
		return f, fmt.Errorf("read the catalog: %w", err)
	}
	for _, d := range cat.Deliveries {
		if source, found := sourceOf(d, ref); found {
			f.url, f.chart = source.RepoURL, source.Chart
			f.keys = append(f.keys, d.Key())
		}
	}
	return f, nil
}

// sourceOf is a source of a Delivery that follows a ref.
func sourceOf(d gitops.Delivery, ref gitops.Ref) (gitops.Source, bool) {
	for _, t := range d.Targets {
		for _, s := range t.Sources() {
			if s.Ref() == ref {
				return s, true
			}
		}
	}
	return gitops.Source{}, false
}

// note is what is remembered of a ref. It can be lost: everybody is told then.
type note struct {
	Commit     string   `json:"commit"`
	Sequence   int64    `json:"sequence"`
	Deliveries []string `json:"deliveries"` // those that know of Commit, or need not
	// Missing says that the ref was not there when it was looked for last, so that
	// everybody must hear when it is back.
	Missing bool `json:"missing,omitempty"`
}

// next is the sequence of what is seen now. A lost note starts from the
// server's clock, which is past every sequence given before.
func (n note) next(moved bool, clock int64) int64 {
	switch {
	case n.Sequence == 0:
		return clock
	case moved:
		return n.Sequence + 1
	default:
		return n.Sequence
	}
}

func (s *Source) noted(ctx context.Context, ref gitops.Ref) (note, error) {
	var n note
	if _, err := s.Blobs.namedJSON(ctx, "ref/"+ref.String(), &n); err != nil {
		return n, fmt.Errorf("read what is noted of %s: %w", ref, err)
	}
	return n, nil
}

// NoteInput is what to remember of a ref once everybody has been told.
type NoteInput struct {
	Ref        gitops.Ref `json:"ref"`
	Commit     string     `json:"commit"`
	Sequence   int64      `json:"sequence"`
	Deliveries []string   `json:"deliveries"`
	Missing    bool       `json:"missing,omitempty"`
}

// Note remembers where a ref stands.
func (s *Source) Note(ctx context.Context, in NoteInput) error {
	return classify(s.Blobs.setNamedJSON(ctx, "ref/"+in.Ref.String(), note{Commit: in.Commit, Sequence: in.Sequence, Deliveries: in.Deliveries, Missing: in.Missing}))
}
