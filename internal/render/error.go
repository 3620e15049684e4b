package render

import "fmt"

// ErrorKind says what is wrong with a source.
type ErrorKind string

// The kinds of errors that a source can have.
const (
	KindPath        ErrorKind = "PathNotFound" // a file or folder is not in the repository
	KindParse       ErrorKind = "ParseError"   // a file is not YAML or JSON, or not of Kubernetes
	KindBuild       ErrorKind = "BuildError"   // Kustomize says no, or an object is declared twice
	KindRemote      ErrorKind = "RemoteSource" // it refers to something outside of the repository
	KindUnsupported ErrorKind = "NotSupported" // it asks for what Tidegate does not do yet
	KindPlugin      ErrorKind = "PluginFailed" // a plugin says no
	KindTooLarge    ErrorKind = "TooLarge"     // a file is larger than what is read

	// What a render may take, each over-run by its own name.
	KindTimeout   ErrorKind = "TimedOut"
	KindOutput    ErrorKind = "TooMuchOutput"
	KindMemory    ErrorKind = "OutOfMemory"
	KindProcesses ErrorKind = "TooManyProcesses"
	KindTmp       ErrorKind = "TmpFull"
	KindCrash     ErrorKind = "Crashed"
)

// Error is a source that cannot be rendered, in words for the one who wrote it:
// no path of this machine, and no value of a Secret, is in it.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	File    string    `json:"file,omitempty"` // in the tree
	Line    int       `json:"line,omitempty"`
	Message string    `json:"message"` // what is wrong and the way out
}

// Error is file:line: message, as far as file and line are known.
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line == 0:
		return e.File + ": " + e.Message
	default:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
}

// Final says whether the same source would fail the same way again. A machine
// that was slow or short of memory may not be.
func (e *Error) Final() bool { return e.Kind != KindTimeout && e.Kind != KindCrash }
