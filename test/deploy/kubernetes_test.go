package deploy

import (
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestKubernetes compares the probes, the ports and the times of the nodes with their Caddyfile, and
// the names in the files with each other.
func TestKubernetes(t *testing.T) {
	k := readKubernetes(t)
	caddyfile := k.config.Data["Caddyfile"]
	pod := k.nodes.Spec.Template
	c := pod.Spec.Containers[0]
	named := make(map[string]string)
	for i, p := range c.Ports {
		if port := strconv.Itoa(p.ContainerPort); i < 2 && port == ports(caddyfile)[i] {
			named[p.Name] = port
		}
	}
	if len(named) != 2 || named["metrics"] != metricsPort {
		t.Errorf("ports = %v, want those at which the Caddyfile listens, %v", c.Ports, ports(caddyfile))
	}
	probes := make(map[string]string)
	for _, p := range probe.FindAllStringSubmatch(caddyfile, -1) {
		probes[p[2]] = p[1]
	}
	for what, of := range map[string]check{"serving": c.ReadinessProbe, "live": c.LivenessProbe} {
		if of.HTTPGet.Path != probes[what] || named[of.HTTPGet.Port] == "" {
			t.Errorf("the probe of %s asks for %+v, want %s", what, of.HTTPGet, probes[what])
		}
	}
	times := make(map[string]int)
	for _, s := range setting.FindAllStringSubmatch(caddyfile, -1) {
		times[s[1]], _ = strconv.Atoi(s[2])
	}
	ready := c.ReadinessProbe
	if noticed := ready.PeriodSeconds*ready.FailureThreshold + ready.TimeoutSeconds; times["shutdown_delay"] <= noticed {
		t.Errorf("shutdown_delay is %d s, want more than %d s, after which the probe has failed", times["shutdown_delay"], noticed)
	}
	if sum := times["shutdown_delay"] + times["grace_period"]; times["grace_period"] == 0 || pod.Spec.TerminationGracePeriodSeconds <= sum {
		t.Errorf("terminationGracePeriodSeconds is %d, want more than %d", pod.Spec.TerminationGracePeriodSeconds, sum)
	}
	if v := pod.Spec.Volumes[0]; v.ConfigMap.Name != k.config.Metadata.Name || c.VolumeMounts[0].Name != v.Name ||
		c.VolumeMounts[0].MountPath+"/Caddyfile" != c.Args[len(c.Args)-1] {
		t.Errorf("Caddy runs %v, and %+v is mounted as %+v", c.Args, v, c.VolumeMounts[0])
	}
	for _, set := range []*statefulSet{k.nodes, k.redis} {
		checkSet(t, k, set)
	}
	if p := k.public.Spec.Ports; len(p) != 1 || p[0].TargetPort != "http" {
		t.Errorf("the Service has the ports %v, want that of the site alone", p)
	}
	if !strings.Contains(caddyfile, "{env."+c.Env[0].Name+"}") {
		t.Errorf("the password is %s, which the Caddyfile does not read", c.Env[0].Name)
	}
}

// checkSet checks what the sets of the nodes and of Redis have in common.
func checkSet(t *testing.T, k *kubernetes, set *statefulSet) {
	t.Helper()
	name, pod, labels := set.Metadata.Name, set.Spec.Template, set.Spec.Template.Metadata.Labels
	c := pod.Spec.Containers[0]
	if ref := c.Env[0].ValueFrom.SecretKeyRef; ref.Name != k.secret.Metadata.Name || k.secret.StringData[ref.Key] == "" {
		t.Errorf("%s has its password from %+v, want the Secret", name, ref)
	}
	if s := pod.Spec.SecurityContext; !s.RunAsNonRoot || s.RunAsUser == 0 || !c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("%s may be root, or write to its image", name)
	}
	claims := set.Spec.VolumeClaimTemplates
	if !slices.ContainsFunc(c.VolumeMounts, func(m mount) bool { return m.MountPath == "/data" && m.Name == claims[0].Metadata.Name }) {
		t.Errorf("%s mounts %v, want a claim at /data, which a new pod finds again", name, c.VolumeMounts)
	}
	if !maps.Equal(set.Spec.Selector.MatchLabels, labels) {
		t.Errorf("%s selects %v, want the labels of its pods, %v", name, set.Spec.Selector.MatchLabels, labels)
	}
	if s := k.services[set.Spec.ServiceName]; s == nil || !maps.Equal(s.Spec.Selector, labels) {
		t.Errorf("%s names its pods by the Service %s, want one that selects them", name, set.Spec.ServiceName)
	}
}

