// Package workflows is the story of Tidegate, told as Temporal workflows.
//
// Start with rollout.go: one release going into one stage. What leads there is
// push.go (a ref may have moved), delivery.go (the actor that decides what goes
// where) and catalog.go (what there is to deliver). Rules live in
// internal/promotion as pure functions; work is done by package activities; a
// workflow only walks from one to the next and remembers where it is.
package workflows
