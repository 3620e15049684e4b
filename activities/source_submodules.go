package activities

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/gitops"
)

const (
	maxSubmoduleDepth = 8
	maxModules        = 256 << 10 // bytes of .gitmodules
)

// exportTree writes the tree of a commit as a tar, with those of its submodules
// where they are wanted.
func (s *Source) exportTree(ctx context.Context, repoURL, commit string, depth int) ([]byte, error) {
	var tree bytes.Buffer
	done, err := s.Mirrors.Export(ctx, &tree, repoURL, commit, "")
	if err != nil || !s.Submodules || len(done.Submodules) == 0 {
		return tree.Bytes(), err
	}
	if depth >= maxSubmoduleDepth {
		return nil, submoduleError(repoURL, commit, fmt.Sprintf("submodules are more than %d deep in each other", maxSubmoduleDepth))
	}
	modules, err := readModules(tree.Bytes())
	if err != nil {
		return nil, submoduleError(repoURL, commit, git.ModulesFile+" cannot be read: "+err.Error())
	}
	commits, err := s.Mirrors.TreeHashes(ctx, repoURL, commit, done.Submodules)
	if err != nil {
		return nil, err
	}
	parts := []part{{tree: tree.Bytes()}}
	for _, at := range done.Submodules {
		from, ok := modules[at]
		if !ok {
			return nil, submoduleError(repoURL, commit, fmt.Sprintf("the submodule %s is not in %s; add it there, or remove it", at, git.ModulesFile))
		}
		inner, err := s.exportSubmodule(ctx, repoURL, from, commits[at], depth)
		if err != nil {
			return nil, fmt.Errorf("submodule %s: %w", at, err)
		}
		parts = append(parts, part{prefix: at, tree: inner})
	}
	return joinTrees(parts)
}

func (s *Source) exportSubmodule(ctx context.Context, parent, raw, commit string, depth int) ([]byte, error) {
	from, err := submoduleURL(parent, raw)
	if err != nil {
		return nil, submoduleError(parent, commit, err.Error())
	}
	need := gitops.Need{Kind: gitops.NeedGit, URL: from, Revision: commit}
	at, err := s.mayProvide(need)
	if err != nil {
		return nil, err
	}
	if err := s.Mirrors.Fetch(ctx, from, git.Head{Commit: commit}); err != nil {
		return nil, err
	}
	if err := s.verify(ctx, from, at.Repository, commit); err != nil {
		return nil, err
	}
	return s.exportTree(ctx, from, commit, depth+1)
}

func submoduleError(repoURL, commit, reason string) error {
	identity, _ := gitops.RepositoryIdentity(repoURL)
	return &git.Error{Kind: git.KindContent, Repository: identity, Attempt: "check out the submodules of commit " + commit, Reason: reason}
}

// readModules finds the URLs of submodules by their paths.
func readModules(tree []byte) (map[string]string, error) {
	archive := tar.NewReader(bytes.NewReader(tree))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is not there")
		}
		if err != nil {
			return nil, err
		}
		if header.Name != git.ModulesFile {
			continue
		}
		if header.Size > maxModules {
			return nil, fmt.Errorf("it has more than %d KiB", maxModules>>10)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		return git.ReadModules(text)
	}
}

// submoduleURL resolves a URL that is relative to its repository's
// (gitsubmodules(7)).
func submoduleURL(parent, raw string) (string, error) {
	if !strings.HasPrefix(raw, "./") && !strings.HasPrefix(raw, "../") {
		return raw, nil
	}
	u, err := url.Parse(parent)
	if err != nil || u.Host == "" && u.Scheme != "file" {
		return "", fmt.Errorf("the submodule's URL %s is relative to one of the form user@host:path; write the repository's URL as ssh://", raw)
	}
	u.Path = path.Join(strings.TrimSuffix(u.Path, "/"), raw)
	return u.String(), nil
}

// part is a tree, and where it is in another.
type part struct {
	prefix string
	tree   []byte
}

// joinTrees makes one tar of several, whose bytes depend on nothing but what is in
// them.
func joinTrees(parts []part) ([]byte, error) {
	type file struct {
		header  *tar.Header
		content []byte
	}
	var files []file
	for _, p := range parts {
		archive := tar.NewReader(bytes.NewReader(p.tree))
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			content, err := io.ReadAll(archive)
			if err != nil {
				return nil, err
			}
			header.Name = path.Join(p.prefix, header.Name) //nolint:gosec // both are names that Export lets through; it is unpacked elsewhere, with checks
			files = append(files, file{header, content})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.header.Name, b.header.Name) })
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, f := range files {
		if err := out.WriteHeader(f.header); err != nil {
			return nil, err
		}
		if _, err := out.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return b.Bytes(), err
}
