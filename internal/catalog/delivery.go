package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// loneStage is the stage of an Application that is a Delivery of its own.
const loneStage = "all"

// catalog groups the candidates into Deliveries.
func (l *loader) catalog() gitops.Catalog {
	claims := l.claim()
	deliveries := l.pipelineDeliveries(claims)
	taken := map[string]bool{}
	for _, d := range deliveries {
		taken[d.Key()] = true
	}
	for _, c := range l.candidates {
		if len(claims[c.Name]) > 0 || l.holdAll {
			continue
		}
		d := gitops.Delivery{
			Project: c.Project, Name: c.Name, Targets: []gitops.Target{c.Target},
			Stages: []gitops.Stage{{Name: loneStage, Targets: []string{c.Name}, Gates: withSyncGate(nil, []gitops.Target{c.Target})}},
		}
		if !taken[d.Key()] {
			deliveries = append(deliveries, d)
		}
	}
	slices.SortFunc(deliveries, func(a, b gitops.Delivery) int { return strings.Compare(a.Key(), b.Key()) })
	for i := range deliveries {
		deliveries[i].Health = l.health
		deliveries[i].Digest = digest(deliveries[i])
	}
	cat := gitops.Catalog{Deliveries: deliveries, Regions: l.fleet.regions, Problems: sortProblems(l.problems)}
	cat.Digest = digest(cat)
	return cat
}

// withSyncGate adds the approval that a stage implies when one of its targets is
// not synced automatically. An approval that is asked for anyway is enough.
func withSyncGate(gates []gitops.Gate, targets []gitops.Target) []gitops.Gate {
	approved := slices.ContainsFunc(gates, func(g gitops.Gate) bool { return g.Kind == gitops.GateApproval })
	manual := slices.ContainsFunc(targets, func(t gitops.Target) bool { return !t.SyncPolicy.Automated })
	if manual && !approved {
		return append(gates, gitops.Gate{Name: string(gitops.GateSync), Kind: gitops.GateSync})
	}
	return gates
}

// digest is the hex SHA-256 of a value's JSON, which orders maps by key.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("the nouns are plain data, and always JSON: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Affected returns the distinct refs of a repository that the catalog follows,
// sorted: what a push to that repository may move.
func Affected(cat gitops.Catalog, repository string) []gitops.Ref {
	var refs []gitops.Ref
	for _, d := range cat.Deliveries {
		for _, r := range d.Refs() {
			if r.Repository == repository && !slices.Contains(refs, r) {
				refs = append(refs, r)
			}
		}
	}
	slices.SortFunc(refs, func(a, b gitops.Ref) int { return cmp.Compare(a.Revision, b.Revision) })
	return refs
}
