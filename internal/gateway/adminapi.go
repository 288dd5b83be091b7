package gateway

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/operate/page"
	"github.com/fleetlimit/fleetlimit/internal/operate/replay"
	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An AdminAPI serves /rate_limit/ at Caddy's admin endpoint, whose checks of hosts and origins
// apply. It has no state of its own: Caddy makes a new one for each configuration, even for one
// that fails.
type AdminAPI struct{}

// CaddyModule returns the Caddy module information.
func (AdminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.rate_limit",
		New: func() caddy.Module { return AdminAPI{} },
	}
}

// Routes implements caddy.AdminRouter.
func (AdminAPI) Routes() []caddy.AdminRoute { return OperatorPage.Routes() }

// OperatorPage is the operator's page of this process. It outlives configurations.
var OperatorPage = page.New(process{})

// A process is this process for the admin API.
type process struct{}

// Running implements adminapi.Process.
func (process) Running() adminapi.Running {
	if running := newRunningApp(); running != nil {
		return running
	}
	return nil
}

// Starting implements adminapi.Process. Caddy has no context before its first configuration runs.
func (process) Starting() bool { return caddy.ActiveContext().Context == nil }

// Readiness implements adminapi.Process.
func (process) Readiness() api.Readiness { return readiness() }

// Tails implements adminapi.Process.
func (process) Tails() *tail.Decisions { return &reports.Tails }

// Emergency implements adminapi.Process.
func (process) Emergency() adminapi.EmergencySwitch { return emergencyMode }

// Interface guards.
var (
	_ caddy.AdminRouter = AdminAPI{}
	_ adminapi.Process  = process{}
	_ adminapi.Running  = (*runningApp)(nil)
	_ rules.Schema      = ruleSchema{}
)

// A runningApp is the app of the running configuration, with the rules in force, for the admin API.
type runningApp struct {
	app *App
	*zone.Snapshot
}

// newRunningApp returns the app of the running configuration, or nil if there is none.
func newRunningApp() *runningApp {
	app := newestApp()
	if app == nil || app.watcher == nil {
		return nil
	}
	return &runningApp{app, app.rulesInForce()}
}

// Schema implements adminapi.Running.
func (a *runningApp) Schema() rules.Schema { return ruleSchema{&a.app.set} }

// Watcher implements adminapi.Running.
func (a *runningApp) Watcher() *rules.Watcher { return a.app.watcher.Watcher }

// StoreName implements adminapi.Running.
func (a *runningApp) StoreName() string { return a.app.store.Name() }

// Mismatches implements adminapi.Running.
func (a *runningApp) Mismatches() (all []api.Mismatch) {
	for _, m := range a.app.store.Mismatches() {
		all = append(all, api.Mismatch{Zone: m.Zone, Node: m.Node, Settings: m.Settings, Nodes: m.Nodes})
	}
	return all
}

// UntrustedProxy implements adminapi.Running.
func (a *runningApp) UntrustedProxy() *api.UntrustedProxy {
	return a.app.requests.UntrustedProxy.Load()
}

// NodeCount implements adminapi.Running.
func (a *runningApp) NodeCount() int { return a.app.store.Nodes() }

// Nodes implements adminapi.Running.
func (a *runningApp) Nodes(ctx context.Context) (*api.Nodes, error) {
	store := a.app.store
	nodes, err := store.ListNodes(ctx)
	if err != nil {
		return nil, err
	}
	answer := &api.Nodes{Count: store.Nodes(), Self: store.Node(), Nodes: []api.Node{}}
	for _, n := range nodes {
		node := api.Node{Name: n.Name}
		if store.Leases() != nil {
			node.SeenAgo = n.Seen.String()
		}
		answer.Nodes = append(answer.Nodes, node)
	}
	return answer, nil
}

// Keys implements adminapi.Running.
func (a *runningApp) Keys(key rules.Key) ([][]byte, error) { return a.app.set.Keys(&key) }

// Inspect implements adminapi.Running.
func (a *runningApp) Inspect(ctx context.Context, zone string, r *api.InspectRequest) (*api.Inspection, error) {
	return a.Snapshot.Inspect(ctx, a.app.store, zone, r)
}

