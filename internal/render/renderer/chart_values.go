package renderer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// valuesOf merges what an Application sets over the chart's own values.
func valuesOf(t *tree, folder string, o gitops.Helm) (map[string]any, error) {
	files, err := valueFiles(t, folder, o)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, file := range files {
		text, err := file.tree.read(file.name)
		if err != nil {
			return nil, unreadable(file.tree, file.name, err)
		}
		if values, err = mergeValues(values, text); err != nil {
			line, message := explainYAML(strings.TrimPrefix(err.Error(), "cannot unmarshal yaml document: "))
			return nil, &render.Error{Kind: render.KindParse, File: file.shown(), Line: line, Message: message}
		}
	}
	if values, err = mergeValues(values, []byte(o.Values)); err != nil {
		_, message := explainYAML(strings.TrimPrefix(err.Error(), "cannot unmarshal yaml document: "))
		return nil, &render.Error{Kind: render.KindParse, File: folder, Message: "helm.values: " + message}
	}
	for _, p := range o.Parameters {
		if err := setParameter(values, p); err != nil {
			return nil, &render.Error{Kind: render.KindBuild, File: folder, Message: fmt.Sprintf("helm.parameters: %s: %v", p.Name, err)}
		}
	}
	for _, p := range o.FileParameters {
		if err := setFile(t, folder, values, p); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func mergeValues(values map[string]any, text []byte) (map[string]any, error) {
	more, err := loader.LoadValues(bytes.NewReader(text))
	return loader.MergeMaps(values, more), err
}

// setParameter sets a value as helm's --set or --set-string does.
func setParameter(values map[string]any, p gitops.HelmParameter) error {
	assignment := p.Name + "=" + escapeCommas(p.Value)
	if p.ForceString {
		return strvals.ParseIntoString(assignment, values)
	}
	return strvals.ParseInto(assignment, values)
}

// escapeCommas keeps a value one value, as Argo CD does; a list in braces stays a
// list.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	for i, r := range value {
		if r == ',' && (i == 0 || value[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func setFile(t *tree, folder string, values map[string]any, p gitops.HelmFileParameter) error {
	file, err := t.named(folder, p.Path)
	if err != nil {
		return err
	}
	text, err := file.tree.read(file.name)
	if err != nil {
		return file.missing("helm.fileParameters", folder, err)
	}
	read := func([]rune) (any, error) { return string(text), nil }
	if err := strvals.ParseIntoFile(p.Name+"=file", values, read); err != nil {
		return &render.Error{Kind: render.KindBuild, File: folder, Message: fmt.Sprintf("helm.fileParameters: %s: %v", p.Name, err)}
	}
	return nil
}

// namedFile is a file, or a pattern of files, that an Application names.
type namedFile struct {
	tree *tree
	ref  string // of another source; empty for the chart's own
	name string // in the tree
}

func (f namedFile) shown() string {
	if f.ref != "" {
		return "$" + f.ref + "/" + f.name
	}
	return f.name
}

// missing is a file that cannot be read.
func (f namedFile) missing(option, folder string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return unreadable(f.tree, f.name, err)
	}
	return &render.Error{Kind: render.KindPath, File: folder, Message: fmt.Sprintf("%s names %s, which is not there%s", option, f.shown(), f.tree.nearby(f.name))}
}

// named finds out what a path of an Application means: relative to the chart, to
// the repository's root when it begins with a slash, to the root of another source
// when it begins with $name/.
func (t *tree) named(folder, name string) (namedFile, error) {
	file := namedFile{tree: t, name: path.Join(folder, name)}
	if ref, ok := gitops.RefOf(name); ok {
		file = namedFile{tree: t.ref(ref), ref: ref, name: path.Clean(strings.TrimPrefix(name, "$"+ref+"/"))}
		if file.tree == nil {
			return file, &render.Error{Kind: render.KindPath, File: folder, Message: fmt.Sprintf("helm names the file %s, but no source of the Application has ref: %s", name, ref)}
		}
	} else if path.IsAbs(name) {
		file.name = path.Clean(name[1:])
	}
	switch {
	case strings.Contains(name, "://"):
		return t.fromElsewhere(folder, name)
	case file.name == "..", strings.HasPrefix(file.name, "../"):
		return file, &render.Error{Kind: render.KindPath, File: folder, Message: fmt.Sprintf("helm names the file %s, which leads out of the repository", name)}
	}
	return file, nil
}

// fromElsewhere is a file that is named by its URL. The error is errNeeds while it
// is not there.
func (t *tree) fromElsewhere(folder, name string) (namedFile, error) {
	need, inside, err := remoteOf("valueFiles", name)
	if err == nil && need == nil {
		err = errors.New("only https:// and http:// are fetched")
	}
	if err != nil {
		return namedFile{}, &render.Error{Kind: render.KindRemote, File: folder, Message: fmt.Sprintf("helm names the file %s: %v", withoutUser(name), err)}
	}
	if t.need(*need) == nil {
		return namedFile{}, errNeeds
	}
	return namedFile{tree: t, name: path.Join(need.Name(), inside)}, nil
}

// valueFiles lists the files of an Application's valueFiles, in their order.
func valueFiles(t *tree, folder string, o gitops.Helm) ([]namedFile, error) {
	var files []namedFile
	for _, name := range o.ValueFiles {
		file, err := t.named(folder, name)
		if err != nil {
			return nil, err
		}
		found, err := file.tree.matching(file.name)
		if err != nil {
			return nil, &render.Error{Kind: render.KindBuild, File: folder, Message: fmt.Sprintf("helm.valueFiles: %s: %v", name, err)}
		}
		if len(found) == 0 && !o.IgnoreMissingValueFiles {
			return nil, file.missing("helm.valueFiles", folder, fs.ErrNotExist)
		}
		for _, match := range found {
			files = append(files, namedFile{file.tree, file.ref, match})
		}
	}
	return files, nil
}

// matching returns the files of a pattern, sorted; a path without stars is that
// file, if it is there. All of the folder that a pattern looks into counts as read.
func (t *tree) matching(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[{") {
		if !t.isFile(pattern) {
			return nil, nil
		}
		return []string{pattern}, nil
	}
	base, _ := doublestar.SplitPattern(pattern)
	t.note(base)
	if _, _, err := t.resolve(base); err != nil {
		return nil, nil //nolint:nilerr // no folder, no files
	}
	found, err := doublestar.Glob(t.root.FS(), pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if errors.Is(err, doublestar.ErrBadPattern) {
		return nil, errors.New("it is not a pattern")
	}
	return found, err
}
