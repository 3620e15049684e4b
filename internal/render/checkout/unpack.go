package checkout

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// ErrRefused means that an archive holds something that no checkout may. The
// error names it.
var ErrRefused = errors.New("refused")

// Limits bound what one archive may unpack to.
type Limits struct {
	Bytes int64 // of all files; 2 GiB when it is zero
	Files int   // and links; 200 000 when it is zero
}

const (
	defaultBytes = 2 << 30
	defaultFiles = 200_000
)

// Unpack writes an archive into an empty folder and nowhere else, and returns
// the size of its files. A name or link that leads out of the folder, whatever
// is neither file, folder nor link, and more than the limits are ErrRefused.
// Everybody may read what was written: a sandbox has other users.
func Unpack(dir string, archive io.Reader, limits Limits) (size int64, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("open the folder to unpack to: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if limits.Bytes == 0 {
		limits.Bytes = defaultBytes
	}
	if limits.Files == 0 {
		limits.Files = defaultFiles
	}
	u := unpacking{root: root, limits: limits, in: tar.NewReader(archive)}
	for {
		header, err := u.in.Next()
		if errors.Is(err, io.EOF) {
			return u.bytes, nil
		}
		if err == nil || errors.Is(err, tar.ErrInsecurePath) {
			err = u.one(header)
		}
		if err != nil {
			return u.bytes, fmt.Errorf("unpack %s: %w", nameOf(header), err)
		}
	}
}

func nameOf(header *tar.Header) string {
	if header == nil {
		return "the archive"
	}
	return header.Name
}

type unpacking struct {
	root   *os.Root
	in     *tar.Reader
	limits Limits
	bytes  int64
	files  int
}

func (u *unpacking) one(header *tar.Header) error {
	if !filepath.IsLocal(header.Name) {
		return fmt.Errorf("%w: the name leads out of the repository", ErrRefused)
	}
	u.files++
	u.bytes += header.Size
	switch {
	case u.files > u.limits.Files:
		return fmt.Errorf("%w: the checkout has more than %d files", ErrRefused, u.limits.Files)
	case header.Size < 0 || u.bytes > u.limits.Bytes:
		return fmt.Errorf("%w: with it the checkout has more than %d bytes", ErrRefused, u.limits.Bytes)
	}
	if err := u.root.MkdirAll(path.Dir(header.Name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.root.MkdirAll(path.Clean(header.Name), 0o755)
	case tar.TypeSymlink:
		if path.IsAbs(header.Linkname) || !filepath.IsLocal(path.Join(path.Dir(header.Name), header.Linkname)) { //nolint:gosec // it is what is checked
			return fmt.Errorf("%w: the link leads out of the repository, to %s", ErrRefused, header.Linkname)
		}
		return u.root.Symlink(header.Linkname, header.Name)
	case tar.TypeReg:
		return u.file(header)
	default:
		return fmt.Errorf("%w: it is neither a file nor a link (type %q)", ErrRefused, header.Typeflag)
	}
}

func (u *unpacking) file(header *tar.Header) error {
	mode := fs.FileMode(0o644)
	if header.Mode&0o100 != 0 {
		mode = 0o755
	}
	file, err := u.root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, u.in, header.Size)
	return errors.Join(err, file.Close())
}
