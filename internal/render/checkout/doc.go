// Package checkout keeps unpacked checkouts on a worker's disk: each once, under
// a name made of its digest, the least recently used removed when they take more
// room than they may. Several processes may share one folder.
package checkout
