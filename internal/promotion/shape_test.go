package promotion_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

var (
	refs = []gitops.Ref{{Repository: "git.test/shop", Revision: "main"}, {Repository: "git.test/extra", Revision: "main"}}

	gateChoices = []string{"", "approval", "manual"}
	stageNames  = []string{"canary", "west", "prod"}
)

// shape is a specification by its few degrees of freedom.
type shape struct {
	gates     [3]string // of each stage, one of gateChoices
	extra     bool      // west has another target, from another repository
	short     bool      // there is no prod
	borrowed  bool      // the second target of west is in prod
	elsewhere bool      // the first target of prod is in another region
	revision  int       // anything else that differs
}

// spec spells a shape out.
func (s shape) spec() gitops.Delivery {
	members := [][]string{{"c1"}, {"w1", "w2"}, {"p1", "p2"}}
	if s.extra {
		members[1] = append(members[1], "x1")
	}
	if s.borrowed && !s.short {
		members[1] = slices.DeleteFunc(members[1], func(n string) bool { return n == "w2" })
		members[2] = append(members[2], "w2")
	}
	if s.short {
		members = members[:2]
	}
	d := gitops.Delivery{Project: "shop", Name: "web", Digest: fmt.Sprintf("%+v", s)}
	for i, names := range members {
		st := gitops.Stage{Name: stageNames[i], Targets: slices.Sorted(slices.Values(names))}
		if s.gates[i] == "approval" {
			st.Gates = []gitops.Gate{{Name: "signoff", Kind: gitops.GateApproval}}
		}
		d.Stages = append(d.Stages, st)
		for _, name := range st.Targets {
			t := gitops.Target{Name: name, Project: "shop", Region: "r-" + name, Namespace: "web", Source: gitops.Source{Repository: refs[0].Repository, Revision: "main", Path: "."}}
			t.SyncPolicy.Automated = s.gates[i] != "manual"
			t.Finalizer = name == "x1" || name == "p1"
			if name == "x1" {
				t.Source.Repository = refs[1].Repository
			}
			if name == "p1" && s.elsewhere {
				t.Region = "r-elsewhere"
			}
			d.Targets = append(d.Targets, t)
		}
	}
	return d
}

// bundles is what a shape renders to.
func (s shape) bundles(sources []gitops.ResolvedSource) []gitops.Bundle {
	var bundles []gitops.Bundle
	for _, t := range s.spec().Targets {
		for _, source := range sources {
			if source.Ref == t.Source.Ref() {
				bundles = append(bundles, gitops.Bundle{Target: t.Name, Digest: fmt.Sprintf("%s-%s-%d", t.Name, contentOf(source), s.revision), Objects: 3})
			}
		}
	}
	return bundles
}

func commit(n, content int) string { return fmt.Sprintf("c%d/%d", n, content) }

func contentOf(s gitops.ResolvedSource) string {
	_, content, _ := strings.Cut(s.Commit, "/")
	return content
}

// badContent renders well and never becomes healthy.
const badContent = 0

func isBad(sources []gitops.ResolvedSource) bool {
	return contentOf(sources[0]) == fmt.Sprint(badContent)
}
