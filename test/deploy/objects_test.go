package deploy

import (
	"strings"
	"testing"
)

type metadata struct{ Name string }

// An object has the members that every object of Kubernetes has.
type object struct {
	Kind     string
	Metadata metadata
}

type configMap struct {
	Metadata metadata
	Data     map[string]string
}

type secret struct {
	Metadata   metadata
	StringData map[string]string `yaml:"stringData"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

// A check is a probe of the kubelet.
type check struct {
	HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
	PeriodSeconds    int                         `yaml:"periodSeconds"`
	TimeoutSeconds   int                         `yaml:"timeoutSeconds"`
	FailureThreshold int                         `yaml:"failureThreshold"`
}

type mount struct {
	Name      string
	MountPath string `yaml:"mountPath"`
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
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	ReadinessProbe  check `yaml:"readinessProbe"`
	LivenessProbe   check `yaml:"livenessProbe"`
	SecurityContext struct {
		ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
	VolumeMounts []mount `yaml:"volumeMounts"`
}

type pod struct {
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
	} `yaml:"securityContext"`
	TopologySpreadConstraints []struct {
		TopologyKey   string   `yaml:"topologyKey"`
		LabelSelector selector `yaml:"labelSelector"`
	} `yaml:"topologySpreadConstraints"`
	Containers []container
	Volumes    []struct {
		Name      string
		ConfigMap metadata `yaml:"configMap"`
	}
}

type statefulSet struct {
	Metadata metadata
	Spec     struct {
		ServiceName string `yaml:"serviceName"`
		Selector    selector
		Template    struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		VolumeClaimTemplates []struct{ Metadata metadata } `yaml:"volumeClaimTemplates"`
	}
}

// settings returns the flags of a Redis as lines of its configuration file, with this password.
func (s *statefulSet) settings(password string) (lines []string) {
	for _, arg := range s.Spec.Template.Spec.Containers[0].Args[1:] {
		if name, isName := strings.CutPrefix(arg, "--"); isName {
			lines = append(lines, name)
		} else {
			lines[len(lines)-1] += " " + strings.ReplaceAll(arg, "$(REDIS_PASSWORD)", password)
		}
	}
	return lines
}

type service struct {
	Metadata metadata
	Spec     struct {
		Selector map[string]string
		Ports    []struct {
			TargetPort string `yaml:"targetPort"`
		}
	}
}

type networkPolicy struct {
	Metadata metadata
	Spec     struct {
		PodSelector selector `yaml:"podSelector"`
		Ingress     []struct {
			From  []peer
			Ports []struct{ Port string }
		}
	}
}

type peer struct {
	PodSelector       selector `yaml:"podSelector"`
	NamespaceSelector selector `yaml:"namespaceSelector"`
}

// kubernetes has the objects in the files of the folder.
type kubernetes struct {
	config       *configMap
	secret       *secret
	nodes, redis *statefulSet
	public       *service
	services     map[string]*service
	policies     map[string]*networkPolicy
}

func readKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	documents := func(file string) []string { return strings.Split(read(t, folder+"kubernetes/"+file), "\n---\n") }
	gateway, redis := documents("gateway.yaml"), documents("redis.yaml")
	k := &kubernetes{
		config: parse[configMap](t, documents("configmap.yaml")[0]), secret: parse[secret](t, documents("secret.yaml")[0]),
		nodes: parse[statefulSet](t, gateway[0]), redis: parse[statefulSet](t, redis[0]), public: parse[service](t, gateway[1]),
		services: make(map[string]*service), policies: make(map[string]*networkPolicy),
	}
	for _, document := range []string{gateway[1], gateway[2], redis[1]} {
		s := parse[service](t, document)
		k.services[s.Metadata.Name] = s
	}
	for _, document := range documents("network.yaml") {
		p := parse[networkPolicy](t, document)
		k.policies[p.Metadata.Name] = p
	}
	return k
}
