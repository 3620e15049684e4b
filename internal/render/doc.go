// Package render turns a checkout into manifests. The work is done by a small
// program of its own (render/renderer), which is run in a sandbox with the
// checkout as the only thing to look at; this package speaks to it.
package render
