package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"strconv"
)

// canonical writes decoded JSON into a hash so that no two values write alike,
// and equal ones always do.
type canonical struct {
	hash hash.Hash
	buf  []byte
}

// flushAt keeps the buffer small for large objects.
const flushAt = 1 << 15

func newCanonical() canonical { return canonical{hash: sha256.New()} }

func (c *canonical) reset() {
	c.hash.Reset()
	c.buf = c.buf[:0]
}

func (c *canonical) sum() (s Sum) {
	c.hash.Write(c.buf)
	c.hash.Sum(s[:0])
	return s
}

func (c *canonical) mark(b byte) { c.buf = append(c.buf, b) }

// text writes a string with its length first, so that its end cannot be mistaken.
func (c *canonical) text(s string) {
	c.buf = append(c.buf, '"')
	c.buf = binary.AppendUvarint(c.buf, uint64(len(s)))
	c.buf = append(c.buf, s...)
}

func (c *canonical) value(v any) {
	if len(c.buf) > flushAt {
		c.hash.Write(c.buf)
		c.buf = c.buf[:0]
	}
	switch x := v.(type) {
	case nil:
		c.mark('n')
	case bool:
		c.buf = strconv.AppendBool(c.buf, x)
	case string:
		c.text(x)
	case int64:
		c.integer(x)
	case float64:
		c.float(x)
	case []any:
		c.mark('[')
		for _, item := range x {
			c.value(item)
		}
		c.mark(']')
	case map[string]any:
		c.mark('{')
		for _, k := range slices.Sorted(maps.Keys(x)) {
			c.text(k)
			c.value(x[k])
		}
		c.mark('}')
	default:
		c.buf = fmt.Appendf(c.buf, "?%T%v", v, v)
	}
}

func (c *canonical) integer(n int64) {
	c.buf = strconv.AppendInt(append(c.buf, 'd'), n, 10)
	c.mark(';')
}

// float writes a whole number as an integer: JSON does not tell 2 from 2.0.
func (c *canonical) float(f float64) {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		c.integer(int64(f))
		return
	}
	c.buf = strconv.AppendFloat(append(c.buf, 'g'), f, 'g', -1, 64)
	c.mark(';')
}

// nature is all that is owned of an inner node itself: what sort of value it is.
func nature(v any) byte {
	switch v.(type) {
	case nil:
		return 'n'
	case map[string]any:
		return 'm'
	case []any:
		return 'l'
	default:
		return 's'
	}
}
