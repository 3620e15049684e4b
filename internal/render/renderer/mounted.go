package renderer

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// mounted is what a render reads beside its own checkout: those of other sources,
// by the names that options have for them, and what is fetched because it was
// asked for. All trees of a render share it.
type mounted struct {
	dir   string // where the mounts are
	refs  map[string]*tree
	needs map[string]gitops.Need // that were asked for, there or not
}

// ref returns another checkout; nil when there is none of that name.
func (m *mounted) ref(name string) *tree {
	if known, ok := m.refs[name]; ok {
		return known
	}
	other, err := openIn(filepath.Join(m.dir, name), m)
	if m.dir == "" || err != nil {
		return nil
	}
	m.refs[name] = other
	return other
}

// refPaths are the noted paths of the other checkouts.
func (m *mounted) refPaths() map[string][]string {
	paths := map[string][]string{}
	for name, other := range m.refs {
		paths[name] = other.paths()
	}
	return paths
}

// errNeeds ends a render that cannot go on without what it has asked for.
var errNeeds = errors.New("it needs what is not there yet")

// need returns the tree of something from elsewhere; nil when it must be fetched
// first.
func (m *mounted) need(n gitops.Need) *tree {
	m.needs[n.Name()] = n
	return m.ref(n.Name())
}

// missing lists what must be fetched.
func (m *mounted) missing() (needs []gitops.Need) {
	for _, name := range slices.Sorted(maps.Keys(m.needs)) {
		if m.ref(name) == nil {
			needs = append(needs, m.needs[name])
		}
	}
	return needs
}

// graft finds the tree that a path is in. The name of a need may stand anywhere
// in it: what follows is in that need's tree.
func (t *tree) graft(name string) (*tree, string) {
	if !strings.Contains(name, needMark) {
		return t, name
	}
	steps := strings.Split(path.Clean(name), "/")
	for i, step := range slices.Backward(steps) {
		if _, asked := t.needs[step]; !asked {
			continue
		}
		if other := t.ref(step); other != nil {
			return other, cmp.Or(path.Join(steps[i+1:]...), ".")
		}
	}
	return t, name
}

// needMark is in the name of every need.
const needMark = "need."

// speak puts the URLs of needs into a message, in place of their names.
func (m *mounted) speak(fault *render.Error) {
	for name, need := range m.needs {
		for _, text := range []*string{&fault.File, &fault.Message} {
			*text = renamed(*text, name, need)
		}
	}
}

// renamed replaces folder/name/file by URL//file.
func renamed(text, name string, need gitops.Need) string {
	for {
		at := strings.Index(text, name)
		if at < 0 {
			return text
		}
		begin := strings.LastIndexAny(text[:at], " '\"`(,") + 1
		end := at + len(name)
		shown := withoutUser(need.String())
		if rest, ok := strings.CutPrefix(text[end:], "/"); ok {
			content, isContent := strings.CutPrefix(rest, gitops.NeedContent)
			if text = text[:begin] + shown + "//" + rest; need.Kind == gitops.NeedFile && isContent {
				text = text[:begin] + shown + content
			}
			continue
		}
		text = text[:begin] + shown + text[end:]
	}
}
