package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
)

// packs lists the packs of all mirrors below a folder.
func packs(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.git", "objects", "pack", "*.pack"))
	require.NoError(t, err)
	return found
}

func fetchBranch(t *testing.T, m *git.Mirrors, url, branch string) git.Head {
	t.Helper()
	head, err := m.Resolve(t.Context(), url, branch)
	require.NoError(t, err)
	require.NoError(t, m.Fetch(t.Context(), url, head))
	return head
}

func TestABranchThatIsForcedBackAndForthEndsWhereItIs(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.Write("a", "A")
		a := f.repo.CommitAndPush("A")
		hashA := f.repo.Git("rev-parse", "HEAD:a")
		require.Equal(t, a, fetchBranch(t, f.mirrors, url, "main").Commit)
		f.repo.Write("a", "B")
		b := f.repo.CommitAndPush("B")
		require.Equal(t, b, fetchBranch(t, f.mirrors, url, "main").Commit)
		f.repo.ForcePush("main", a)
		require.Equal(t, a, fetchBranch(t, f.mirrors, url, "main").Commit)
		hash, err := f.mirrors.TreeHash(t.Context(), url, a, "a")
		require.NoError(t, err)
		require.Equal(t, hashA, hash)

		f.repo.Reset(a)
		f.repo.Write("a", "C")
		c := f.repo.Commit("C")
		f.repo.ForcePush("main", c)
		require.Equal(t, c, fetchBranch(t, f.mirrors, url, "main").Commit)
		hash, err = f.mirrors.TreeHash(t.Context(), url, c, "a")
		require.NoError(t, err)
		require.Equal(t, f.repo.Git("rev-parse", "HEAD:a"), hash)
	})
}

func TestHistoryIsNotFetchedAndOnlyChangesAreFetchedAfterwards(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		for i := range 30 {
			f.repo.Write(fmt.Sprintf("old/%d", i), strings.Repeat(fmt.Sprint(i), 500))
		}
		old := f.repo.CommitAndPush("old")
		f.repo.Write("new", "1")
		f.repo.CommitAndPush("new")
		fetchBranch(t, f.mirrors, url, "main")
		has, err := f.mirrors.Has(t.Context(), url, old)
		require.NoError(t, err)
		require.False(t, has)

		f.repo.Write("new", "2")
		head := f.repo.CommitAndPush("newer")
		fetchBranch(t, f.mirrors, url, "main")
		mirror := filepath.Dir(filepath.Dir(filepath.Dir(packs(t, f.dir)[0])))
		var smallest int
		for i, pack := range packs(t, f.dir) {
			out, err := exec.CommandContext(t.Context(), "git", "-C", mirror, "verify-pack", "-v", pack).Output()
			require.NoError(t, err)
			n := strings.Count(string(out), " blob ") + strings.Count(string(out), " tree ") + strings.Count(string(out), " commit ")
			if i == 0 || n < smallest {
				smallest = n
			}
		}
		require.Equal(t, 3, smallest, "a commit, a folder, a file")
		out, err := exec.CommandContext(t.Context(), "git", "-C", mirror, "ls-tree", "-r", "--name-only", head).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "new\n", "git itself can read a mirror")
	})
}

func TestACommitThatNoRefNamesIsFetchedThroughItsBranch(t *testing.T) {
	for name, configure := range map[string]func(*gittest.Repo){
		"server refuses bare commits": func(*gittest.Repo) {},
		"server hands them out":       func(r *gittest.Repo) { r.Config("uploadpack.allowReachableSHA1InWant", "true") },
	} {
		for _, ref := range []string{"refs/heads/main", "refs/heads/gone", ""} {
			t.Run(name+" "+ref, func(t *testing.T) {
				f := newFixture(t)
				configure(f.repo)
				f.repo.Write("a", "1")
				old := f.repo.CommitAndPush("old")
				f.repo.Write("a", "2")
				f.repo.CommitAndPush("new")
				fetchBranch(t, f.mirrors, f.repo.URL, "main")
				require.NoError(t, f.mirrors.Fetch(t.Context(), f.repo.URL, git.Head{Ref: ref, Commit: old}))
				hash, err := f.mirrors.TreeHash(t.Context(), f.repo.URL, old, "a")
				require.NoError(t, err)
				require.Equal(t, f.repo.Git("rev-parse", old+":a"), hash)
			})
		}
	}
}

