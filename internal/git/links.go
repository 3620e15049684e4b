package git

import (
	"bytes"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

const (
	maxLinkBytes = 4096 // PATH_MAX
	maxLinkHops  = 40   // what Linux follows
)

// isFileName says whether a tree entry's name can be one file's in one folder.
func isFileName(name string) bool {
	switch strings.ToLower(name) {
	case "", ".", "..", ".git":
		return false
	}
	return !strings.ContainsAny(name, "/\x00")
}

// checkLinks reads every symbolic link and refuses those that lead out of the
// exported folder, by whatever detour over other links.
func (x *export) checkLinks() error {
	links := map[string]string{}
	for i := range x.items {
		it := &x.items[i]
		if it.mode != filemode.Symlink {
			continue
		}
		if it.size > maxLinkBytes {
			return x.refuse(it.name, "the symbolic link's target is too long; remove it")
		}
		var target bytes.Buffer
		blob, err := x.store.EncodedObject(plumbing.BlobObject, it.hash)
		if err != nil {
			return err
		}
		if err := copyVerified(&target, blob, it.hash); err != nil {
			return err
		}
		it.link = target.String()
		links[it.name] = it.link
	}
	for _, it := range x.items {
		if it.mode == filemode.Symlink && !staysInside(it.name, links) {
			return x.refuse(it.name, "the symbolic link leads out of the folder, to "+quoteShort(it.link)+
				"; point it to a file of the folder, or deliver from a folder that holds both")
		}
	}
	return nil
}

// staysInside follows a link as a kernel would, with the exported folder as the
// place that must not be left. Names that do not exist are harmless.
func staysInside(name string, links map[string]string) bool {
	at := parent(name)
	rest := links[name]
	for hops := 0; ; {
		if rest == "" || path.IsAbs(rest) || strings.ContainsRune(rest, 0) {
			return false
		}
		var next string
		at, next = walk(at, rest, links)
		switch {
		case at == nil:
			return false
		case next == "":
			return true
		}
		if hops++; hops > maxLinkHops {
			return false
		}
		rest = next
	}
}

// walk goes along a relative path until its end, or until a link, whose target
// it returns with what is left of the path. It returns nil when it would leave.
func walk(at []string, rest string, links map[string]string) (place []string, next string) {
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return nil, ""
			}
			at = at[:len(at)-1]
			continue
		}
		if target, ok := links[path.Join(append(at[:len(at):len(at)], part)...)]; ok {
			return at, strings.Join(append([]string{target}, parts[i+1:]...), "/")
		}
		at = append(at[:len(at):len(at)], part)
	}
	return at, ""
}

func parent(name string) []string {
	if dir := path.Dir(name); dir != "." {
		return strings.Split(dir, "/")
	}
	return []string{}
}
