package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// frameHeader begins an answer, followed by the length of the JSON text after the
// line. An answer that was cut short, or that something else printed into, is
// told from a whole one.
const frameHeader = "tidegate-render/1 %d\n"

// WriteResult writes the renderer program's answer.
func WriteResult(to io.Writer, r Result) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	if _, err := to.Write(append(fmt.Appendf(nil, frameHeader, len(body)), body...)); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// ReadResult reads what WriteResult wrote.
func ReadResult(answer []byte) (Result, error) {
	var r Result
	var length int
	header, body, found := bytes.Cut(answer, []byte("\n"))
	if _, err := fmt.Sscanf(string(header)+"\n", frameHeader, &length); err != nil || !found {
		return r, fmt.Errorf("it does not begin with %q", fmt.Sprintf(frameHeader, 0))
	}
	if len(body) != length {
		return r, fmt.Errorf("it has %d bytes and says that it has %d", len(body), length)
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("decode it: %w", err)
	}
	return r, nil
}
