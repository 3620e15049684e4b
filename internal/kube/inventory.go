package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
)

const (
	systemNamespace  = "tidegate-system"
	labelInventory   = "tidegate.dev/inventory" // its value tells one target's objects from another's
	annotationTarget = "tidegate.dev/target"
	keyInventory     = "inventory.json.zst" // in binaryData
	keyParts         = "parts"              // in data: names of the objects that hold the content instead
	maxInventory     = 256 << 20            // bytes, decompressed
)

// Inventory is what a region remembers of one target: which objects are its own,
// and who may write them now. It is one compressed ConfigMap, several when large.
type Inventory struct {
	Target string `json:"target"`
	Claim
	Busy   bool   `json:"busy,omitempty"` // whoever has the claim may be writing
	Bundle string `json:"bundle"`         // digest of what is delivered
	// Delivered is the digest of what was delivered to its end last; kept where that
	// had hooks, which do not run again for it.
	Delivered string        `json:"delivered,omitempty"`
	Records   []diff.Record `json:"records"`

	version string // the head's resourceVersion; empty when there is none
}

// byKey returns the records by object.
func (inv *Inventory) byKey() map[gitops.ObjectKey]diff.Record {
	m := make(map[gitops.ObjectKey]diff.Record, len(inv.Records))
	for _, rec := range inv.Records {
		m[rec.Key] = rec
	}
	return m
}

// setRecords replaces the records, in a stable order.
func (inv *Inventory) setRecords(m map[gitops.ObjectKey]diff.Record) {
	inv.Records = slices.SortedFunc(maps.Values(m), func(a, b diff.Record) int { return a.Key.Compare(b.Key) })
}

// Inventory reads a target's inventory. One that does not exist is empty.
func (r *Region) Inventory(ctx context.Context, target string) (*Inventory, error) {
	inv, err := r.readInventory(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("read the inventory of %s in region %s: %w", target, r.settings.Name, err)
	}
	return inv, nil
}

func (r *Region) readInventory(ctx context.Context, target string) (*Inventory, error) {
	for {
		inv := &Inventory{Target: target}
		head, err := r.getConfigMap(ctx, headName(target))
		if apierrors.IsNotFound(err) {
			return inv, nil
		}
		if err != nil {
			return nil, err
		}
		inv.version = head.ResourceVersion
		packed, err := r.content(ctx, head)
		if apierrors.IsNotFound(err) && errors.Is(r.checkUnmoved(ctx, inv), errMoved) {
			continue // its parts were replaced while they were read
		}
		if err != nil {
			return nil, err
		}
		if err := r.unpack(packed, inv); err != nil {
			return nil, err
		}
		r.remember(*inv)
		return inv, nil
	}
}

// remember keeps an inventory for the step that follows. What was read or written
// a moment ago is most likely still so; a write of it that is out of date is
// refused by the server.
func (r *Region) remember(inv Inventory) { r.known.Add(inv.Target, inv) }

// recall is the inventory as it was seen last, or as it is.
func (r *Region) recall(ctx context.Context, target string) (*Inventory, error) {
	if known, ok := r.known.Get(target); ok {
		inv := known.(Inventory) //nolint:forcetypeassert // nothing else is kept there
		return &inv, nil
	}
	return r.Inventory(ctx, target)
}

func (r *Region) content(ctx context.Context, head *corev1.ConfigMap) ([]byte, error) {
	if head.Data[keyParts] == "" {
		return head.BinaryData[keyInventory], nil
	}
	var packed []byte
	for name := range strings.SplitSeq(head.Data[keyParts], ",") {
		part, err := r.getConfigMap(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read part %s: %w", name, err)
		}
		packed = append(packed, part.BinaryData[keyInventory]...)
	}
	return packed, nil
}

func (r *Region) unpack(packed []byte, inv *Inventory) error {
	data, err := r.decoder.DecodeAll(packed, nil)
	if err != nil {
		return fmt.Errorf("decompress it: %w", err)
	}
	target := inv.Target
	if err := json.Unmarshal(data, inv); err != nil {
		return fmt.Errorf("decode it: %w", err)
	}
	if inv.Target != target {
		return fmt.Errorf("it belongs to target %q", inv.Target)
	}
	return nil
}

