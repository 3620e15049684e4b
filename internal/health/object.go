package health

// object is a decoded object with readers that take a wrong type for absent.
type object map[string]any

func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func (o object) text(path ...string) string {
	s, _ := o.at(path...).(string)
	return s
}

func (o object) isTrue(path ...string) bool {
	b, _ := o.at(path...).(bool)
	return b
}

// number returns a whole number, or other when there is none.
func (o object) number(other int64, path ...string) int64 {
	switch n := o.at(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	default:
		return other
	}
}

func (o object) list(path ...string) []object {
	items, _ := o.at(path...).([]any)
	out := make([]object, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// condition returns the condition of a type; nil, which reads as empty, when the
// status has none.
func (o object) condition(kind string) object {
	for _, c := range o.list("status", "conditions") {
		if c.text("type") == kind {
			return c
		}
	}
	return nil
}

func (o object) hasTrue(condition string) bool {
	return o.condition(condition).text("status") == "True"
}

// observed says whether the status speaks of the object as it is now.
func (o object) observed() bool {
	return o.number(0, "metadata", "generation") <= o.number(0, "status", "observedGeneration")
}

func (c object) words() string {
	if m := c.text("message"); m != "" {
		return m
	}
	return c.text("reason")
}
