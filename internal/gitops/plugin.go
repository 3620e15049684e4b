package gitops

// Plugin holds the options of spec.source.plugin.
type Plugin struct {
	// Name is that of a ConfigManagementPlugin, with -version where it has one; the
	// plugin that the folder is for when it is empty.
	Name       string            `json:"name,omitempty"`
	Env        []EnvVar          `json:"env,omitempty"`
	Parameters []PluginParameter `json:"parameters,omitempty"`
}

// EnvVar is one variable of an environment.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// PluginParameter has one of a string, a list and a map.
type PluginParameter struct {
	Name   string            `json:"name"`
	String *string           `json:"string,omitempty"`
	Array  []string          `json:"array,omitempty"`
	Map    map[string]string `json:"map,omitempty"`
}
