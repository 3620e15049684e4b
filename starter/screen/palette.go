package screen

import "strings"

// Palette paints words that tell a state. The zero value paints nothing.
type Palette struct {
	Colours bool
}

const (
	green  = "32"
	yellow = "33"
	red    = "31"
	cyan   = "36"
)

// meaning is the colour of a cell by its first word.
var meaning = map[string]string{
	"Healthy": green, "Synced": green, "done": green, "open": green,
	"Progressing": yellow, "Planning": yellow, "OutOfSync": yellow, "Approved": yellow, "applying": yellow, "waiting": yellow,
	"Waiting": cyan, "waits": cyan,
	"Degraded": red, "Failed": red, "failed": red, "Missing": red, "Rejected": red, "rejected": red, "unreachable": red, "Aborted": red,
}

func (p Palette) paint(cell string) string {
	word, _, _ := strings.Cut(cell, " ")
	colour, known := meaning[word]
	if !p.Colours || !known {
		return cell
	}
	return "\x1b[" + colour + "m" + cell + "\x1b[0m"
}

// Bold is text to be seen first.
func (p Palette) Bold(text string) string {
	if !p.Colours {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}
