package renderer

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// replace puts a path in place of what a kustomization names from elsewhere, in
// the tree that the render has of it, or asks for that tree. It says whether the
// reference may be followed.
func (w *walker) replace(r *reference, key string, node *yaml.Node) (bool, error) {
	need, inside, err := remoteOf(r.field, r.value)
	if need != nil && w.tree.isFile(r.target()) {
		return true, nil // a file that has such a name
	}
	if err != nil {
		return false, &render.Error{Kind: render.KindRemote, File: r.file, Line: r.line, Message: fmt.Sprintf("%s names %s: %v", r.field, withoutUser(r.value), err)}
	}
	if need == nil {
		return true, nil
	}
	if w.tree.need(*need) == nil {
		return false, nil
	}
	if key == "" && (r.field == "configMapGenerator" || r.field == "secretGenerator") && need.Kind == gitops.NeedFile {
		key = path.Base(r.value) + "="
	}
	r.value = path.Join(need.Name(), inside)
	node.Value, node.Style = key+r.value, 0
	return true, nil
}

// remoteOf reads what a field names as Kustomize does. There is no need when it is
// a path.
func remoteOf(field, value string) (need *gitops.Need, inside string, err error) {
	if isRemoteFile(value) && (!mayBeFolder[field] || isManifest(pathOf(value))) {
		if err := checkUser(value); err != nil {
			return nil, "", err
		}
		return &gitops.Need{Kind: gitops.NeedFile, URL: value}, gitops.NeedContent, nil
	}
	if !mayBeFolder[field] || !isRemote(value) {
		return nil, "", nil
	}
	repository, inside, revision, err := splitRepository(value)
	if err == nil {
		err = checkUser(repository)
	}
	if err != nil {
		return nil, "", err
	}
	return &gitops.Need{Kind: gitops.NeedGit, URL: repository, Revision: revision}, inside, nil
}

func isRemoteFile(value string) bool {
	lower := strings.ToLower(value)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

func pathOf(value string) string {
	value, _, _ = strings.Cut(value, "?")
	return value
}

// remoteForm is what Kustomize takes for a Git repository.
var remoteForm = regexp.MustCompile(`(?i)^(git::)?((ssh|https?|file)://|[a-z][a-z0-9-]*@[^/]+[:/]|github\.com[/:])`)

func isRemote(value string) bool { return remoteForm.MatchString(value) }

var userInfo = regexp.MustCompile(`://[^/@]*@`)

// withoutUser keeps a password out of a message.
func withoutUser(url string) string { return userInfo.ReplaceAllString(url, "://") }

// checkUser refuses a password: what is asked for is recorded.
func checkUser(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return nil //nolint:nilerr // user@host:path holds no password
	}
	if _, hasPassword := u.User.Password(); hasPassword || u.User != nil && u.Scheme != "ssh" {
		return fmt.Errorf("a URL must not hold a user or password; write them into git.credentials of Tidegate's settings and remove them here")
	}
	return nil
}

// scheme begins a repository's URL.
var scheme = regexp.MustCompile(`(?i)^([a-z]+://[^/]*/?|[a-z][a-z0-9-]*@[^/:]+[:/]|github\.com[/:])`)

// splitRepository takes apart Kustomize's form of a folder in a repository:
// URL//folder?ref=revision, URL.git/folder, or host/owner/name/folder
// (https://github.com/kubernetes-sigs/kustomize/blob/master/examples/remoteBuild.md).
func splitRepository(value string) (repository, folder, revision string, err error) {
	value = strings.TrimPrefix(value, "git::")
	value, query, _ := strings.Cut(value, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return "", "", "", fmt.Errorf("what follows the ? cannot be read; write it as ?ref=revision")
	}
	if revision = parameters.Get("ref"); revision == "" {
		revision = parameters.Get("version")
	}
	if revision == "" {
		revision = "HEAD"
	}
	host := scheme.FindString(value)
	rest := value[len(host):]
	if strings.HasPrefix(strings.ToLower(host), "github.com") {
		host = "https://github.com/"
	}
	repository, folder = splitFolder(strings.TrimPrefix(rest, "/"), strings.HasPrefix(host, "file:"))
	if repository == "" {
		return "", "", "", fmt.Errorf("it names no repository; write it as https://host/owner/name//folder?ref=revision")
	}
	folder = path.Clean("/" + folder)[1:]
	return host + repository, folder, revision, nil
}

// azure is what Azure DevOps has before the name of a repository.
const azure = "_git/"

// splitFolder finds where the repository ends in a path.
func splitFolder(rest string, isFile bool) (repository, folder string) {
	if before, after, ok := strings.Cut(rest, "//"); ok {
		return before, after
	}
	if before, after, ok := strings.Cut(rest, ".git/"); ok {
		return before + ".git", after
	}
	if strings.HasSuffix(rest, ".git") || isFile {
		return rest, ""
	}
	owners := 1
	if at := strings.Index(rest, azure); at >= 0 {
		owners = strings.Count(rest[:at+len(azure)], "/")
	}
	steps := strings.Split(strings.Trim(rest, "/"), "/")
	if len(steps) <= owners {
		return "", ""
	}
	return strings.Join(steps[:owners+1], "/"), strings.Join(steps[owners+1:], "/")
}
