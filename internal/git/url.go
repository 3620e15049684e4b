package git

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// fileHost is the first part of a file:// repository's identity. No network
// host may have this name, so the two never meet.
const fileHost = "file"

var defaultPorts = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418"}

// location is a repository's URL, taken apart once.
type location struct {
	identity string
	scheme   string
	dial     string // what http and https connect to; never holds a user
	folder   string // the absolute path of a file:// repository
}

// NormalizeURL returns the identity of the repository that a URL names:
// host[:port]/path in lower case, without scheme, user, default port, ".git" or
// trailing slash, so that https://, ssh:// and git@host:path spellings of one
// repository are equal. A folder (file:///srv/shop.git) becomes file/srv/shop
// and keeps its case. The error, of KindURL, says what is wrong and never
// repeats a password.
func NormalizeURL(raw string) (identity string, err error) {
	loc, err := parseURL(raw)
	return loc.identity, err
}

func parseURL(raw string) (location, error) {
	loc, err := splitURL(raw)
	if err != nil {
		return location{}, &Error{Kind: KindURL, Attempt: "read repository URL " + withoutUser(raw), Reason: err.Error()}
	}
	return loc, nil
}

func splitURL(raw string) (location, error) {
	if err := checkCharacters(raw); err != nil {
		return location{}, err
	}
	raw, err := expandSCP(raw)
	if err != nil {
		return location{}, err
	}
	u, err := url.Parse(raw)
	if err != nil { // its text may repeat a password
		return location{}, errors.New("not a valid URL; write it as https://host/path")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(raw, "#") {
		return location{}, errors.New("a repository URL has no ? or # part; remove it")
	}
	if u.Opaque != "" || u.Path == "" {
		return location{}, errors.New("it names no repository; write it as scheme://host/path")
	}
	if u.Scheme == "file" {
		return fileLocation(u)
	}
	return networkLocation(u)
}

func checkCharacters(raw string) error {
	if raw == "" {
		return errors.New("it is empty")
	}
	for _, r := range raw {
		if unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' || r == unicode.ReplacementChar {
			return errors.New("a blank, control character or backslash is in it; remove it")
		}
	}
	return nil
}

// expandSCP turns git@host:path into ssh://git@host/path, and refuses what is
// neither that nor a URL.
func expandSCP(raw string) (string, error) {
	if strings.Contains(raw, "://") {
		return raw, nil
	}
	host, rest, found := strings.Cut(raw, ":")
	if !found || host == "" || rest == "" || strings.Contains(host, "/") {
		return "", errors.New("neither scheme://host/path nor user@host:path; a folder is written file:///path")
	}
	return "ssh://" + host + "/" + strings.TrimLeft(rest, "/"), nil
}

func fileLocation(u *url.URL) (location, error) {
	if u.Host != "" && u.Host != "localhost" {
		return location{}, errors.New("a folder is written with three slashes: file:///path")
	}
	folder := path.Clean(u.Path)
	if !path.IsAbs(folder) || strings.ContainsRune(folder, 0) {
		return location{}, errors.New("a folder is named by its absolute path: file:///path")
	}
	name := repositoryPath(u.Path)
	if name == "" {
		return location{}, errors.New("it names no repository; write it as file:///path")
	}
	return location{identity: fileHost + "/" + escapePath(name), scheme: "file", folder: folder}, nil
}

func networkLocation(u *url.URL) (location, error) {
	port, known := defaultPorts[u.Scheme]
	if !known {
		return location{}, errors.New("the scheme is not supported; use https, http or file")
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return location{}, errors.New("its host is not a valid IPv6 address")
		}
		host = addr.String()
	}
	switch {
	case host == "":
		return location{}, errors.New("it names no host; write it as " + u.Scheme + "://host/path")
	case strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:") != "":
		return location{}, errors.New("its host has characters that no host name has; write an international name in its xn-- form")
	case host == fileHost:
		return location{}, errors.New("a host named file cannot be told from a folder; use its full name")
	}
	if p := strings.TrimLeft(u.Port(), "0"); p != "" && p != port {
		host = net.JoinHostPort(host, p)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	name := repositoryPath(strings.ToLower(escapePath(u.Path)))
	if name == "" {
		return location{}, errors.New("it names no repository; write it as " + u.Scheme + "://host/path")
	}
	dial := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	return location{identity: host + "/" + name, scheme: u.Scheme, dial: dial.String()}, nil
}

// repositoryPath cleans a URL's path: no outer slashes, no dot segments, no .git.
func repositoryPath(p string) string {
	name := strings.Trim(path.Clean("/"+p), "/")
	for strings.HasSuffix(name, ".git") {
		name = strings.TrimRight(strings.TrimSuffix(name, ".git"), "/")
	}
	return name
}

func escapePath(p string) string {
	return strings.TrimPrefix((&url.URL{Path: "/" + p}).EscapedPath(), "/")
}

// withoutUser cuts user and password from anything that may be a URL. It cuts
// rather too much than too little: a password may hold any character.
func withoutUser(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	return quoteShort(scheme + rest)
}

func quoteShort(s string) string {
	const limit = 200
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return `"` + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s) + `"`
}
