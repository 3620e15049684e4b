package gitops

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

// defaultUser is whom Git servers know everybody as over ssh.
const defaultUser = "git"

// Repository is a Git repository's URL, taken apart once.
type Repository struct {
	// Identity is host[:port]/path in lower case, without scheme, user, default
	// port, ".git" or trailing slash, so that https://, ssh:// and git@host:path
	// spellings of one repository are equal. A folder (file:///srv/shop.git) becomes
	// file/srv/shop and keeps its case.
	Identity string
	Scheme   string
	Dial     string // what http and https connect to; never holds a user
	User     string // of an ssh URL
	Folder   string // the absolute path of a file:// repository
}

// MayBeRange says whether a revision can be a range of versions, such as ^1.2,
// 1.x or >=1.0 <2.0, rather than the name of something.
func MayBeRange(revision string) bool {
	if strings.ContainsAny(revision, "*^~<>=|, ") {
		return true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(revision, "v"), ".") {
		if part == "x" || part == "X" {
			return true
		}
	}
	return false
}

// RepositoryIdentity is the Identity of the repository that a URL names.
func RepositoryIdentity(raw string) (string, error) {
	r, err := ParseRepository(raw)
	return r.Identity, err
}

// ParseRepository reads the URL of a repository. The error says what is wrong and
// never repeats the URL, which may hold a password.
func ParseRepository(raw string) (Repository, error) {
	if err := checkCharacters(raw); err != nil {
		return Repository{}, err
	}
	raw, err := expandSCP(raw)
	if err != nil {
		return Repository{}, err
	}
	u, err := url.Parse(raw)
	if err != nil { // its text may repeat a password
		return Repository{}, errors.New("not a valid URL; write it as https://host/path")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(raw, "#") {
		return Repository{}, errors.New("a repository URL has no ? or # part; remove it")
	}
	if u.Opaque != "" || u.Path == "" {
		return Repository{}, errors.New("it names no repository; write it as Scheme://host/path")
	}
	if u.Scheme == "file" {
		return folderRepository(u)
	}
	return networkRepository(u)
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
		return "", errors.New("neither Scheme://host/path nor user@host:path; a folder is written file:///path")
	}
	return "ssh://" + host + "/" + strings.TrimLeft(rest, "/"), nil
}

func folderRepository(u *url.URL) (Repository, error) {
	if u.Host != "" && u.Host != "localhost" {
		return Repository{}, errors.New("a folder is written with three slashes: file:///path")
	}
	folder := path.Clean(u.Path)
	if !path.IsAbs(folder) || strings.ContainsRune(folder, 0) {
		return Repository{}, errors.New("a folder is named by its absolute path: file:///path")
	}
	name := repositoryPath(u.Path)
	if name == "" {
		return Repository{}, errors.New("it names no repository; write it as file:///path")
	}
	return Repository{Identity: fileHost + "/" + escapePath(name), Scheme: "file", Folder: folder}, nil
}

func networkRepository(u *url.URL) (Repository, error) {
	port, known := defaultPorts[u.Scheme]
	if !known {
		return Repository{}, errors.New("the scheme is not supported; use https, http, ssh or file")
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return Repository{}, errors.New("its host is not a valid IPv6 address")
		}
		host = addr.String()
	}
	switch {
	case host == "":
		return Repository{}, errors.New("it names no host; write it as " + u.Scheme + "://host/path")
	case strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:") != "":
		return Repository{}, errors.New("its host has characters that no host name has; write an international name in its xn-- form")
	case host == fileHost:
		return Repository{}, errors.New("a host named file cannot be told from a folder; use its full name")
	}
	if p := strings.TrimLeft(u.Port(), "0"); p != "" && p != port {
		host = net.JoinHostPort(host, p)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	name := repositoryPath(strings.ToLower(escapePath(u.Path)))
	if name == "" {
		return Repository{}, errors.New("it names no repository; write it as " + u.Scheme + "://host/path")
	}
	dial := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	r := Repository{Identity: host + "/" + name, Scheme: u.Scheme, Dial: dial.String()}
	if u.Scheme == "ssh" {
		if r.User = u.User.Username(); r.User == "" {
			r.User = defaultUser
		}
	}
	return r, nil
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
