package stack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificates are the files by which the API servers prove who they are, all with the same pair. The key also signs the
// tokens of service accounts.
type certificates struct {
	cert, key string // paths
}

// makeCertificates writes a certificate for the loopback address, which is its own authority, good for a year.
func makeCertificates(dir string) (certificates, error) {
	c := certificatesIn(dir)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, fmt.Errorf("make the API servers' key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "tidegate local regions"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.ParseIP(loopback)},
		DNSNames:              []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return c, fmt.Errorf("make the API servers' certificate: %w", err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return c, fmt.Errorf("encode the API servers' key: %w", err)
	}
	if err := writeFile(c.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return c, err
	}
	return c, writeFile(c.key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

func certificatesIn(dir string) certificates {
	return certificates{cert: filepath.Join(dir, "pki", "tls.crt"), key: filepath.Join(dir, "pki", "tls.key")}
}

// newSecret returns 128 random bits in hexadecimal.
func newSecret() string {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	return hex.EncodeToString(secret)
}

// writeFile writes a file that only its owner may read, and the folders above it.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
