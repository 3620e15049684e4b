package promotion_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// TestScripts plays every file of testdata: one case each, whose claim is the
// file's name. Lines that start with > are told to a new Delivery; below each is
// what it decides. The words:
//
//	spec NAME | STAGE[ approval| manual]: TARGET ... | ...   region of w1 is r-w1; w1@eu names another; w1! goes with its objects
//	rollback STAGE RELEASE     (a stage that "rolls back" does so by itself)
//	retired abandon WHO [TARGET ...]
//	push REF COMMIT            missing REF REASON
//	rendered CONTENT           render-failed REASON          render-stale NUMBER CONTENT
//	report ROLLOUT PHASE [TARGET=PHASE ...] [plan=DIGEST]    stale ROLLOUT PHASE
//	gone ROLLOUT [PHASE]       sync WHO [TARGET ...]         reopen STAGE RELEASE
//	sync-some, sync-prune      a sync of some objects, and one that may prune
//	recovered REGION           status
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(want))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(want), got, "run the tests with -update when this is meant")
		})
	}
}

func play(t *testing.T, script string) string {
	p := player{t: t, reports: map[int]int64{}, clock: time.Unix(1_700_000_000, 0).UTC()}
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			out.WriteString(line + "\n")
			p.play(&out, strings.Fields(line[2:]))
		case line == "" || strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// player turns a script's words into events.
type player struct {
	t       *testing.T
	state   promotion.State
	clock   time.Time
	pushes  int64
	reports map[int]int64
}

func (p *player) play(out *strings.Builder, words []string) {
	if words[0] == "status" {
		out.WriteString(statusText(p.state.Status()))
		return
	}
	p.clock = p.clock.Add(time.Second)
	e := p.event(words[0], words[1:])
	e.At = p.clock
	var commands []promotion.Command
	p.state, commands = promotion.Decide(p.state, e)
	for _, c := range commands {
		if c.Kind != promotion.Checkpoint {
			fmt.Fprintf(out, "    %s\n", commandLine(c))
		}
	}
}

func (p *player) event(word string, args []string) promotion.Event {
	rest := ""
	if len(args) > 1 {
		rest = strings.Join(args[1:], " ")
	}
	switch word {
	case "spec":
		spec := parseSpec(strings.Join(args, " "))
		return promotion.Event{Kind: promotion.SpecChanged, Spec: &spec}
	case "push":
		p.pushes++
		return promotion.Event{Kind: promotion.HeadMoved, Ref: ref(args[0]), Seq: p.pushes, Commit: args[1]}
	case "missing":
		return promotion.Event{Kind: promotion.HeadMissing, Ref: ref(args[0]), Message: rest}
	case "rendered":
		return p.rendered(p.state.Render.Number, args[0])
	case "render-stale":
		return p.rendered(p.number(args[0]), args[1])
	case "render-failed":
		return promotion.Event{Kind: promotion.RenderFailed, Render: p.state.Render.Number, Message: strings.Join(args, " ")}
	case "report", "stale":
		return p.report(word, args)
	case "gone":
		return promotion.Event{Kind: promotion.RolloutGone, Rollout: p.number(args[0]), Stage: p.stageOf(p.number(args[0])), Phase: gitops.Phase(rest)}
	case "sync":
		return promotion.Event{Kind: promotion.SyncRequested, By: args[0], Names: args[1:]}
	case "sync-some":
		return promotion.Event{Kind: promotion.SyncRequested, By: args[0], Names: args[1:], Scope: &gitops.SyncScope{Resources: []string{":ConfigMap:*"}}}
	case "sync-prune":
		return promotion.Event{Kind: promotion.SyncRequested, By: args[0], Names: args[1:], Scope: &gitops.SyncScope{Prune: true}}
	case "rollback":
		return promotion.Event{Kind: promotion.RollbackRequested, Stage: args[0], Release: p.number(args[1]), By: "ada", Message: "it is slow"}
	case "retired":
		return promotion.Event{Kind: promotion.Retired}
	case "abandon":
		return promotion.Event{Kind: promotion.DeletionAbandoned, By: args[0], Names: args[1:]}
	case "reopen":
		return promotion.Event{Kind: promotion.ReopenRequested, Stage: args[0], Release: p.number(args[1])}
	case "recovered":
		return promotion.Event{Kind: promotion.RegionRecovered, Region: args[0]}
	}
	require.Fail(p.t, "unknown word in a script", word)
	return promotion.Event{}
}

func (p *player) number(word string) int {
	n, err := strconv.Atoi(word)
	require.NoError(p.t, err)
	return n
}

func (p *player) stageOf(number int) string {
	for _, r := range append(p.state.OpenRollouts(), p.state.Rollouts...) {
		if r.Number == number {
			return r.Stage
		}
	}
	return "nowhere"
}

func (p *player) rendered(number int, content string) promotion.Event {
	e := promotion.Event{Kind: promotion.Rendered, Render: number, Sources: p.state.Render.Sources}
	for _, t := range p.state.Spec.Targets {
		e.Bundles = append(e.Bundles, gitops.Bundle{Target: t.Name, Digest: t.Name + "-" + content, Objects: 1})
	}
	return e
}

func (p *player) report(word string, args []string) promotion.Event {
	n := p.number(args[0])
	e := promotion.Event{Kind: promotion.RolloutReported, Rollout: n, Stage: p.stageOf(n), Phase: gitops.Phase(args[1]), PlanDigest: fmt.Sprintf("plan-%d", n)}
	if word == "report" {
		p.reports[n]++
	}
	e.Seq = p.reports[n]
	for _, arg := range args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		if name == "plan" {
			e.PlanDigest = value
			continue
		}
		value, begun := strings.CutSuffix(value, "+")
		e.Targets = append(e.Targets, promotion.TargetOutcome{Name: name, Phase: gitops.TargetPhase(value), Begun: begun})
	}
	return e
}

