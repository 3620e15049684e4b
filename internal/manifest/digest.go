package manifest

import (
	"encoding/json"
	"fmt"
)

// MAC is a keyed digest: without the key nobody can find out what was digested
// by guessing. The label separates uses from one another.
type MAC func(label string, data []byte) string

// Encode returns an object's canonical JSON: equal objects have equal bytes.
func Encode(content map[string]any) (json.RawMessage, error) {
	data, err := json.Marshal(content) // sorts the keys of maps
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", KeyOf(content), err)
	}
	return data, nil
}

// Digest is the desired digest of an object, given its canonical JSON.
func (mac MAC) Digest(encoded json.RawMessage) string { return mac("object", encoded) }
