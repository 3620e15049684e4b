// Package e2e holds the tests of the whole product: the built programs, real Git
// over HTTP, a real Temporal server and ten real Kubernetes API servers.
//
// The servers are shared by all tests of a run. Each test has a world of its
// own: a Temporal namespace, a worker and a `tidegate serve`, a catalog, a
// repository, and names that no other test uses. It speaks to Tidegate as its
// users do: it pushes, posts webhooks, runs the command, sends Temporal signals;
// and it looks at the regions themselves, and at their audit logs, for what was
// done.
//
// The tests wait for things, never for a time, and no test says how long
// something may take.
package e2e