func ref(name string) *gitops.Ref { return &gitops.Ref{Repository: "git.test/shop", Revision: name} }

func parseSpec(text string) gitops.Delivery {
	parts := strings.Split(text, " | ")
	d := gitops.Delivery{Project: "shop", Name: "web", Digest: parts[0]}
	for _, part := range parts[1:] {
		head, names, _ := strings.Cut(part, ":")
		name, gate, _ := strings.Cut(head, " ")
		st := gitops.Stage{Name: name}
		if gate == "rolls back" {
			st.Strategy = &gitops.Strategy{OnFailure: gitops.RollBack}
		}
		if gate == "approval" {
			st.Gates = []gitops.Gate{{Name: "signoff", Kind: gitops.GateApproval}}
		}
		for _, word := range strings.Fields(names) {
			word, finalizer := strings.CutSuffix(word, "!")
			target, region, moved := strings.Cut(word, "@")
			if !moved {
				region = "r-" + target
			}
			st.Targets = append(st.Targets, target)
			t := gitops.Target{Name: target, Region: region, Namespace: "web", Finalizer: finalizer, Source: gitops.Source{Repository: "git.test/shop", Revision: "main", Path: "."}}
			t.SyncPolicy.Automated = gate != "manual"
			d.Targets = append(d.Targets, t)
		}
		d.Stages = append(d.Stages, st)
	}
	return d
}

func statusText(s promotion.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    %s: %s, %s\n", s.Delivery, s.Sync, s.Health)
	for _, st := range s.Stages {
		fmt.Fprintf(&b, "    stage %s: current %s", st.Name, releaseText(st.Current))
		for _, r := range []struct {
			word    string
			release *promotion.ReleaseStatus
		}{{"next", st.Next}, {"failed", st.Failed}} {
			if r.release != nil {
				fmt.Fprintf(&b, ", %s %s", r.word, releaseText(r.release))
			}
		}
		if r := st.Running; r != nil {
			fmt.Fprintf(&b, ", running %d (release %d, %s)", r.Number, r.Release, r.Phase)
		}
		for _, r := range st.Waiting {
			fmt.Fprintf(&b, ", waiting %d (release %d, %s)", r.Number, r.Release, r.Phase)
		}
		b.WriteString("\n")
	}
	for _, t := range s.Targets {
		fmt.Fprintf(&b, "    target %s: %s, %s", t.Name, t.Sync, t.Health)
		if t.Revision != "" {
			b.WriteString(", at " + t.Revision)
		}
		if t.Unreachable {
			b.WriteString(", unreachable")
		}
		if t.Stage == gitops.DeletionStage {
			b.WriteString(": " + t.Message)
		}
		b.WriteString("\n")
	}
	for _, q := range s.Quarantined {
		fmt.Fprintf(&b, "    quarantined: %s\n", q)
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "    condition %s %s: %s\n", c.Kind, c.Subject, c.Message)
	}
	return b.String()
}

func releaseText(r *promotion.ReleaseStatus) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%d (%s)", r.Number, r.Revision)
}
