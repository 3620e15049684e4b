package renderer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/tidegate/tidegate/internal/render"
)

// diagnose says why a build failed: by the first reference that leads nowhere or
// to something that does not parse, which has a file and a line; else in
// Kustomize's words.
func diagnose(t *tree, file string, references []reference, cause error) error {
	var fault *render.Error
	if errors.As(cause, &fault) {
		return fault
	}
	for _, r := range references {
		if fault := check(t, r); fault != nil {
			return fault
		}
	}
	if strings.Contains(cause.Error(), "already registered id") {
		if fault := duplicate(t, references); fault != nil {
			return fault
		}
	}
	kind := render.KindBuild
	if strings.Contains(cause.Error(), errNetwork.Error()) || strings.Contains(cause.Error(), `exec: "git"`) {
		kind = render.KindRemote
	}
	return &render.Error{Kind: kind, File: file, Message: shorten(cause.Error(), secretsIn(t, references))}
}

// check looks at what one reference leads to.
func check(t *tree, r reference) *render.Error {
	place, info, err := t.resolve(r.target())
	fault := &render.Error{Kind: render.KindPath, File: r.file, Line: r.line}
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.field == "patchesStrategicMerge":
		return nil // it may be written in place
	case errors.Is(err, fs.ErrNotExist):
		fault.Message = fmt.Sprintf("%s names %s, which is not there%s", r.field, r.value, t.nearby(r.target()))
	case errors.Is(err, errOutside):
		fault.Message = fmt.Sprintf("%s names %s, which leads out of the repository", r.field, r.value)
	case err != nil:
		fault.Message = fmt.Sprintf("%s names %s: %v", r.field, r.value, err)
	case info.IsDir() && mayBeFolder[r.field] && len(t.kustomizations(place)) == 0:
		fault.Message = fmt.Sprintf("%s names the folder %s, which has no kustomization.yaml", r.field, r.value)
	case !info.IsDir() && parses[r.field] && path.Ext(place) != ".json":
		return t.checkYAML(place)
	default:
		return nil
	}
	return fault
}

// duplicate finds two files that declare the same object.
func duplicate(t *tree, references []reference) error {
	var found objects
	for _, r := range references {
		if r.field != "resources" || !t.isFile(r.target()) {
			continue
		}
		if text, err := t.read(r.target()); err == nil {
			_ = found.addFile(r.target(), text)
		}
	}
	_, err := found.result(render.Result{})
	return err
}

// parses are the fields that name files of manifests.
var parses = map[string]bool{"resources": true, "patches": true, "patchesStrategicMerge": true, "generators": true, "transformers": true}

func (t *tree) checkYAML(file string) *render.Error {
	text, err := t.read(file)
	if err != nil {
		return nil
	}
	for _, d := range splitDocuments(text) {
		var fault *render.Error
		if _, err := d.decode(file); !d.isBlank() && errors.As(err, &fault) {
			return fault
		}
	}
	return nil
}

const (
	maxReason = 400
	hidden    = "•••"
)

// unwrappings take off what Kustomize puts around a reason at each level of a
// tree of kustomizations, until none fits any more.
var unwrappings = []struct {
	form *regexp.Regexp
	keep string
}{
	{regexp.MustCompile(`^accumulating (?:resources|components): `), ""},
	{regexp.MustCompile(`^accumulation err='accumulating resources from '[^']*': '[^']*' must resolve to a file': `), ""},
	{regexp.MustCompile(`^recursed accumulation of path '[^']*': `), ""},
	{regexp.MustCompile(`(?s)^accumulation err='(?:accumulating|merging) resources from '([^']*)': (.*)': must build at directory: .*$`), "$1: $2"},
	{regexp.MustCompile(`^couldn't make target for path '([^']*)': `), "$1: "},
	{regexp.MustCompile(`(?s)^accumulateDirectory: "(.*)"$`), "$1"},
}

// dumps is where Kustomize begins to print objects, patches and its own settings;
// inline is where it prints them in passing.
var (
	dumps  = regexp.MustCompile(`(?s)( from \[|\{"|\{\{|&\{|map\[|: *\{?apiVersion:| in object ).*`)
	inline = regexp.MustCompile("(?s)`[^`]*`")
)

// shorten gives Kustomize's reason without what it is wrapped in, what it prints
// of objects and patches, and any of the given values.
func shorten(reason string, secrets []string) string {
	reason = strings.ReplaceAll(reason, mount+"/", "")
	reason = strings.ReplaceAll(reason, mount, ".")
	for i := 0; i < len(unwrappings); i++ {
		if u := unwrappings[i]; u.form.MatchString(reason) {
			reason, i = u.form.ReplaceAllString(reason, u.keep), -1
		}
	}
	for _, secret := range secrets {
		reason = strings.ReplaceAll(reason, secret, hidden)
	}
	reason = inline.ReplaceAllString(reason, "…")
	reason = dumps.ReplaceAllString(reason, " …")
	reason = strings.Join(strings.Fields(reason), " ")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + " …"
	}
	return "Kustomize cannot build it: " + reason
}
