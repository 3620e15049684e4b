// Package artifact keeps every byte that is too large or too private for a workflow's history: checkouts, bundles,
// plans, records. Content is compressed, encrypted, and addressed by a keyed digest, so that whoever can list the
// store learns neither what is in it nor whether a guess of its content is right. Besides the immutable artifacts it
// holds small named objects (checkpoints, indexes) that are replaced as a whole.
//
// A store is a bucket of gocloud.dev/blob, chosen by URL, and may be used by many processes at once.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
	"golang.org/x/sync/singleflight"
)

const (
	defaultCacheBytes = 64 << 20
	defaultMaxBytes   = 512 << 20
	knownDigests      = 8192
	windowBytes       = 4 << 20 // of the compression: what the decoder must be allowed, however small the limit
)

var (
	// ErrNotFound means that the store has no object under this digest or name: it was never put, or was swept.
	ErrNotFound = errors.New("not in the artifact store")
	// ErrDamaged means that stored bytes are not what was put: tampered with, cut short, or sealed with another key.
	ErrDamaged = errors.New("stored bytes are damaged or were changed")
	// ErrTooLarge means that the content exceeds Options.MaxBytes.
	ErrTooLarge = errors.New("larger than the artifact store accepts")
)

// Options say where a store is and which key protects it.
type Options struct {
	// URL names the bucket: file:///var/lib/tidegate/artifacts, mem:// for tests, or the scheme of any gocloud.dev/blob
	// driver that the program imports. A file:// folder is made when it is missing.
	URL string
	// Key is the 32-byte master key. Empty: it is read from KeyFile.
	Key []byte
	// KeyFile holds the master key in base64. With a file:// URL it defaults to the folder's path with ".key" appended
	// and is made on the first start; with any other URL it must exist already, as several machines share the bucket.
	KeyFile string
	// CacheBytes bounds the plaintext that Get keeps in memory; 64 MiB when zero.
	CacheBytes int64
	// MaxBytes bounds one artifact before compression; 512 MiB when zero.
	MaxBytes int64
	// Sync makes Put on a file:// store wait for the disk, which costs milliseconds each. Without it a crash of a process
	// loses nothing, but a power cut can take the artifacts of its last seconds; they are then damaged or not found, and
	// are rendered again. Named objects, which exist nowhere else, are always on disk when SetNamed returns.
	Sync bool
	// Now is the clock that ages objects; time.Now when nil.
	Now func() time.Time
}

// Store reads and writes one bucket with one master key. It is safe for concurrent use.
type Store struct {
	bucket   *blob.Bucket
	keys     keyring
	encoder  *zstd.Encoder
	decoder  *zstd.Decoder
	known    *lru[Digest, sighting]
	cache    *lru[Digest, []byte]
	reads    singleflight.Group
	maxBytes int64
	sync     bool
	now      func() time.Time
}

// Open connects to the bucket at o.URL and loads its key, making both on the first start of a file:// store. It returns
// ErrKeyMissing rather than a new key when the store already holds objects, and ErrWrongKey when the key is not the one
// the store was made with. Close the store when done.
func Open(ctx context.Context, o Options) (*Store, error) {
	loc, err := parseLocation(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open artifact store: %w", err)
	}
	bucket, err := blob.OpenBucket(ctx, loc.bucketURL)
	if err != nil {
		return nil, fmt.Errorf("open artifact store %s: %w", loc.display, err)
	}
	s, err := newStore(ctx, bucket, loc, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open artifact store %s: %w", loc.display, err), bucket.Close())
	}
	return s, nil
}

func newStore(ctx context.Context, bucket *blob.Bucket, loc location, o Options) (*Store, error) {
	master, err := masterKey(ctx, bucket, loc, o)
	if err != nil {
		return nil, err
	}
	keys, err := newKeyring(master)
	if err != nil {
		return nil, err
	}
	s := &Store{bucket: bucket, keys: keys, maxBytes: o.MaxBytes, sync: o.Sync, now: o.Now}
	if s.maxBytes == 0 {
		s.maxBytes = defaultMaxBytes
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.encoder, err = zstd.NewWriter(nil, zstd.WithWindowSize(windowBytes)); err != nil {
		return nil, fmt.Errorf("start compression: %w", err)
	}
	if s.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(uint64(max(s.maxBytes, windowBytes)))); err != nil {
		return nil, fmt.Errorf("start decompression: %w", err)
	}
	cacheBytes := o.CacheBytes
	if cacheBytes == 0 {
		cacheBytes = defaultCacheBytes
	}
	s.known = newLRU[Digest, sighting](knownDigests)
	s.cache = newLRU[Digest, []byte](cacheBytes)
	return s, s.claim(ctx)
}

// Close releases the bucket and the codecs. The store must not be used afterwards.
func (s *Store) Close() error {
	s.decoder.Close()
	return errors.Join(s.encoder.Close(), s.bucket.Close())
}
