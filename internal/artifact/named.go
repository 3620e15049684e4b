package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// SetNamed replaces the small mutable object called name, as a whole: a concurrent reader sees the old or the new
// content. Content is encrypted; names are not. A name is any non-empty string, slashes included, whose escaped form
// fits the bucket (about 900 bytes). The last of two concurrent writers wins.
func (s *Store) SetNamed(ctx context.Context, name string, data []byte) error {
	object, err := namedObject(name)
	if err != nil {
		return err
	}
	sealed, err := s.seal(object, data)
	if err == nil {
		err = s.write(ctx, object, sealed, writeMode{sync: true})
	}
	if err != nil {
		return fmt.Errorf("set %q in the artifact store: %w", name, err)
	}
	return nil
}

// GetNamed returns what SetNamed stored last. It returns ErrNotFound or ErrDamaged, with the name in the message.
func (s *Store) GetNamed(ctx context.Context, name string) ([]byte, error) {
	object, err := namedObject(name)
	if err != nil {
		return nil, err
	}
	data, err := s.readObject(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("get %q: %w", name, err)
	}
	return data, nil
}

// DeleteNamed removes a named object; one that is not there is no error.
func (s *Store) DeleteNamed(ctx context.Context, name string) error {
	object, err := namedObject(name)
	if err != nil {
		return err
	}
	if err := s.bucket.Delete(ctx, object); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete %q from the artifact store: %w", name, err)
	}
	return nil
}

// ListNamed returns, sorted, the names that begin with prefix; all of them for an empty one.
func (s *Store) ListNamed(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	objects := s.bucket.List(&blob.ListOptions{Prefix: namedFolderOf(prefix)})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %q in the artifact store: %w", prefix, err)
		}
		if name, ok := nameOf(o.Key); ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
}