// checkUnmoved returns errMoved when the inventory is no longer the one that was
// read.
func (r *Region) checkUnmoved(ctx context.Context, inv *Inventory) error {
	head, err := r.getMetadata(ctx, inventories, systemNamespace, headName(inv.Target))
	switch {
	case apierrors.IsNotFound(err):
		return errMoved
	case err != nil:
		return err
	case head.ResourceVersion != inv.version:
		return errMoved
	}
	return nil
}

// writeInventory replaces the inventory if it still is the one that was read;
// errMoved when it is not. The parts of a large one are written first: its head
// always names a complete set.
func (r *Region) writeInventory(ctx context.Context, inv *Inventory) error {
	data, err := json.Marshal(inv)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	packed := r.encoder.EncodeAll(data, nil)
	head := inventoryObject(inv.Target, headName(inv.Target))
	head.ResourceVersion = inv.version
	if len(packed) <= r.settings.MaxPart {
		head.BinaryData = map[string][]byte{keyInventory: packed}
	} else {
		parts, err := r.writeParts(ctx, inv.Target, packed)
		if err != nil {
			return err
		}
		head.Data = map[string]string{keyParts: strings.Join(parts, ",")}
	}
	if inv.version, err = r.putConfigMap(ctx, head); err != nil {
		r.known.Remove(inv.Target)
		return err
	}
	r.remember(*inv)
	if head.Data[keyParts] == "" {
		return nil
	}
	return r.sweepParts(ctx, head)
}

func (r *Region) writeParts(ctx context.Context, target string, packed []byte) (names []string, err error) {
	for chunk := range slices.Chunk(packed, r.settings.MaxPart) {
		part := inventoryObject(target, partName(target, chunk))
		part.BinaryData = map[string][]byte{keyInventory: chunk}
		// One that exists has the same content: it is named by it.
		if _, err := r.putConfigMap(ctx, part); err != nil && !errors.Is(err, errMoved) {
			return nil, fmt.Errorf("write part %s: %w", part.Name, err)
		}
		names = append(names, part.Name)
	}
	return names, nil
}

// sweepParts deletes the parts that the head does not name: nobody can read them
// any more. One that another writer is about to name does not matter: its head
// will be refused.
func (r *Region) sweepParts(ctx context.Context, head *corev1.ConfigMap) error {
	list, err := r.listMetadata(ctx, inventories, systemNamespace, labelInventory+"="+head.Labels[labelInventory])
	if err != nil {
		return fmt.Errorf("list its parts: %w", err)
	}
	keep := append(strings.Split(head.Data[keyParts], ","), head.Name)
	for _, part := range list.Items {
		if slices.Contains(keep, part.Name) {
			continue
		}
		old := PlannedObject{Key: gitops.ObjectKey{Namespace: systemNamespace, Name: part.Name}, UID: string(part.UID)}
		if _, err := r.delete(ctx, inventories, old, metav1.DeletePropagationBackground); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete old part %s: %w", part.Name, err)
		}
	}
	return nil
}

func inventoryObject(target, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: systemNamespace,
			Labels: map[string]string{labelInventory: fingerprint([]byte(target))}, Annotations: map[string]string{annotationTarget: target},
		},
	}
}

// headName is an inventory's name: the target's, where it makes a good one.
func headName(target string) string { return "inventory." + nameFor(target) }

func partName(target string, content []byte) string {
	return "inventory-" + fingerprint(content) + "." + nameFor(target)
}

func nameFor(target string) string {
	const longest = 200
	for _, c := range []byte(target) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "x" + fingerprint([]byte(target))
		}
	}
	if target == "" || len(target) > longest || strings.HasPrefix(target, "-") || strings.HasSuffix(target, "-") || strings.HasPrefix(target, "x") {
		return "x" + fingerprint([]byte(target))
	}
	return target
}

func fingerprint(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}