// TestNodesAreSpread looks for constraints that spread the nodes over both kinds of places that fail as a
// whole, zones and hosts.
func TestNodesAreSpread(t *testing.T) {
	pod := readKubernetes(t).nodes.Spec.Template
	over := make(map[string]bool)
	for _, c := range pod.Spec.TopologySpreadConstraints {
		over[c.TopologyKey] = maps.Equal(c.LabelSelector.MatchLabels, pod.Metadata.Labels)
	}
	if !over["topology.kubernetes.io/zone"] || !over["kubernetes.io/hostname"] {
		t.Errorf("pods are spread over %v, want zones and machines", over)
	}
}

// TestNetworkPolicies compares the network policies, which say who may connect, with the pods and their
// ports.
func TestNetworkPolicies(t *testing.T) {
	k := readKubernetes(t)
	allowed := make(map[string]string) // peers by pod and port
	for _, set := range []*statefulSet{k.nodes, k.redis} {
		name := set.Metadata.Name
		p := k.policies[name]
		if p == nil || !maps.Equal(p.Spec.PodSelector.MatchLabels, set.Spec.Template.Metadata.Labels) {
			t.Fatalf("no NetworkPolicy selects the pods of %s", name)
		}
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				for _, known := range set.Spec.Template.Spec.Containers[0].Ports {
					if known.Name == port.Port {
						allowed[name+" "+port.Port] = fmt.Sprint(rule.From)
					}
				}
			}
		}
	}
	want := map[string]string{
		"fleetlimit http":    "[]", // everybody
		"fleetlimit metrics": "[{{map[]} {map[kubernetes.io/metadata.name:monitoring]}}]",
		"redis redis":        "[{{map[app:fleetlimit]} {map[]}}]",
	}
	if !maps.Equal(allowed, want) {
		t.Errorf("these may connect: %v, want %v", allowed, want)
	}
}

// TestScrapeJob compares the name that Prometheus looks up with the Service of the nodes.
func TestScrapeJob(t *testing.T) {
	path := folder + "prometheus/kubernetes.yml"
	p := parse[struct {
		ScrapeConfigs []struct {
			DNS []struct{ Names []string } `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}](t, read(t, path))
	nodes := readKubernetes(t).nodes.Spec.ServiceName
	if names := p.ScrapeConfigs[0].DNS[0].Names; !slices.Equal(names, []string{"_metrics._tcp." + nodes + ".default.svc.cluster.local"}) {
		t.Errorf("Prometheus looks up %v, want the nodes of the Service %s", names, nodes)
	}
	if out, err := exec.Command("promtool", "check", "config", path).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestRedisOfKubernetes compares the Redis of Kubernetes with the Redis of compose.yaml.
func TestRedisOfKubernetes(t *testing.T) {
	got := readKubernetes(t).redis.Spec.Template.Spec.Containers[0]
	want := parse[composition](t, read(t, folder+"compose.yaml")).Services["redis"]
	if want.Command = append(want.Command, "--requirepass", "$(REDIS_PASSWORD)"); got.Image != want.Image || !slices.Equal(got.Args, want.Command) {
		t.Errorf("Redis is %s %q, want %s %q", got.Image, got.Args, want.Image, want.Command)
	}
}

// TestConfigMap runs the Caddyfile of the ConfigMap, with a Redis that has the settings of redis.yaml. A
// client that makes up keys is limited by its address, which the load balancer forwards.
func TestConfigMap(t *testing.T) {
	k := readKubernetes(t)
	g := serve(t, k.config.Data["Caddyfile"], k.redis.settings("secret")...)
	checkGateway(t, g, k.config.Data["Caddyfile"])
	for i, want := range []string{`"address";r=49`, `"address";r=48`} {
		r, err := http.NewRequest("GET", "http://"+g.site, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", fmt.Sprint("made up ", i))
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		redistest.Eventually(t, "an answer", func() bool {
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			if got := resp.Header.Get("RateLimit"); !strings.Contains(got, want) {
				t.Errorf("RateLimit of request %d = %s, want %s", i, got, want)
			}
			return true
		})
	}
}

// TestEveryObjectIsChecked fails if a file of the folder has an object that the tests do not read.
func TestEveryObjectIsChecked(t *testing.T) {
	files, err := filepath.Glob(folder + "kubernetes/*")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, file := range files {
		for document := range strings.SplitSeq(read(t, file), "\n---\n") {
			o := parse[object](t, document)
			kinds = append(kinds, o.Kind+" "+o.Metadata.Name)
		}
	}
	slices.Sort(kinds)
	if want := []string{
		"ConfigMap fleetlimit", "NetworkPolicy fleetlimit", "NetworkPolicy redis", "PodDisruptionBudget fleetlimit", "Secret fleetlimit",
		"Service fleetlimit", "Service fleetlimit-nodes", "Service redis", "StatefulSet fleetlimit", "StatefulSet redis",
	}; !slices.Equal(kinds, want) {
		t.Errorf("objects = %q, want %q", kinds, want)
	}
}
