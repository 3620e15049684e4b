package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

// resolvePaths makes every path absolute. Relative ones are relative to the
// folder of the settings file, wherever the program was started.
func (s *Settings) resolvePaths(folder string) {
	paths := []*string{&s.Artifacts.KeyFile, &s.Catalog.Path, &s.Git.FileRoot, &s.Git.Mirrors, &s.Git.KnownHosts}
	for i := range s.Git.Credentials {
		paths = append(paths, &s.Git.Credentials[i].PasswordFile, &s.Git.Credentials[i].SSHKeyFile)
	}
	for i := range s.Git.Signatures {
		for j := range s.Git.Signatures[i].Files {
			paths = append(paths, &s.Git.Signatures[i].Files[j])
		}
	}
	for i := range s.Regions {
		paths = append(paths, &s.Regions[i].Kubeconfig)
	}
	for i := range s.Render.Plugins {
		paths = append(paths, &s.Render.Plugins[i].File, &s.Render.Plugins[i].Root)
	}
	if strings.ContainsRune(s.Render.Binary, filepath.Separator) {
		paths = append(paths, &s.Render.Binary)
	}
	if strings.ContainsRune(s.Render.Runsc, filepath.Separator) {
		paths = append(paths, &s.Render.Runsc)
	}
	for _, p := range paths {
		*p = absolute(folder, *p)
	}
	s.Artifacts.URL = absoluteURL(folder, s.Artifacts.URL)
}

func absolute(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// absoluteURL resolves the file://./folder form; other URLs stay.
func absoluteURL(folder, raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "file" || u.Host != "." {
		return raw
	}
	u.Host, u.Path = "", filepath.ToSlash(filepath.Join(folder, filepath.FromSlash(u.Path)))
	return u.String()
}
