package charts

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// File reads a URL and returns what it has as a tar archive with one file of the
// given name.
func (c *Client) File(ctx context.Context, raw, name string) ([]byte, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, &Error{Thing: "file", Kind: KindURL, Reason: "its URL cannot be read"}
	}
	source := gitops.ChartSource{Identity: strings.ToLower(u.Host) + u.Path, Repository: u.Scheme + "://" + u.Host}
	answer, err := c.get(ctx, source, raw, "", maxChart)
	if fault := (*Error)(nil); errors.As(err, &fault) {
		fault.Thing = "file"
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(answer.body))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(answer.body); err != nil {
		return nil, err
	}
	err = archive.Close()
	return b.Bytes(), err
}
