package catalog

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// syncPolicy is the part of spec.syncPolicy that is supported.
type syncPolicy struct {
	Automated *struct {
		Enabled    *bool `yaml:"enabled"`
		Prune      bool  `yaml:"prune"`
		SelfHeal   bool  `yaml:"selfHeal"`
		AllowEmpty bool  `yaml:"allowEmpty"`
	} `yaml:"automated"`
	SyncOptions              []string `yaml:"syncOptions"`
	Retry                    *retry   `yaml:"retry"`
	ManagedNamespaceMetadata struct {
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"managedNamespaceMetadata"`
}

// retry is syncPolicy.retry. Its refresh is of no use here: a newer release replaces
// a sync that is being retried in any case.
type retry struct {
	Limit   *int `yaml:"limit"`
	Backoff struct {
		Duration    string   `yaml:"duration"`
		Factor      *float64 `yaml:"factor"`
		MaxDuration string   `yaml:"maxDuration"`
	} `yaml:"backoff"`
}

// Argo CD's defaults.
const (
	retryLimit       = 5
	retryDuration    = 5 * time.Second
	retryFactor      = 2
	retryMaxDuration = 3 * time.Minute
)

func (r retry) read(n *yaml.Node, out reporter) *gitops.Retry {
	read := &gitops.Retry{Limit: retryLimit, Duration: retryDuration, Factor: retryFactor, MaxDuration: retryMaxDuration}
	if r.Limit != nil {
		read.Limit = *r.Limit
	}
	if r.Backoff.Factor != nil {
		read.Factor = max(*r.Backoff.Factor, 1)
	}
	for _, d := range []struct {
		text, field string
		into        *time.Duration
	}{{r.Backoff.Duration, "duration", &read.Duration}, {r.Backoff.MaxDuration, "maxDuration", &read.MaxDuration}} {
		if d.text == "" {
			continue
		}
		value, err := time.ParseDuration(d.text)
		if seconds, number := strconv.Atoi(d.text); number == nil {
			value, err = time.Duration(seconds)*time.Second, nil
		}
		if err != nil || value < 0 {
			out.at(near(n, "backoff", d.field), "spec.syncPolicy.retry.backoff."+d.field, "%q is no duration; write 5s, 3m, or a number of seconds", d.text)
			continue
		}
		*d.into = value
	}
	return read
}

// read gives a sync policy its meaning. As in Argo CD, automated is on when it
// is there, even when empty, unless its enabled says false.
func (p syncPolicy) read(n *yaml.Node, out reporter) gitops.SyncPolicy {
	read := gitops.SyncPolicy{
		NamespaceLabels:      p.ManagedNamespaceMetadata.Labels,
		NamespaceAnnotations: p.ManagedNamespaceMetadata.Annotations,
	}
	if a := p.Automated; a != nil {
		read.Automated = a.Enabled == nil || *a.Enabled
		read.Prune, read.SelfHeal, read.AllowEmpty = a.Prune, a.SelfHeal, a.AllowEmpty
	}
	if p.Retry != nil {
		read.Retry = p.Retry.read(near(n, "retry"), out)
	}
	nodes := near(n, "syncOptions").Content
	for i, option := range p.SyncOptions {
		if err := manifest.CheckOption(option); err != nil {
			out.at(nodes[i], "spec.syncPolicy.syncOptions", "%s", err)
			continue
		}
		read.Options = append(read.Options, option)
	}
	return read
}
