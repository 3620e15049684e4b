package activities

// RenderQueue is served by workers that have a sandbox and no credentials.
const RenderQueue = "tidegate-render"

// RegionQueue is served by the workers that hold a region's credentials. They
// give it few slots, so that one region cannot be flooded.
func RegionQueue(region string) string { return "tidegate-region-" + region }

// RegionWaitQueue is served by the same workers with thousands of slots: what
// waits there costs nothing but memory.
func RegionWaitQueue(region string) string { return RegionQueue(region) + "-wait" }
