package catalog

import (
	"fmt"

	"github.com/tidegate/tidegate/internal/gitops"
)

// overrideKind is whose spec.source an override has the fields of.
const overrideKind = "argoproj.io/v1alpha1/Application"

// ReadOverride reads the options that a file .argocd-source.yaml in a source's
// folder has: fields of an Application's source. Fields that are no options, such
// as repoURL, count for nothing, as in Argo CD. The error names file and line.
func ReadOverride(name string, text []byte) (gitops.Source, *gitops.Problem) {
	var problems []gitops.Problem
	docs, _ := parse(file{name: name, data: text}, &problems)
	if len(problems) > 0 {
		return gitops.Source{}, &problems[0]
	}
	if len(docs) == 0 {
		return gitops.Source{}, nil
	}
	if len(docs) > 1 {
		return gitops.Source{}, &gitops.Problem{File: name, Line: docs[1].node.Line, Message: "there is one document in it at most"}
	}
	out := docs[0].reporter(&problems)
	node := docs[0].node
	schema().Kinds[overrideKind].fields["spec"].fields["source"].check(node, "", out)
	if len(problems) > 0 {
		return gitops.Source{}, &problems[0]
	}
	var s source
	if err := node.Decode(&s); err != nil {
		return gitops.Source{}, &gitops.Problem{File: name, Line: node.Line, Message: fmt.Sprint(err)}
	}
	var read gitops.Source
	(&loader{}).readOptions(sourcePlace{node: node, field: "source"}, s, &read, out)
	if len(problems) > 0 {
		return gitops.Source{}, &problems[0]
	}
	return read, nil
}
