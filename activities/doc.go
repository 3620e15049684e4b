// Package activities does the work that workflows ask for: one verb a file, one
// struct per privilege.
//
//	Source    Git credentials and mirrors: observe a ref, check out a commit, poll
//	Renderer  nothing but a sandbox: checkout → bundles
//	Region    one region's credentials: plan, apply, wait, probe
//	Courier   a Temporal client: tells workflows what happened
//	Keeper    the artifact store: catalog, checkpoints, records
//
// An activity decodes its input, calls an internal package, reports and
// classifies the error (errors.go says what is retryable, once). It is run at
// least once and possibly twice at a time, so it must be safe to repeat.
package activities
