// Package sandbox runs a program that must not be trusted with what it reads:
// within a time, with bounded output, and without anything of this process's
// environment. It is the only package that starts processes.
//
// What a backend promises beyond that differs, and Job says what every one of
// them must. Process, the plain one, keeps no program from reading the host.
package sandbox
