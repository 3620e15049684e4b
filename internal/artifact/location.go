package artifact

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	// The two drivers that need no account; a program that wants another one imports it beside this package.
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/memblob"
)

// location is a store's URL, understood.
type location struct {
	bucketURL string
	display   string // without query: it may hold credentials
	folder    string // absolute path; file:// only
	inMemory  bool
}

func parseLocation(raw string) (location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, errors.New("the URL cannot be parsed; write it like file:///var/lib/tidegate/artifacts")
	}
	display := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	loc := location{bucketURL: raw, display: display.String(), inMemory: u.Scheme == "mem"}
	switch {
	case u.Scheme == "":
		return location{}, fmt.Errorf("%q has no scheme; write it like file:///var/lib/tidegate/artifacts", display.String())
	case u.Scheme != "file":
		return loc, nil
	}
	path := u.Path
	if u.Host == "." {
		path = strings.TrimPrefix(path, "/")
	}
	if loc.folder, err = filepath.Abs(filepath.FromSlash(path)); err != nil {
		return location{}, fmt.Errorf("resolve folder %s: %w", path, err)
	}
	loc.bucketURL = withFileDefaults(u)
	return loc, nil
}

// withFileDefaults asks the file driver for private folders, for temporary files beside the final ones (a rename from
// another disk is not atomic, and fails), and for no metadata files. What the URL already says stays.
func withFileDefaults(u *url.URL) string {
	q := u.Query()
	for name, value := range map[string]string{
		"create_dir": "true", "dir_file_mode": "0700", "no_tmp_dir": "true", "metadata": "skip",
	} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	own := *u
	own.RawQuery = q.Encode()
	return own.String()
}
