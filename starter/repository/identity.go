// Package repository says which repository a URL names, for those parts of
// Tidegate that know repositories and never open one. Its answers are those of
// internal/git, which dials; a test holds the two together.
package repository

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// defaultPorts are the schemes of repositories on the network, with the port
// that need not be written.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418"}

// Identity returns the identity of the repository that a URL names:
// host[:port]/path in lower case, without scheme, user, default port, ".git" or
// trailing slash; file/path, with its case, for a folder. The error never
// repeats the URL, which may hold a password.
func Identity(raw string) (string, error) {
	if err := checkCharacters(raw); err != nil {
		return "", err
	}
	if !strings.Contains(raw, "://") {
		host, rest, found := strings.Cut(raw, ":")
		if !found || host == "" || rest == "" || strings.Contains(host, "/") {
			return "", errors.New("neither scheme://host/path nor user@host:path; a folder is written file:///path")
		}
		raw = "ssh://" + host + "/" + strings.TrimLeft(rest, "/")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", errors.New("not a valid URL; write it as https://host/path")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(raw, "#"):
		return "", errors.New("a repository URL has no ? or # part; remove it")
	case u.Opaque != "" || u.Path == "":
		return "", errors.New("it names no repository; write it as scheme://host/path")
	case u.Scheme == "file":
		return folder(u)
	}
	return network(u)
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

func folder(u *url.URL) (string, error) {
	switch name := trim(u.Path); {
	case u.Host != "" && u.Host != "localhost":
		return "", errors.New("a folder is written with three slashes: file:///path")
	case !path.IsAbs(u.Path) || strings.ContainsRune(u.Path, 0):
		return "", errors.New("a folder is named by its absolute path: file:///path")
	case name == "":
		return "", errors.New("it names no repository; write it as file:///path")
	default:
		return "file/" + escape(name), nil
	}
}

func network(u *url.URL) (string, error) {
	port, known := defaultPorts[u.Scheme]
	if !known {
		return "", errors.New("the scheme is not supported; use https, http or file")
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		address, err := netip.ParseAddr(host)
		if err != nil {
			return "", errors.New("its host is not a valid IPv6 address")
		}
		host = address.String()
	}
	name := trim(strings.ToLower(escape(u.Path)))
	switch {
	case host == "" || name == "":
		return "", errors.New("it names no repository; write it as " + u.Scheme + "://host/path")
	case strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:") != "":
		return "", errors.New("its host has characters that no host name has; write an international name in its xn-- form")
	case host == "file":
		return "", errors.New("a host named file cannot be told from a folder; use its full name")
	}
	if p := strings.TrimLeft(u.Port(), "0"); p != "" && p != port {
		host = net.JoinHostPort(host, p)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + "/" + name, nil
}

// trim takes outer slashes, dot segments and .git off a path.
func trim(p string) string {
	name := strings.Trim(path.Clean("/"+p), "/")
	for strings.HasSuffix(name, ".git") {
		name = strings.TrimRight(strings.TrimSuffix(name, ".git"), "/")
	}
	return name
}

func escape(p string) string {
	return strings.TrimPrefix((&url.URL{Path: "/" + p}).EscapedPath(), "/")
}
