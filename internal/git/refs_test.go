package git_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git"
)

func sha(digit string) string { return strings.Repeat(digit, 40) }

func someRefs() git.Refs {
	return git.Refs{Repository: "example.com/org/repo", Default: "refs/heads/main", Commits: map[string]string{
		"HEAD": sha("a"), "refs/heads/main": sha("a"), "refs/heads/both": sha("b"), "refs/tags/both": sha("c"),
		"refs/tags/v1.0.0": sha("d"), "refs/heads/release/1.x": sha("e"), "refs/pull/7/head": sha("f"),
	}}
}

func TestRevisionResolvesToCommit(t *testing.T) {
	for revision, want := range map[string]git.Head{
		"":                        {Ref: "refs/heads/main", Commit: sha("a")},
		"HEAD":                    {Ref: "refs/heads/main", Commit: sha("a")},
		"main":                    {Ref: "refs/heads/main", Commit: sha("a")},
		"both":                    {Ref: "refs/heads/both", Commit: sha("b")},
		"refs/tags/both":          {Ref: "refs/tags/both", Commit: sha("c")},
		"tags/both":               {Ref: "refs/tags/both", Commit: sha("c")},
		"v1.0.0":                  {Ref: "refs/tags/v1.0.0", Commit: sha("d")},
		"release/1.x":             {Ref: "refs/heads/release/1.x", Commit: sha("e")},
		"refs/pull/7/head":        {Ref: "refs/pull/7/head", Commit: sha("f")},
		"pull/7/head":             {Ref: "refs/pull/7/head", Commit: sha("f")},
		sha("9"):                  {Commit: sha("9")},
		strings.ToUpper(sha("a")): {Commit: sha("a")},
	} {
		got, err := someRefs().Resolve(revision)
		require.NoError(t, err, revision)
		require.Equal(t, want, got, revision)
	}
}

func TestARangeIsTheHighestTagInIt(t *testing.T) {
	refs := git.Refs{Repository: "example.com/org/repo", Default: "refs/heads/main", Commits: map[string]string{
		"refs/heads/main": sha("a"), "refs/heads/1.x": sha("b"), "refs/tags/v1.2.0": sha("1"), "refs/tags/1.10.0": sha("2"),
		"refs/tags/v2.0.0": sha("3"), "refs/tags/v2.1.0-rc.1": sha("4"), "refs/tags/nightly": sha("5"), "refs/heads/v9.0.0": sha("6"),
	}}
	for revision, want := range map[string]git.Head{
		"*": {Ref: "refs/tags/v2.0.0", Commit: sha("3")}, "^1.2": {Ref: "refs/tags/1.10.0", Commit: sha("2")}, "v1.2.x": {Ref: "refs/tags/v1.2.0", Commit: sha("1")},
		">=1.0.0 <2.0.0": {Ref: "refs/tags/1.10.0", Commit: sha("2")}, ">=2.0.0-0": {Ref: "refs/tags/v2.1.0-rc.1", Commit: sha("4")},
		"1.x": {Ref: "refs/heads/1.x", Commit: sha("b")},
	} {
		got, err := refs.Resolve(revision)
		require.NoError(t, err, revision)
		require.Equal(t, want, got, revision)
	}
	for _, revision := range []string{"^3", "1.2", "3.x", "~>"} {
		_, err := refs.Resolve(revision)
		require.ErrorIs(t, err, git.KindRevision, revision)
	}
	_, err := refs.Resolve("^3")
	require.ErrorContains(t, err, "no tag has a version in this range")
}

func TestAMissingRevisionNamesWhatExistsNearby(t *testing.T) {
	for revision, want := range map[string]string{
		"mian":             "nearest: main",
		"v1.0.1":           "nearest: v1.0.0",
		"release/1.y":      "nearest: release/1.x",
		"refs/tags/v9":     "refs/tags/v1.0.0",
		"abc1234":          "all of its 40 digits",
		"refs/heads/both2": "nearest: refs/heads/both",
	} {
		_, err := someRefs().Resolve(revision)
		require.ErrorIs(t, err, git.KindRevision, revision)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "example.com/org/repo")
		require.ErrorContains(t, err, revision)
		var e *git.Error
		require.ErrorAs(t, err, &e)
		require.LessOrEqual(t, len(e.Nearby), 5)
	}
}

func TestAnEmptyRepositorySaysSo(t *testing.T) {
	_, err := git.Refs{Repository: "example.com/org/repo"}.Resolve("")
	require.ErrorIs(t, err, git.KindRevision)
	require.ErrorContains(t, err, "push a first commit")
}

func TestADetachedHeadResolves(t *testing.T) {
	got, err := git.Refs{Commits: map[string]string{"HEAD": sha("a")}, Default: "HEAD"}.Resolve("HEAD")
	require.NoError(t, err)
	require.Equal(t, git.Head{Ref: "HEAD", Commit: sha("a")}, got)
}
