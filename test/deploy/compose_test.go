package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A composition has the members of compose.yaml that are checked.
type composition struct {
	Services map[string]struct {
		Image, Hostname string
		Build           struct{ Context, Dockerfile string }
		Ports, Command  []string
		Volumes         []string
		Environment     map[string]string
		StopGracePeriod string `yaml:"stop_grace_period"`
		Healthcheck     struct{ Test []string }
	}
	Volumes map[string]any
}

func TestCompose(t *testing.T) {
	c := parse[composition](t, read(t, folder+"compose.yaml"))
	var gateways []string
	for name, s := range c.Services {
		if s.Build.Dockerfile != "" {
			gateways = append(gateways, name+":"+metricsPort)
			if want := append([]string{"CMD"}, imageCheck(t)...); !slices.Equal(s.Healthcheck.Test, want) {
				t.Errorf("the health check of %s is %q, want that of the image, %q", name, s.Healthcheck.Test, want)
			}
			if _, err := os.Stat(filepath.Join(folder, s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			redis, _, _ := strings.Cut(s.Environment["REDIS_ADDRESS"], ":")
			if _, found := c.Services[redis]; !found {
				t.Errorf("%s counts in %q, which is no service", name, redis)
			}
		} else if !pinned.MatchString(s.Image) {
			t.Errorf("the image %s of %s is not pinned to a version", s.Image, name)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s: use an address of this machine alone", name, port)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, ".") {
				if _, err := os.Stat(folder + source); err != nil {
					t.Errorf("%s mounts %v", name, err)
				}
			} else if _, found := c.Volumes[source]; !found {
				t.Errorf("%s mounts %s, which is no volume", name, source)
			}
		}
	}
	slices.Sort(gateways)
	if len(gateways) != 3 {
		t.Errorf("gateways = %v, want three", gateways)
	}
	p := parse[struct {
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}](t, read(t, folder+"prometheus/prometheus.yml"))
	if targets := p.ScrapeConfigs[0].StaticConfigs[0].Targets; !slices.Equal(targets, gateways) {
		t.Errorf("Prometheus scrapes %v, want %v", targets, gateways)
	}
	out, err := exec.Command("promtool", "check", "config", folder+"prometheus/prometheus.yml").CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func TestProvisioningOfGrafana(t *testing.T) {
	c := parse[composition](t, read(t, folder+"compose.yaml"))
	sources := parse[struct {
		Datasources []struct{ Type, URL string }
	}](t, read(t, folder+"grafana/provisioning/datasources/prometheus.yaml"))
	if s := sources.Datasources; len(s) != 1 || s[0].Type != "prometheus" || s[0].URL != "http://prometheus:9090" {
		t.Errorf("data sources = %v, want Prometheus", s)
	}
	dashboards := parse[struct {
		Providers []struct {
			Options struct{ Path string }
		}
	}](t, read(t, folder+"grafana/provisioning/dashboards/fleetlimit.yaml"))
	grafana := c.Services["grafana"]
	mounted := "./grafana/fleetlimit.json:" + dashboards.Providers[0].Options.Path + "/fleetlimit.json:ro"
	if !slices.Contains(grafana.Volumes, mounted) {
		t.Errorf("Grafana mounts %v, want %s", grafana.Volumes, mounted)
	}
	home := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if home != dashboards.Providers[0].Options.Path+"/fleetlimit.json" {
		t.Errorf("the home of Grafana is %s, want the dashboard", home)
	}
}
