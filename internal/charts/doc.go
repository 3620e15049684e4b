// Package charts finds and pulls Helm charts from Helm repositories and OCI
// registries. It runs nothing of them: what it returns is the chart's files, as
// bytes, for whoever renders.
package charts
