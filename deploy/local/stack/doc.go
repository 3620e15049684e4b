// Package stack runs what Tidegate delivers with and to, on one machine and without containers: a Temporal server, and any
// number of regions, each a Kubernetes API server of its own. The regions share one etcd, under a prefix each, and one
// process of controllers that makes their workloads come alive.
//
// A stack is either attached to the process that starts it, as tests want it: nothing survives that process, however it
// ends. Or it is detached, as `make up` wants it: [Start] leaves daemons behind, [Open] finds them again from any other
// process, [Down] ends them. A process is known by its number and the time it started, so that a number used again by the
// system never gets a stranger killed.
//
// Everything a stack writes is below one folder, Options.Dir:
//
//	kubeconfig              every region, by context, for people
//	tidegate.yaml           the settings for Tidegate's own programs
//	regions/<name>/         kubeconfig, API server's certificates, audit.log
//	temporal/  etcd/        their databases
//	logs/<process>.log      what each process prints
//	run/<process>.pid       which processes run
package stack
