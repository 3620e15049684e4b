//go:build !linux

package sandbox

// Check says that the native sandbox needs Linux.
func Check(Options) []Finding {
	return []Finding{{Name: "Linux", State: StateMissing, Detail: "this is another system", Remedy: errNotLinux.Error()}}
}
