package sandbox

import "os/exec"

// Find returns where the program of a Job is: in PATH when its name has no slash.
func Find(path string) (string, error) { return exec.LookPath(path) }
