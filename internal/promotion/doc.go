// Package promotion decides what a Delivery does next: which release goes into
// which stage, when a rollout gets its stage's lock, when it has to yield, what
// waits at a gate and what catches up.
//
// It is one pure function, [Decide], from a [State] and an [Event] to the next
// State and the [Command]s that must be carried out. There is no clock in it
// (events carry the time), no randomness and no input or output, so that the
// same events always lead to the same decisions: a Delivery workflow replays it,
// and a model checker drives it through interleavings that no test bench could
// produce.
//
// The words: a release that may enter a stage is offered to it. At a gate it
// becomes a candidate, a rollout that waits and holds nothing; without a gate it
// queues as the stage's next. A rollout that holds the stage's lock is running;
// there is at most one in a stage. A release passes a stage when it is healthy
// there, and is offered to the next.
package promotion
