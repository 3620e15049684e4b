package git_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
)

// fixture is a server with one repository, and mirrors that may read its folder.
type fixture struct {
	server  *gittest.Server
	repo    *gittest.Repo
	mirrors *git.Mirrors
	dir     string
}

func newFixture(t *testing.T, change ...func(*git.Options)) fixture {
	t.Helper()
	server := gittest.NewServer(t)
	options := git.Options{Dir: t.TempDir(), FileRoot: server.Dir}
	for _, c := range change {
		c(&options)
	}
	mirrors, err := git.New(options)
	require.NoError(t, err)
	return fixture{server, server.NewRepo("org/shop"), mirrors, options.Dir}
}

// overBoth runs a test over HTTP and over file://.
func overBoth(t *testing.T, test func(t *testing.T, f fixture, url string), change ...func(*git.Options)) {
	t.Parallel()
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, change...)
		test(t, f, f.repo.URL)
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, change...)
		test(t, f, f.repo.FileURL)
	})
}

func TestResolveFollowsBranchesTagsAndHead(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.Write("a", "1")
		first := f.repo.CommitAndPush("first")
		f.repo.Tag("light")
		f.repo.AnnotatedTag("v1", "version one")
		f.repo.Write("a", "2")
		second := f.repo.CommitAndPush("second")

		for revision, want := range map[string]git.Head{
			"":             {Ref: "refs/heads/main", Commit: second},
			"HEAD":         {Ref: "refs/heads/main", Commit: second},
			"main":         {Ref: "refs/heads/main", Commit: second},
			"light":        {Ref: "refs/tags/light", Commit: first},
			"v1":           {Ref: "refs/tags/v1", Commit: first},
			"refs/tags/v1": {Ref: "refs/tags/v1", Commit: first},
			first:          {Commit: first},
		} {
			got, err := f.mirrors.Resolve(t.Context(), url, revision)
			require.NoError(t, err, revision)
			require.Equal(t, want, got, revision)
		}
		_, err := f.mirrors.Resolve(t.Context(), url, "mian")
		require.ErrorIs(t, err, git.KindRevision)
		require.ErrorContains(t, err, "nearest: main")
	})
}

func TestListAsksOnceAndPeelsTags(t *testing.T) {
	f := newFixture(t)
	sha := f.repo.CommitAndPush("first")
	f.repo.AnnotatedTag("v1", "one")
	f.server.Requests()
	refs, err := f.mirrors.List(t.Context(), f.repo.URL)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"HEAD": sha, "refs/heads/main": sha, "refs/tags/v1": sha}, refs.Commits)
	require.Equal(t, "refs/heads/main", refs.Default)
	require.Equal(t, []string{"GET /org/shop.git/info/refs"}, f.server.Requests())
}

func TestAnEmptyRepositoryListsNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		refs, err := f.mirrors.List(t.Context(), url)
		require.NoError(t, err)
		require.Empty(t, refs.Commits)
		_, err = f.mirrors.Resolve(t.Context(), url, "")
		require.ErrorIs(t, err, git.KindRevision)
	})
}

func TestADeletedBranchIsMissing(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.CommitAndPush("first")
		f.repo.Branch("feature")
		f.repo.CommitAndPush("second")
		_, err := f.mirrors.Resolve(t.Context(), url, "feature")
		require.NoError(t, err)
		f.repo.DeleteBranch("feature")
		_, err = f.mirrors.Resolve(t.Context(), url, "feature")
		require.ErrorIs(t, err, git.KindRevision)
	})
}

func TestEachFailureHasItsKind(t *testing.T) {
	f := newFixture(t)
	f.repo.CommitAndPush("first")
	closed := gittest.NewServer(t)
	secret := closed.NewRepo("secret")
	secret.CommitAndPush("first")
	closed.RequirePassword("robot", "hunter2")
	gone := "http://127.0.0.1:1/org/shop"

	for url, want := range map[string]git.Kind{
		f.server.URL + "/org/none.git":          git.KindRepository,
		secret.URL:                              git.KindAuth,
		gone:                                    git.KindUnavailable,
		"git://example.com/org/shop.git":        git.KindURL,
		"file://" + t.TempDir():                 git.KindURL,
		"file:///etc":                           git.KindURL,
		"file://" + f.server.Dir + "/none.git":  git.KindRepository,
		"file://" + f.server.Dir + "/../../etc": git.KindURL,
		strings.Replace(secret.URL, "//", "//me:pw@", 1): git.KindAuth,
	} {
		_, err := f.mirrors.List(t.Context(), url)
		require.Equal(t, want, git.KindOf(err), "%s: %v", url, err)
		require.NotContains(t, err.Error(), "pw@")
	}
}

