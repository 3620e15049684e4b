package config

import "fmt"

const masked = "******"

// Secret is a setting that nobody may see: every way of printing or encoding it
// gives asterisks. Reveal is the only way to its value.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// Format prints asterisks whatever the verb is, or nothing for no secret.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = fmt.Fprint(state, s.mask()) }

// MarshalText keeps the value out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.mask()), nil }

func (s Secret) mask() string {
	if s == "" {
		return ""
	}
	return masked
}
