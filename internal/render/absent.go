package render

import (
	"errors"
	"syscall"
)

// isNotFolder says whether a path goes on below a file: it is not there either.
func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
