package stack

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

//go:embed kubeconfig.yaml.tmpl
var kubeconfigText string

var kubeconfigTemplate = template.Must(template.New("kubeconfig").Parse(kubeconfigText))

// kubeconfig is what the template is filled with.
type kubeconfig struct {
	Authority string // the certificate, in base64
	Current   string // the context used when none is named
	Clusters  []cluster
	Users     []credential
	Contexts  []kubeContext
}

type cluster struct{ Name, URL string }

type credential struct{ Name, Token string }

type kubeContext struct{ Name, Cluster, User string }

// writeAccess writes everything by which the users get into the regions: certificates, tokens, kubeconfigs, the audit policy.
func (s *Stack) writeAccess() error {
	certs, err := makeCertificates(s.options.Dir)
	if err != nil {
		return err
	}
	certificate, err := os.ReadFile(certs.cert)
	if err != nil {
		return err
	}
	config := kubeconfig{Authority: base64.StdEncoding.EncodeToString(certificate)}
	var tokens strings.Builder
	for _, user := range s.users() {
		token := newSecret()
		config.Users = append(config.Users, credential{Name: user.Name, Token: token})
		// A line of the token file: token, name, UID, and the groups, quoted since commas part them too.
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, user.Name, user.Name, strings.Join(user.Groups, ","))
	}
	if err := writeFile(s.tokenFile(), []byte(tokens.String())); err != nil {
		return err
	}
	if err := writeFile(s.policyFile(), auditPolicy); err != nil {
		return err
	}
	all := config
	for _, r := range s.Regions {
		one := config
		one.Clusters = []cluster{{Name: r.Name, URL: r.URL}}
		one.Current = r.Name
		one.Contexts = []kubeContext{{Name: r.Name, Cluster: r.Name, User: UserAdmin}}
		for _, user := range s.users() {
			one.Contexts = append(one.Contexts, kubeContext{Name: user.Name, Cluster: r.Name, User: user.Name})
		}
		if err := one.write(r.Kubeconfig); err != nil {
			return err
		}
		all.Clusters = append(all.Clusters, one.Clusters...)
		all.Contexts = append(all.Contexts, one.Contexts[0])
	}
	if len(s.Regions) > 0 {
		all.Current = s.Regions[0].Name
	}
	return all.write(s.Kubeconfig)
}

func (k kubeconfig) write(path string) error {
	var text bytes.Buffer
	if err := kubeconfigTemplate.Execute(&text, k); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, text.Bytes())
}

// users are everybody who may call the API servers.
func (s *Stack) users() []User {
	return append([]User{
		{Name: UserTidegate, Groups: []string{groupMasters}},
		{Name: UserAdmin, Groups: []string{groupMasters}},
		{Name: userControllers, Groups: []string{groupMasters}},
	}, s.options.Users...)
}

func (s *Stack) tokenFile() string  { return filepath.Join(s.options.Dir, "pki", "tokens.csv") }
func (s *Stack) policyFile() string { return filepath.Join(s.options.Dir, "pki", "audit-policy.yaml") }
