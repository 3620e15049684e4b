package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// regionName is a name that task queues, metrics and URLs can hold as it is.
var regionName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)

// check refuses settings that cannot work, all mistakes at once.
func (s Settings) check(doc document) error {
	var mistakes []error
	refuse := func(err error, path ...any) {
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", doc.at(path...), err))
		}
	}
	refuse(address("temporal.address", s.Temporal.Address), "temporal", "address")
	refuse(required("temporal.namespace", s.Temporal.Namespace), "temporal", "namespace")
	refuse(artifactURL(s.Artifacts.URL), "artifacts", "url")
	refuse(required("catalog.path", s.Catalog.Path), "catalog", "path")
	refuse(address("webhook.listen", s.Webhook.Listen), "webhook", "listen")
	refuse(loopback("api.listen", s.API.Listen), "api", "listen")
	refuse(address("metrics.listen", s.Metrics.Listen), "metrics", "listen")
	refuse(address("worker.metrics", s.Worker.Metrics), "worker", "metrics")
	refuse(required("git.mirrors", s.Git.Mirrors), "git", "mirrors")
	refuse(positive("git.pollInterval", s.Git.PollInterval), "git", "pollInterval")
	refuse(positive("git.chartPollInterval", s.Git.ChartPollInterval), "git", "chartPollInterval")
	for i, c := range s.Git.Credentials {
		refuse(c.check(), "git", "credentials", i)
	}
	for i, signature := range s.Git.Signatures {
		err := remoteSource("git.signatures", signature.URL)
		if len(signature.Files) == 0 {
			err = fmt.Errorf("git.signatures: the entry for %s names no files with keys", signature.URL)
		}
		refuse(err, "git", "signatures", i)
	}
	for i, entry := range s.Git.RemoteSources {
		refuse(remoteSource("git.remoteSources", entry), "git", "remoteSources", i)
	}
	refuse(required("render.binary", s.Render.Binary), "render", "binary")
	refuse(positive("render.timeout", s.Render.Timeout), "render", "timeout")
	refuse(sandboxName(s.Render.Sandbox), "render", "sandbox")
	refuse(slots(s.Render.Slots), "render", "slots")
	for i, p := range s.Render.Plugins {
		if p.File == "" {
			refuse(errors.New("a plugin has no file; name its ConfigManagementPlugin"), "render", "plugins", i)
		}
	}
	for i, r := range s.Regions {
		refuse(r.check(), "regions", i)
	}
	s.checkNames(func(i int, err error) { refuse(err, "regions", i) })
	return errors.Join(mistakes...)
}

// checkNames refuses a name or alias that could mean two regions.
func (s Settings) checkNames(refuse func(i int, err error)) {
	owner := map[string]int{}
	for i, r := range s.Regions {
		for _, name := range append([]string{r.Name}, r.Aliases...) {
			first, taken := owner[name]
			switch {
			case name == "":
			case !taken:
				owner[name] = i
			case first == i:
				refuse(i, fmt.Errorf("region %s is called %s twice; remove one", r.Name, name))
			default:
				refuse(i, fmt.Errorf("regions[%d] %s and regions[%d] %s are both called %s; a name or alias belongs to one region", first, s.Regions[first].Name, i, r.Name, name))
			}
		}
	}
}

func (r Region) check() error {
	switch {
	case r.Name == "":
		return errors.New("a region has no name; give it one")
	case !regionName.MatchString(r.Name):
		return fmt.Errorf("region name %q must have lower-case letters, digits, - and . only, at most 63", r.Name)
	case r.InCluster && r.Kubeconfig != "":
		return fmt.Errorf("region %s has both kubeconfig and inCluster; choose one", r.Name)
	case !r.InCluster && r.Kubeconfig == "":
		return fmt.Errorf("region %s has neither kubeconfig nor inCluster: true", r.Name)
	case r.InCluster && r.Context != "":
		return fmt.Errorf("region %s is inCluster, so it has no context to choose", r.Name)
	case r.QPS <= 0 || r.InFlight <= 0:
		return fmt.Errorf("region %s: qps and inFlight must be more than 0", r.Name)
	}
	for _, alias := range r.Aliases {
		if alias == "" {
			return fmt.Errorf("region %s has an empty alias; remove it", r.Name)
		}
	}
	return nil
}

func (c Credential) check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme == "" || u.Host == "":
		return errors.New("a credential's url must be like https://host/path")
	case u.User != nil && u.Scheme != "ssh":
		return errors.New("a credential's url must not hold a user; write it as username and passwordFile")
	case u.Scheme == "ssh" && c.SSHKeyFile == "":
		return fmt.Errorf("the credential for %s has no sshKeyFile", c.URL)
	case u.Scheme != "ssh" && c.SSHKeyFile != "":
		return fmt.Errorf("the credential for %s has an sshKeyFile, which only ssh:// URLs use", c.URL)
	case c.PasswordFile == "" && c.SSHKeyFile == "":
		return fmt.Errorf("the credential for %s has no passwordFile", c.URL)
	}
	return nil
}

// remoteSource refuses what no URL begins with.
func remoteSource(setting, entry string) error {
	u, err := url.Parse(entry)
	if entry == "*" || err == nil && u.Scheme != "" && (u.Host != "" || u.Scheme == "file") && u.User == nil {
		return nil
	}
	return fmt.Errorf("%s: %q must be like https://host/path, without a user, or * for everything", setting, entry)
}

func sandboxName(name string) error {
	if name != SandboxNative && name != SandboxGVisor && name != SandboxNone {
		return fmt.Errorf("render.sandbox is %q; it must be %s, %s, or %s to run without one", name, SandboxNative, SandboxGVisor, SandboxNone)
	}
	return nil
}

// maxSlots is what a sandbox can keep.
const maxSlots = 500

func slots(n int) error {
	if n < 1 || n > maxSlots {
		return fmt.Errorf("render.slots must be from 1 to %d", maxSlots)
	}
	return nil
}

func required(name, value string) error {
	if value == "" {
		return fmt.Errorf("%s is empty", name)
	}
	return nil
}

func positive(name string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s must be more than 0", name)
	}
	return nil
}

func artifactURL(raw string) error {
	if u, err := url.Parse(raw); err != nil || u.Scheme == "" {
		return errors.New("artifacts.url must be a URL like file:///folder or s3://bucket")
	}
	return nil
}

func address(name, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Errorf("%s must be host:port, not %q", name, value)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s has port %q; it must be a number up to 65535", name, port)
	} else if n == 0 && name == "temporal.address" {
		return fmt.Errorf("%s has port 0; name the port that Temporal listens on", name)
	}
	return nil
}

// loopback refuses an address that another machine could reach.
func loopback(name, value string) error {
	if err := address(name, value); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(value)
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is %s, but the API takes no tokens yet, so that anybody who reaches it may approve; listen on 127.0.0.1", name, value)
}
