package charts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
)

// named is the key under which a context has the host that somebody has named as
// a place of charts.
type named struct{}

func withNamed(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, named{}, host)
}

// hops sends requests to the host that somebody has named, and to where an index
// or a redirect leads from there: the latter never to this machine itself.
type hops struct{ first, next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (h hops) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Context().Value(named{}) == request.URL.Host {
		return h.first.RoundTrip(request)
	}
	return h.next.RoundTrip(request)
}

func newHTTP() *http.Client {
	return &http.Client{Transport: hops{transport(nil), transport(refuseInner)}, Timeout: callTimeout, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if next.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
			return errors.New("a redirect from https to " + next.URL.Scheme)
		}
		return nil
	}}
}

func transport(control func(network, address string, c syscall.RawConn) error) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: callTimeout, Control: control}).DialContext
	return t
}

// refuseInner refuses addresses that nobody names as a place of charts: this
// machine's own, and those that clouds give out credentials at.
func refuseInner(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := at.Addr().Unmap(); ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() {
		return fmt.Errorf("neither an index nor a redirect may lead to %s", ip)
	}
	return nil
}
