package deploy

import (
	"maps"
	"strconv"
	"strings"
	"testing"
)

type metadata struct{ Name string }

type configMap struct {
	Metadata metadata
	Data     map[string]string
}

type secret struct {
	Metadata   metadata
	StringData map[string]string `yaml:"stringData"`
}

type reference struct{ Name, Key string }

// A check is a probe of the kubelet.
type check struct {
	HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
	PeriodSeconds    int                         `yaml:"periodSeconds"`
	TimeoutSeconds   int                         `yaml:"timeoutSeconds"`
	FailureThreshold int                         `yaml:"failureThreshold"`
}

type container struct {
	Image string
	Args  []string
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	Env []struct {
		Name      string
		ValueFrom struct {
			SecretKeyRef reference `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	ReadinessProbe  check `yaml:"readinessProbe"`
	LivenessProbe   check `yaml:"livenessProbe"`
	SecurityContext struct {
		ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type deployment struct {
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				SecurityContext               struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
					RunAsUser    int  `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []container
				Volumes    []struct {
					Name      string
					ConfigMap metadata `yaml:"configMap"`
				}
			}
		}
	}
}

type service struct {
	Spec struct {
		Selector map[string]string
		Ports    []struct {
			TargetPort string `yaml:"targetPort"`
		}
	}
}

// kubernetes are the files of the folder.
type kubernetes struct {
	config *configMap
	secret *secret
	nodes  *deployment
	public *service
}

func readKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	gateway := strings.Split(read(t, folder+"kubernetes/gateway.yaml"), "\n---\n")
	return &kubernetes{
		parse[configMap](t, read(t, folder+"kubernetes/configmap.yaml")), parse[secret](t, read(t, folder+"kubernetes/secret.yaml")),
		parse[deployment](t, gateway[0]), parse[service](t, gateway[1]),
	}
}

// TestKubernetes compares the probes, the ports and the times of the Deployment with its Caddyfile,
// and the names in the files with each other.
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
	if len(named) != 2 || named["metrics"] != metricsPort || pod.Metadata.Annotations["prometheus.io/port"] != metricsPort {
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

	ref := c.Env[0].ValueFrom.SecretKeyRef
	if ref.Name != k.secret.Metadata.Name || k.secret.StringData[ref.Key] == "" || !strings.Contains(caddyfile, "{env."+c.Env[0].Name+"}") {
		t.Errorf("the password comes from %+v as %s, want the Secret, and that the Caddyfile reads it", ref, c.Env[0].Name)
	}
	if v := pod.Spec.Volumes[0]; v.ConfigMap.Name != k.config.Metadata.Name || c.VolumeMounts[0].Name != v.Name ||
		c.VolumeMounts[0].MountPath+"/Caddyfile" != c.Args[len(c.Args)-1] {
		t.Errorf("Caddy runs %v, and %+v is mounted as %+v", c.Args, v, c.VolumeMounts[0])
	}
	if s := pod.Spec.SecurityContext; !s.RunAsNonRoot || s.RunAsUser == 0 || !c.SecurityContext.ReadOnlyRootFilesystem {
		t.Error("Caddy may be root, or write to its image")
	}
	if !maps.Equal(k.nodes.Spec.Selector.MatchLabels, pod.Metadata.Labels) || !maps.Equal(k.public.Spec.Selector, pod.Metadata.Labels) {
		t.Error("the selectors do not match the labels of the pods")
	}
	if p := k.public.Spec.Ports; len(p) != 1 || p[0].TargetPort != "http" {
		t.Errorf("the Service has the ports %v, want that of the site alone", p)
	}
}

// TestConfigMap runs the Caddyfile of the ConfigMap.
func TestConfigMap(t *testing.T) {
	caddyfile := readKubernetes(t).config.Data["Caddyfile"]
	checkGateway(t, serve(t, caddyfile, "requirepass secret"), caddyfile)
}
