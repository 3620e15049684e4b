package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/tidegate/tidegate/internal/gitops"
)

// predecessors are the field managers of those who deliver from Git or by hand.
// When an object is taken over, what they own becomes ours: an apply drops what Git
// does not have. Controllers and people who change single fields are not among them.
var predecessors = map[string]bool{
	"kubectl-client-side-apply": true, "kubectl-create": true, "kubectl-replace": true, "kubectl": true,
	"before-first-apply": true, "argocd-controller": true, "argocd-application-controller": true,
	"helm": true, "Helm": true, "helm-controller": true, "kustomize-controller": true, "kapp": true, "kluctl": true,
}

// takeFields makes the fields of an object's predecessors ours. It may be repeated.
func (r *Region) takeFields(ctx context.Context, res resource, key gitops.ObjectKey) error {
	return r.amend(ctx, res, key, fieldsPatch)
}

// fieldsPatch is the JSON patch that gives us what the predecessors own; nil when
// they own nothing.
func fieldsPatch(live map[string]any) ([]byte, error) {
	metadata, _ := live["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	ours := &fieldpath.Set{}
	taken := false
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		manager, _ := entry["manager"].(string)
		own := manager == FieldManager && entry["operation"] == "Apply"
		if subresource, _ := entry["subresource"].(string); subresource != "" || entry["apiVersion"] != live["apiVersion"] || !own && !predecessors[manager] {
			kept = append(kept, e)
			continue
		}
		set, err := fieldSet(entry["fieldsV1"])
		if err != nil {
			return nil, fmt.Errorf("read the fields of manager %s: %w", manager, err)
		}
		ours, taken = ours.Union(set), taken || !own
	}
	if !taken {
		return nil, nil
	}
	fields, err := ours.ToJSON()
	if err != nil {
		return nil, err
	}
	kept = append(kept, map[string]any{
		"manager": FieldManager, "operation": "Apply", "apiVersion": live["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": json.RawMessage(fields),
	})
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
		{"op": "replace", "path": "/metadata/managedFields", "value": kept},
	})
}

func fieldSet(fields any) (*fieldpath.Set, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	set := &fieldpath.Set{}
	return set, set.FromJSON(bytes.NewReader(data))
}