// Doubts implements adminapi.Running.
func (a *runningApp) Doubts(ctx context.Context, key rules.Key, counted bool) []string {
	return a.Snapshot.Doubts(ctx, a.app.store, key, counted)
}

// Top implements adminapi.Running.
func (a *runningApp) Top(ctx context.Context, zone string, q *api.TopQuery) (*api.Top, error) {
	view, fleet := usage.TopOf(zone), (*api.TopFleet)(nil)
	if q.Fleet {
		views := []topkeys.View{view}
		tops, nodes, err := a.app.store.Tops(ctx, zone)
		if err != nil {
			return nil, err
		}
		for _, top := range tops {
			if other, err := topkeys.Decode(top); err == nil { // else it is of another version
				views = append(views, other)
			}
		}
		view, fleet = topkeys.MergeViews(views), &api.TopFleet{Nodes: nodes, Answered: len(views)}
	}
	top := a.Snapshot.Top(zone, q, &view)
	top.Node, top.Fleet = a.app.store.Node(), fleet
	return top, nil
}

// Try implements adminapi.Running.
func (a *runningApp) Try(zone string, q *api.TryRequest) (*api.Trial, error) {
	used := usage.Find(zone)
	if used == nil {
		return nil, fmt.Errorf("zone %q limits nothing any more: use a zone of the running configuration", zone)
	}
	t, err := replay.Try(used, a.PlacedLimits(zone), time.Now(), q)
	if err == nil {
		t.Node, t.Nodes = a.app.store.Node(), a.app.store.Nodes()
	}
	return t, err
}

// KeyByHash implements adminapi.Running. It looks at all accounts last, of which there may be a
// million.
func (a *runningApp) KeyByHash(ctx context.Context, zone, hash string) *api.KnownKey {
	others := func(yield func([]byte) bool) {
		tops, _, _ := a.app.store.Tops(ctx, zone) // without an answer, this node knows what it knows
		for _, top := range tops {
			view, _ := topkeys.Decode(top) // that of another version has no keys
			for _, k := range append(view.Rejected.Keys, view.Taken.Keys...) {
				if !yield([]byte(k.Key)) {
					return
				}
			}
		}
	}
	used := cmp.Or(usage.Find(zone), new(usage.Zone)) // a reload may drop the zone
	return a.Snapshot.KeyByHash(ctx, zone, hash, used.Keys, others, a.app.store.KeysOf(zone))
}

// History implements adminapi.Running.
func (a *runningApp) History(ctx context.Context, zone string, r *api.HistoryRequest) (*api.History, error) {
	historian, err := a.Historian(zone, r)
	if err != nil {
		return nil, err
	}
	timeline, err := a.Watcher().Timeline(ctx, &historian.Subject, r.Versions)
	used := cmp.Or(usage.Find(zone), new(usage.Zone))
	view := used.Journal.View()
	answer := historian.Tell(&timeline, &view, a.app.store.Node())
	answer.Since = used.Began.UTC().Truncate(time.Millisecond)
	if err != nil {
		answer.RulesError = err.Error()
	}
	return answer, nil
}

// Operation implements adminapi.Running.
func (a *runningApp) Operation(action *rules.Action) (do func(context.Context) error, err error) {
	key := zone.KeyRef{Key: action.Key, Stored: action.Stored}
	counts, err := a.CountsOf(&key, action.Endpoint)
	if err != nil {
		return nil, err
	}
	action.Key = key.Key
	if action.Stored != "" {
		action.Text, action.Base64 = "", "" // they may name other keys, too
	}
	kind, events := action.Kind, action.Events
	return func(ctx context.Context) error {
		for _, c := range counts {
			if err := a.changeCount(ctx, c.Rule, c.Key, kind, events); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (a *runningApp) changeCount(ctx context.Context, r *limiter.Rule, key []byte, kind string, events int64) error {
	store, now := a.app.store, time.Now()
	if kind == rules.Reset {
		return store.Reset(ctx, now, r, key)
	}
	_, err := store.AddQuota(ctx, now, r, key, events)
	return err
}

// A ruleSchema is what rules can refer to in the configuration of an app.
type ruleSchema struct{ *zone.Set }

// EmergencyLimit implements rules.Schema.
func (ruleSchema) EmergencyLimit(text string) error {
	_, err := emergency.ParseLimit(text)
	return err
}
