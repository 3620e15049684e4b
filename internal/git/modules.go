package git

import (
	"path"

	"github.com/go-git/go-git/v5/config"
)

// ModulesFile is where a repository says what its submodules are (gitmodules(5)).
const ModulesFile = ".gitmodules"

// ReadModules finds the URLs of submodules by their paths in a ModulesFile.
func ReadModules(text []byte) (map[string]string, error) {
	modules := config.NewModules()
	if err := modules.Unmarshal(text); err != nil {
		return nil, err
	}
	urls := map[string]string{}
	for _, m := range modules.Submodules {
		urls[path.Clean(m.Path)] = m.URL
	}
	return urls, nil
}
