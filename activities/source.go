package activities

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/gitops"
)

// Source reads Git. It holds the credentials of every repository and the
// mirrors on this worker's disk.
type Source struct {
	Mirrors *git.Mirrors
	Charts  *charts.Client
	Blobs   Blobs
	// MayFetch says whether manifests may refer to what has an identity:
	// host[:port]/path. Nothing may be fetched for them when it is nil.
	MayFetch func(identity string) bool
	// Submodules says whether checkouts have those of their repository.
	Submodules bool
	// Signers are those who must have signed the commits of a repository, if anybody
	// must.
	Signers func(identity string) (signers git.Signers, required bool)
	// PollEvery is the pause between two rounds of asking every repository,
	// PollChartsEvery the least one between two of those that have charts.
	PollEvery       time.Duration
	PollChartsEvery time.Duration

	mu        sync.Mutex
	checkouts map[string]Checkout // by repository@commit: made by this process, and not to be made again
	charted   time.Time           // when the repositories of charts were asked last
}

// SourceAt is a commit of a repository, and where it is dialled.
type SourceAt struct {
	RepoURL string `json:"repoURL"`
	Chart   string `json:"chart,omitempty"` // RepoURL has charts then, and no Git
	gitops.Ref
	Commit string `json:"commit"`
}

// CheckOutInput names the commits to check out.
type CheckOutInput struct {
	Sources []SourceAt `json:"sources"`
}

// CheckOutResult has an artifact for each source, in their order.
type CheckOutResult struct {
	Checkouts []Checkout `json:"checkouts"`
}

// Checkout is the tree of a commit as an artifact: a tar whose bytes depend on
// the tree alone.
type Checkout struct {
	gitops.Ref
	Commit string `json:"commit"`
	Digest string `json:"digest"`
}

// CheckOut puts the trees of commits into the artifact store, where workers
// without Git credentials find them.
func (s *Source) CheckOut(ctx context.Context, in CheckOutInput) (CheckOutResult, error) {
	defer beat(ctx)()
	var result CheckOutResult
	for _, at := range in.Sources {
		c, err := s.checkOut(ctx, at)
		if err != nil {
			return result, classify(err)
		}
		result.Checkouts = append(result.Checkouts, c)
	}
	return result, nil
}

func (s *Source) checkOut(ctx context.Context, at SourceAt) (Checkout, error) {
	key := at.Repository + "@" + at.Commit
	if c, ok := s.checkedOut(key); ok {
		c.Ref = at.Ref
		return c, nil
	}
	export := s.export
	if at.Chart != "" {
		export = s.pull
	}
	digest, err := export(ctx, at)
	if err != nil {
		return Checkout{}, err
	}
	c := Checkout{Ref: at.Ref, Commit: at.Commit, Digest: digest}
	s.noteCheckout(key, c)
	return c, nil
}

// export keeps the tree of a commit as an artifact.
func (s *Source) export(ctx context.Context, at SourceAt) (digest string, err error) {
	if err := s.Mirrors.Fetch(ctx, at.RepoURL, git.Head{Ref: "", Commit: at.Commit}); err != nil {
		return "", err
	}
	if err := s.verify(ctx, at.RepoURL, at.Repository, at.Commit); err != nil {
		return "", err
	}
	tree, err := s.exportTree(ctx, at.RepoURL, at.Commit, 0)
	if err != nil {
		return "", err
	}
	if digest, err = s.Blobs.Put(ctx, "checkout", tree); err != nil {
		return "", fmt.Errorf("keep the checkout of %s@%s: %w", at.Repository, at.Commit, err)
	}
	return digest, nil
}

// verify refuses a commit without a signature that its repository needs.
func (s *Source) verify(ctx context.Context, url, identity, commit string) error {
	if s.Signers == nil {
		return nil
	}
	signers, required := s.Signers(identity)
	if !required {
		return nil
	}
	_, err := s.Mirrors.Verify(ctx, url, commit, signers)
	return err
}

// maxCheckouts bounds what is remembered; what is forgotten is made again.
const maxCheckouts = 1000

func (s *Source) checkedOut(key string) (Checkout, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.checkouts[key]
	return c, ok
}

func (s *Source) noteCheckout(key string, c Checkout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checkouts == nil || len(s.checkouts) >= maxCheckouts {
		s.checkouts = map[string]Checkout{}
	}
	s.checkouts[key] = c
}

// NoteReadsInput is what the renders of a Delivery have read.
type NoteReadsInput struct {
	Delivery string        `json:"delivery"`
	Reads    []SourceReads `json:"reads"`
}

