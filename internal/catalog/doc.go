// Package catalog reads a folder of YAML files and says what there is to
// deliver: Applications and ApplicationSets as Argo CD has them, and two kinds
// of Tidegate's own.
//
// A Region adds labels and other names to a region of the settings:
//
//	apiVersion: tidegate.dev/v1alpha1
//	kind: Region
//	metadata:
//	  name: eu-1
//	  labels: {stage: production}
//	spec:
//	  aliases: ["https://10.0.0.1:6443"]
//
// A Pipeline makes one Delivery of many Applications, promoted stage by stage:
//
//	apiVersion: tidegate.dev/v1alpha1
//	kind: Pipeline
//	metadata:
//	  name: shop
//	spec:
//	  applicationSet: shop             # what it promotes: an ApplicationSet,
//	  selector: {matchLabels: {a: b}}  # Applications by label, or both
//	  stages:
//	    - name: dev
//	      selector: {matchLabels: {stage: dev}}
//	    - name: production
//	      selector: {matchLabels: {stage: production}}
//	      gates: [{approval: {}}]      # or {name: change-board, approval: {}}
//
// A stage selects by the labels of a target's region, by those of its
// Application (which win) and by tidegate.dev/region, the region's name. Every
// target of a Pipeline is in exactly one stage. An Application that no Pipeline
// selects is a Delivery of its own, with one stage.
//
// What cannot be read becomes a Problem with its place, and never stops the
// rest. What might be held back by a Pipeline that cannot be read is held back:
// a slip in a gate's spelling does not open it. KeepLast gives what was read
// before back to what cannot be read now. fields.yaml lists every field
// of every kind, and whether it is supported.
package catalog
