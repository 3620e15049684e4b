package catalog

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/window"
)

// readGates reads the gates of a stage, and reports what is wrong with them.
func (s stageSpec) readGates(stage *yaml.Node, path string, out reporter) (gates []gitops.Gate) {
	seen := map[string]bool{}
	for i, spec := range s.Gates {
		node, field := get(stage, "gates").Content[i], fmt.Sprintf("%s.gates[%d]", path, i)
		g := spec.read(node, field, out)
		switch {
		case g.Kind == "":
		case g.Name == string(gitops.GateSync) || g.Name == string(gitops.GatePrune) || g.Name == string(gitops.GateDelete):
			out.at(node, field+".name", "a gate cannot be called %s: Tidegate opens gates of that name itself", g.Name)
		case !objectName.MatchString(g.Name):
			out.at(node, field+".name", "%q is no name; it must have lower-case letters, digits, - and . only", g.Name)
		case seen[g.Name]:
			out.at(node, field+".name", "two gates of stage %s are called %s; give them names", s.Name, g.Name)
		}
		seen[g.Name] = true
		gates = append(gates, g)
	}
	return gates
}

// read reads one gate; one without a name is called by its kind.
func (g gateSpec) read(n *yaml.Node, path string, out reporter) gitops.Gate {
	read := gitops.Gate{Deadline: readDuration(get(n, "deadline"), path+".deadline", g.Deadline, out)}
	approval, window := get(n, "approval") != nil, g.Window != nil
	switch {
	case approval && window:
		out.at(n, path, "the gate has two conditions; write a gate for each")
	case approval:
		read.Kind, read.Approvals = gitops.GateApproval, g.Approval.Count
		if get(n, "approval", "count") != nil && g.Approval.Count == 0 {
			out.at(get(n, "approval", "count"), path+".approval.count", "a gate that nobody has to approve; leave it out")
		}
		read.Expires = readDuration(get(n, "approval", "expires"), path+".approval.expires", g.Approval.Expires, out)
	case window:
		read.Kind = gitops.GateWindow
		read.Window = &gitops.WindowRule{
			Allow: readWindows(get(n, "window", "allow"), path+".window.allow", g.Window.Allow, out),
			Deny:  readWindows(get(n, "window", "deny"), path+".window.deny", g.Window.Deny, out),
		}
		if len(g.Window.Allow)+len(g.Window.Deny) == 0 {
			out.at(n, path+".window", "the gate has no windows; write allow or deny")
		}
	default:
		out.at(n, path, "the gate has no condition; write approval: {} or window: {…}")
		return read
	}
	read.Name = nonEmpty(g.Name, string(read.Kind))
	return read
}

func readWindows(n *yaml.Node, path string, specs []windowSpec, out reporter) (windows []gitops.Window) {
	for i, spec := range specs {
		node, field := n.Content[i], fmt.Sprintf("%s[%d]", path, i)
		w := gitops.Window{Schedule: spec.Schedule, TimeZone: spec.TimeZone, Duration: readDuration(get(node, "duration"), field+".duration", spec.Duration, out)}
		if err := window.Check(w); err != nil && (w.Duration > 0 || spec.Duration == "") {
			out.at(node, field, "%s", err)
		}
		windows = append(windows, w)
	}
	return windows
}