// NoteReads remembers what a Delivery's renders have read, so that a push that
// changes nothing of it is seen to be none of its business.
func (s *Source) NoteReads(ctx context.Context, in NoteReadsInput) error {
	for _, r := range in.Reads {
		if err := s.Blobs.setNamedJSON(ctx, readsName(in.Delivery, r.Ref), r.Digest); err != nil {
			return classify(err)
		}
	}
	return nil
}

func readsName(delivery string, ref gitops.Ref) string {
	return "reads/" + delivery + "/" + ref.String()
}

// concerns says whether anything that a Delivery reads differs between a commit
// and a later one. Whatever is not known counts as different.
func (s *Source) concerns(ctx context.Context, at SourceAt, delivery, after string) bool {
	if at.Chart != "" {
		return true // another version is another chart
	}
	var digest string
	var paths []string
	if found, err := s.Blobs.namedJSON(ctx, readsName(delivery, at.Ref), &digest); err != nil || !found {
		return true
	}
	if err := s.Blobs.getJSON(ctx, digest, &paths); err != nil {
		return true
	}
	old, err := s.Mirrors.TreeHashes(ctx, at.RepoURL, at.Commit, paths)
	if err != nil {
		return true
	}
	present, err := s.Mirrors.TreeHashes(ctx, at.RepoURL, after, paths)
	return err != nil || !maps.Equal(old, present)
}

// Moved is a ref that is not where it was noted.
type Moved struct {
	Ref    gitops.Ref `json:"ref"`
	Commit string     `json:"commit"`
}

// Poll asks every repository of the catalog again and again, one after the
// other, and returns as soon as a round finds refs that have moved. A repository
// that does not answer is passed over: its turn comes again.
func (s *Source) Poll(ctx context.Context) ([]Moved, error) {
	defer beat(ctx)()
	ticker := time.NewTicker(s.PollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		moved, err := s.pollOnce(ctx)
		if err != nil {
			return nil, classify(err)
		}
		if len(moved) > 0 {
			return moved, nil
		}
	}
}

func (s *Source) pollOnce(ctx context.Context) ([]Moved, error) {
	var cat gitops.Catalog
	if _, err := s.Blobs.namedJSON(ctx, CatalogName, &cat); err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	moved, err := s.pollCharts(ctx, chartsOf(cat))
	if err != nil {
		return nil, err
	}
	asked := map[string]answer{}
	for _, followed := range refsOf(cat) {
		a, ok := asked[followed.Repository]
		if !ok {
			a.refs, a.err = s.Mirrors.List(ctx, followed.RepoURL)
			asked[followed.Repository] = a
		}
		noted, err := s.noted(ctx, followed.Ref)
		if err != nil {
			return nil, err
		}
		if commit, differs := a.differs(followed.Revision, noted); differs {
			moved = append(moved, Moved{Ref: followed.Ref, Commit: commit})
		}
	}
	return moved, nil
}

// answer is what a repository said when it was asked for its refs.
type answer struct {
	refs git.Refs
	err  error
}

// differs says whether a revision is not as it was noted: somewhere else, gone,
// or back. A repository that just does not answer tells nothing.
func (a answer) differs(revision string, noted note) (commit string, differs bool) {
	err := a.err
	var head git.Head
	if err == nil {
		head, err = a.refs.Resolve(revision)
	}
	switch {
	case err == nil:
		return head.Commit, noted.Missing || head.Commit != noted.Commit
	case isUserError(err):
		return "", !noted.Missing
	default:
		return "", false
	}
}

// refsOf lists the distinct Git refs of a catalog, with where each is dialled. A
// commit cannot move and is left out.
func refsOf(cat gitops.Catalog) []SourceAt {
	return sourcesOf(cat, func(s gitops.Source) bool {
		_, pinned := git.Pinned(s.Revision)
		return s.Chart == "" && !pinned
	})
}

// sourcesOf lists the distinct refs of a catalog's sources of one kind.
func sourcesOf(cat gitops.Catalog, wanted func(gitops.Source) bool) []SourceAt {
	var list []SourceAt
	seen := map[gitops.Ref]bool{}
	for _, d := range cat.Deliveries {
		for _, t := range d.Targets {
			for _, source := range t.Sources() {
				if ref := source.Ref(); !seen[ref] && wanted(source) {
					seen[ref] = true
					list = append(list, SourceAt{RepoURL: source.RepoURL, Chart: source.Chart, Ref: ref})
				}
			}
		}
	}
	return list
}
