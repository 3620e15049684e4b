package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
)

// MaxBody is the largest body that is read, in bytes: what GitHub allows itself to send.
const MaxBody = 25 << 20

// readVerified reads the body, hashing it on the way, and returns it only when signature is its HMAC-SHA256. A request
// that states its size is refused before it is read; memory grows with what has arrived, not with what was announced.
func readVerified(r *http.Request, secret, signature []byte) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, r.ContentLength, MaxBody)
	}
	mac := hmac.New(sha256.New, secret)
	body, err := readHashed(r.Body, mac)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(mac.Sum(nil), signature) {
		return nil, fmt.Errorf("%w: it does not match the body; check that both sides have the same secret", ErrUnsigned)
	}
	return body, nil
}

func readHashed(body io.Reader, h hash.Hash) ([]byte, error) {
	var buffer bytes.Buffer
	n, err := io.Copy(io.MultiWriter(&buffer, h), io.LimitReader(body, MaxBody+1))
	var limit *http.MaxBytesError
	if n > MaxBody || errors.As(err, &limit) {
		return nil, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, MaxBody)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read body: %w", ErrMalformed, err)
	}
	return buffer.Bytes(), nil
}

func bodyDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
