package screen

import (
	"fmt"
	"io"
	"strings"
)

// Live is a part of a terminal that is drawn again and again in place. What was
// drawn last stays.
type Live struct {
	Out   io.Writer
	drawn int // lines
}

// Draw replaces what was drawn before. Lines must fit the terminal, in width and
// in number.
func (l *Live) Draw(lines []string) error {
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	l.drawn = len(lines)
	_, err := io.WriteString(l.Out, b.String())
	return err
}
