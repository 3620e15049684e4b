package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Join makes one canonical list of several. An object that a later list has too
// replaces the earlier one.
func Join(lists [][]byte) (objects []byte, count int, err error) {
	type item struct {
		key     gitops.ObjectKey
		content json.RawMessage
	}
	var all []item
	at := map[gitops.ObjectKey]int{}
	for _, list := range lists {
		var contents []json.RawMessage
		if err := json.Unmarshal(list, &contents); err != nil {
			return nil, 0, fmt.Errorf("decode a list of objects: %w", err)
		}
		for _, content := range contents {
			key, err := keyOf(content)
			if err != nil {
				return nil, 0, err
			}
			if i, there := at[key]; there {
				all[i].content = content
				continue
			}
			at[key] = len(all)
			all = append(all, item{key, content})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return a.key.Compare(b.key) })
	contents := make([]json.RawMessage, 0, len(all))
	for _, i := range all {
		contents = append(contents, i.content)
	}
	objects, err = json.Marshal(contents)
	return objects, len(contents), err
}

func keyOf(content []byte) (gitops.ObjectKey, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return gitops.ObjectKey{}, fmt.Errorf("decode an object: %w", err)
	}
	group, _, grouped := strings.Cut(head.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return gitops.ObjectKey{Group: group, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}, nil
}
