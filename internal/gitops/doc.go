// Package gitops holds Tidegate's nouns: Region, Source, Target, Delivery,
// Stage, Gate, Release, Plan and the states that people read. They are plain
// data, import the standard library only, and travel through Temporal as JSON:
// a field may be added, never renamed or given another meaning.
package gitops