func TestAnAnnotatedTagIsFetched(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.Write("a", "1")
		f.repo.CommitAndPush("first")
		f.repo.Branch("side")
		f.repo.Write("a", "2")
		sha := f.repo.Commit("only tagged")
		f.repo.AnnotatedTag("v1", "one")
		require.Equal(t, sha, fetchBranch(t, f.mirrors, url, "v1").Commit)
	})
}

func TestACommitThatTheServerLostIsMissing(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.CommitAndPush("first")
		for _, reachable := range []string{"false", "true"} {
			f.repo.Config("uploadpack.allowReachableSHA1InWant", reachable)
			err := f.mirrors.Fetch(t.Context(), url, git.Head{Ref: "refs/heads/main", Commit: sha("1")})
			require.ErrorIs(t, err, git.KindRevision)
			require.ErrorContains(t, err, sha("1"))
		}
	})
	f := newFixture(t)
	err := f.mirrors.Fetch(t.Context(), f.repo.URL, git.Head{Commit: "main"})
	require.ErrorIs(t, err, git.KindRevision)
	require.ErrorContains(t, err, "40 hex digits")
}

func TestADamagedMirrorIsFetchedAnew(t *testing.T) {
	for name, damage := range map[string]func(testing.TB, string) int{
		"scribbled": gittest.Damage, "deleted": gittest.DamageByDeletion,
		"folder gone": func(t testing.TB, dir string) int {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.MkdirAll(dir, 0o700))
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, f fixture, url string) {
				f.repo.Write("dir/a", strings.Repeat("text ", 1000))
				f.repo.CommitAndPush("first")
				fetchBranch(t, f.mirrors, url, "main")
				require.NotZero(t, damage(t, f.dir))
				f.repo.Write("dir/b", "2")
				sha := f.repo.CommitAndPush("second") // only part of it is new
				fetchBranch(t, f.mirrors, url, "main")
				hash, err := f.mirrors.TreeHash(t.Context(), url, sha, "dir/a")
				require.NoError(t, err)
				require.Equal(t, f.repo.Git("rev-parse", "HEAD:dir/a"), hash)
				require.Contains(t, exported(t, f.mirrors, url, sha, ""), "dir/a")

				require.NotZero(t, damage(t, f.dir))
				require.Contains(t, exported(t, f.mirrors, url, sha, ""), "dir/a", "an export repairs too")
			})
		})
	}
}

func TestAMirrorDoesNotGrowPackByPack(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		var all []string
		for i := range 12 {
			f.repo.Write("a", fmt.Sprint(i))
			all = append(all, f.repo.CommitAndPush(fmt.Sprint(i)))
			fetchBranch(t, f.mirrors, url, "main")
			require.LessOrEqual(t, len(packs(t, f.dir)), 5)
		}
		for _, commit := range all {
			has, err := f.mirrors.Has(t.Context(), url, commit)
			require.NoError(t, err)
			require.True(t, has, "the newest commits survive")
		}
	}, func(o *git.Options) { o.MaxPacks = 5 })
}

func TestTwoProcessesMayShareTheFolder(t *testing.T) {
	f := newFixture(t)
	other, err := git.New(git.Options{Dir: f.dir})
	require.NoError(t, err)
	f.repo.Write("a", "1")
	f.repo.CommitAndPush("first")
	fetchBranch(t, f.mirrors, f.repo.URL, "main")
	f.server.Requests()
	head := fetchBranch(t, other, f.repo.URL, "main")
	require.Equal(t, []string{"GET /org/shop.git/info/refs"}, f.server.Requests(), "only Resolve asked")

	require.NoError(t, os.RemoveAll(filepath.Dir(filepath.Dir(filepath.Dir(packs(t, f.dir)[0])))))
	_, err = other.TreeHash(t.Context(), f.repo.URL, head.Commit, "a")
	require.NoError(t, err)
	_, err = f.mirrors.TreeHash(t.Context(), f.repo.URL, head.Commit, "a")
	require.NoError(t, err)
}

func TestManyWhoWantACommitShareOneFetch(t *testing.T) {
	f := newFixture(t)
	f.repo.Write("a", "1")
	head := git.Head{Ref: "refs/heads/main", Commit: f.repo.CommitAndPush("first")}
	f.server.Requests()
	var group errgroup.Group
	for range 20 {
		group.Go(func() error { return f.mirrors.Fetch(t.Context(), f.repo.URL, head) })
	}
	require.NoError(t, group.Wait())
	packs := 0
	for _, request := range f.server.Requests() {
		if strings.HasPrefix(request, "POST ") {
			packs++
		}
	}
	require.Equal(t, 1, packs)
}
