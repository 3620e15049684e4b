package charts

// What fuzz targets reach for.
var (
	Repack     = repack
	ParseIndex = parseIndex
)
