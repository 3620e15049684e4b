package api

import (
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// guard keeps web pages out. The API has no tokens: whoever may open a
// connection from this machine is trusted, but a browser on it opens connections
// for any page. So the host must be a loopback name (a page whose own name was
// pointed here sends that name), a write must be JSON (a form is not) and, if a
// browser sends it, must come from this very origin.
func guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			refuse(w, http.StatusForbidden, "the API answers to a loopback host only, such as 127.0.0.1")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if err := origin.Check(r); err != nil {
				refuse(w, http.StatusForbidden, "the API takes no request from another site's page")
				return
			}
			if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
				refuse(w, http.StatusUnsupportedMediaType, "a write must have Content-Type: application/json")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback says whether a Host header names this machine, with or without a
// port.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.NewError(status, reason)) // the caller has gone
}
