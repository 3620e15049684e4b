package artifact

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// sealVersion is the first byte of every object: zstd, then AES-256-GCM with a random nonce in front, under a key of
// the object's own, with the object's key in the bucket as additional data.
const sealVersion = 1

// keyring holds one subkey per use, so that no output of one use says anything about another.
type keyring struct {
	encryption, addressing, labels []byte
	id                             string // tells keys apart and reveals nothing of them
}

func newKeyring(master []byte) (keyring, error) {
	var k keyring
	var id []byte
	for info, subkey := range map[string]*[]byte{
		"encryption": &k.encryption, "addressing": &k.addressing, "labels": &k.labels, "id": &id,
	} {
		derived, err := hkdf.Key(sha256.New, master, nil, "tidegate artifact store v1 "+info, keySize)
		if err != nil {
			return keyring{}, fmt.Errorf("derive %s key: %w", info, err)
		}
		*subkey = derived
	}
	k.id = hex.EncodeToString(id[:16])
	return k, nil
}

// mac is HMAC-SHA256 over label and data; the label's length comes first, so that no two pairs collide.
func mac(key []byte, label string, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(label)))
	h.Write(length[:])
	h.Write([]byte(label))
	h.Write(data)
	return h.Sum(nil)
}

// MAC is the keyed digest, in hex, of data under a label: what plans and inventories keep instead of a plain hash, which
// would let a reader confirm a guess of a secret. It depends on the store's key, label and data only.
func (s *Store) MAC(label string, data []byte) string {
	return hex.EncodeToString(mac(s.keys.labels, label, data))
}

// cipherFor gives every object a key of its own: the number of objects under one AES key stays far from its limit, and
// an object moved to another name cannot be opened.
func (s *Store) cipherFor(name string) (cipher.AEAD, error) {
	block, err := aes.NewCipher(mac(s.keys.encryption, "object", []byte(name)))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s *Store) seal(name string, data []byte) ([]byte, error) {
	if int64(len(data)) > s.maxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), s.maxBytes)
	}
	aead, err := s.cipherFor(name)
	if err != nil {
		return nil, err
	}
	compressed := s.encoder.EncodeAll(data, make([]byte, 0, len(data)/2+64))
	sealed := make([]byte, 1, 1+len(compressed)+aead.Overhead())
	sealed[0] = sealVersion
	return aead.Seal(sealed, nil, compressed, []byte(name)), nil //nolint:gosec // this AEAD makes its own nonce
}

func (s *Store) unseal(name string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, fmt.Errorf("%w: the object is empty", ErrDamaged)
	}
	if sealed[0] != sealVersion {
		return nil, fmt.Errorf("%w: unknown format %d", ErrDamaged, sealed[0])
	}
	aead, err := s.cipherFor(name)
	if err != nil {
		return nil, err
	}
	compressed, err := aead.Open(nil, nil, sealed[1:], []byte(name))
	if err != nil {
		return nil, ErrDamaged
	}
	data, err := s.decoder.DecodeAll(compressed, nil)
	if err != nil {
		return nil, errors.Join(ErrDamaged, err)
	}
	return data, nil
}
