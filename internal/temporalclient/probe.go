package temporalclient

import (
	"context"
	"net"
	"strings"
)

// probe finds out at once that a port is closed, which gRPC would retry until its deadline. Addresses in gRPC's own
// syntax (dns:///…) are left to gRPC.
func probe(ctx context.Context, address string) error {
	if strings.Contains(address, ":///") {
		return nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