func TestAServerInTroubleIsTemporary(t *testing.T) {
	f := newFixture(t, func(o *git.Options) { o.AskTimeout = 100 * time.Millisecond })
	f.repo.CommitAndPush("first")
	f.server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "overloaded: hunter2", http.StatusServiceUnavailable)
		return true
	})
	_, err := f.mirrors.List(t.Context(), f.repo.URL)
	require.ErrorIs(t, err, git.KindUnavailable)
	require.ErrorContains(t, err, "Service Unavailable")
	require.NotContains(t, err.Error(), "hunter2", "what a server answers is not repeated")

	f.server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	_, err = f.mirrors.List(t.Context(), f.repo.URL)
	require.ErrorIs(t, err, git.KindUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	f.server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte("<html>Welcome</html>"))
		return true
	})
	_, err = f.mirrors.List(t.Context(), f.repo.URL)
	require.ErrorContains(t, err, "is the URL that of a repository?")
}

func TestCredentialsOpenAPrivateRepositoryAndAreNeverShown(t *testing.T) {
	const password = "hunter2"
	var known git.Credential
	f := newFixture(t, func(o *git.Options) {
		o.Credentials = func(identity string) (git.Credential, bool) {
			return known, strings.HasSuffix(identity, "/org/shop") && known != git.Credential{}
		}
	})
	f.repo.Write("a", "1")
	sha := f.repo.CommitAndPush("first")
	f.server.RequirePassword("robot", password)

	_, err := f.mirrors.Resolve(t.Context(), f.repo.URL, "main")
	require.ErrorIs(t, err, git.KindAuth)
	require.ErrorContains(t, err, "git.credentials")

	known = git.Credential{Username: "robot", Password: "wrong-" + password}
	_, err = f.mirrors.Resolve(t.Context(), f.repo.URL, "main")
	require.ErrorIs(t, err, git.KindAuth)
	require.ErrorContains(t, err, "correct the entry")
	require.NotContains(t, err.Error(), password)

	known.Password = password
	head, err := f.mirrors.Resolve(t.Context(), f.repo.URL, "main")
	require.NoError(t, err)
	require.Equal(t, sha, head.Commit)
	require.NoError(t, f.mirrors.Fetch(t.Context(), f.repo.URL, head))
	require.NotContains(t, known.String()+known.GoString(), password)
	requireNowhere(t, f.dir, password)
}

// requireNowhere looks for a text in every file of a folder.
func requireNowhere(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		require.NotContains(t, string(content), text, file)
		return err
	}))
}

func TestASymlinkOutOfTheFileRootIsNotFollowed(t *testing.T) {
	f := newFixture(t)
	f.repo.CommitAndPush("first")
	outside := gittest.NewServer(t).NewRepo("other")
	outside.CommitAndPush("secret")
	require.NoError(t, os.Symlink(outside.Dir, filepath.Join(f.server.Dir, "link.git")))
	_, err := f.mirrors.List(t.Context(), "file://"+f.server.Dir+"/link.git")
	require.ErrorIs(t, err, git.KindURL)
	require.ErrorContains(t, err, "git.fileRoot")
}

func TestAWorkTreeIsReadAsARepository(t *testing.T) {
	server := gittest.NewServer(t)
	repo := server.NewRepo("shop")
	repo.Write("a", "1")
	sha := repo.Commit("only here")
	mirrors, err := git.New(git.Options{Dir: t.TempDir(), FileRoot: repo.Work})
	require.NoError(t, err)
	head, err := mirrors.Resolve(t.Context(), "file://"+repo.Work, "main")
	require.NoError(t, err)
	require.Equal(t, sha, head.Commit)
	hash, err := mirrors.TreeHash(t.Context(), "file://"+repo.Work, sha, "a")
	require.NoError(t, err)
	require.Equal(t, repo.Git("rev-parse", "HEAD:a"), hash)
}

func TestNothingIsFetchedTwice(t *testing.T) {
	f := newFixture(t)
	f.repo.Write("a", "1")
	sha := f.repo.CommitAndPush("first")
	f.server.Requests()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := f.mirrors.Fetch(t.Context(), f.repo.URL, git.Head{Ref: "refs/heads/main", Commit: sha}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, []string{"GET /org/shop.git/info/refs", "POST /org/shop.git/git-upload-pack"}, f.server.Requests())
	require.NoError(t, f.mirrors.Fetch(t.Context(), f.repo.URL, git.Head{Commit: sha}))
	require.Empty(t, f.server.Requests(), "a second fetch of a commit asks nobody")
}

func TestACallerWhoGivesUpDoesNotStopTheOthers(t *testing.T) {
	f := newFixture(t)
	sha := f.repo.CommitAndPush("first")
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.server.Intercept(func(http.ResponseWriter, *http.Request) bool {
		once.Do(func() { close(asked); <-answer })
		return false
	})
	first, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- f.mirrors.Fetch(first, f.repo.URL, git.Head{Commit: sha}) }()
	<-asked
	giveUp()
	require.ErrorIs(t, <-gone, context.Canceled)
	close(answer)
	require.NoError(t, f.mirrors.Fetch(t.Context(), f.repo.URL, git.Head{Commit: sha}))
}
