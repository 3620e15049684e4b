package gitops

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// SyncScope is what somebody asks of one sync beyond the usual. The zero value asks
// nothing.
type SyncScope struct {
	// Resources are the objects that it is about, in Argo CD's form (ParseSelector);
	// of all when it is empty. Hooks do not run in a sync of some.
	Resources []string `json:"resources,omitempty"`
	// Prune allows to prune where the policy of a target does not.
	Prune bool `json:"prune,omitempty"`
}

// IsZero says whether nothing is asked.
func (s SyncScope) IsZero() bool { return len(s.Resources) == 0 && !s.Prune }

// Check says what is wrong with the scope; nil when nothing is.
func (s SyncScope) Check() error {
	_, err := s.Selectors()
	return err
}

// Selectors are the parsed Resources.
func (s SyncScope) Selectors() (ObjectSelectors, error) {
	var selectors ObjectSelectors
	for _, text := range s.Resources {
		selector, err := ParseSelector(text)
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, selector)
	}
	return selectors, nil
}

// ObjectSelector selects objects. Its fields are patterns in the form of path.Match.
type ObjectSelector struct {
	Exclude                      bool
	Group, Kind, Namespace, Name string
}

// ParseSelector reads GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, as `argocd app sync
// --resource` takes it: the group of the core is empty, * matches anything, and ! in
// front excludes.
func ParseSelector(text string) (ObjectSelector, error) {
	rest, exclude := strings.CutPrefix(text, "!")
	parts := strings.Split(rest, ":")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return ObjectSelector{}, fmt.Errorf("%q selects no object: write GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, as in apps:Deployment:web or :Service:*", text)
	}
	s := ObjectSelector{Exclude: exclude, Group: parts[0], Kind: parts[1], Namespace: "*", Name: parts[2]}
	if namespace, name, found := strings.Cut(parts[2], "/"); found {
		s.Namespace, s.Name = namespace, name
	}
	for _, pattern := range []string{s.Group, s.Kind, s.Namespace, s.Name} {
		if _, err := path.Match(pattern, ""); err != nil {
			return s, fmt.Errorf("%q selects no object: %q is no pattern", text, pattern)
		}
	}
	return s, nil
}

// Matches says whether the selector is about an object.
func (s ObjectSelector) Matches(key ObjectKey) bool {
	match := func(pattern, value string) bool { ok, err := path.Match(pattern, value); return ok && err == nil }
	return match(s.Group, key.Group) && match(s.Kind, key.Kind) && match(s.Namespace, key.Namespace) && match(s.Name, key.Name)
}

// ObjectSelectors select together: what one of them names, or everything when all of
// them exclude, without what one of them excludes.
type ObjectSelectors []ObjectSelector

// Select says whether an object is among those selected. Without selectors all are.
func (all ObjectSelectors) Select(key ObjectKey) bool {
	excluded := func(s ObjectSelector) bool { return s.Exclude && s.Matches(key) }
	named := func(s ObjectSelector) bool { return !s.Exclude && s.Matches(key) }
	names := func(s ObjectSelector) bool { return !s.Exclude }
	return !slices.ContainsFunc(all, excluded) && (!slices.ContainsFunc(all, names) || slices.ContainsFunc(all, named))
}
