// Who is limited, and why: the keys that use a zone most, and all that is known of one.
import { Component, html } from "./html.js";
import { keyOf, post, zonePath } from "./api.js";
import { Add, ending, overrideText } from "./entries.js";
import { Timeline } from "./timeline.js";
import { instant, integer, keyText, percent, rate, seconds, span, visible } from "./text.js";

// used says how much of its limit a key uses, or in what time it uses up the limit of a whole window.
export const used = (k) => k.utilisation > 1 ? `all in ${span(1000 * seconds(k.limit.split("/")[1]?.split(" ")[0]) / k.utilisation)}` : percent(k.utilisation, 1);

// Top lists the keys that use the chosen zone most.
function Top({ zone, top, live, inspect }) {
  if (!zone) return html`<p>Choose a zone to see the keys that use it most.</p>`;
  if (!top || top.zone !== zone) return html`<p role="status">Waiting for the keys.</p>`;
  const known = (k) => Object.keys(keyOf(k)).length > 0;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Keys that use the zone most"><table>
    <thead><tr><th>key</th><th>endpoint</th><th>limit</th><th class="n">wanted/s</th><th class="n">rejected/s</th><th class="n">of the limit</th></tr></thead>
    <tbody>${top.keys.map((k) => html`<tr><td>${known(k) ? html`<button class="link" onClick=${() => inspect(zone, keyOf(k))}>${keyText(k)}</button>` : keyText(k)}
        ${" "}${k.key_hash && html`<small>${k.key_hash}</small>`}</td>
      <td>${visible(k.endpoint ?? "")}</td><td>${k.limit}</td><td class="n">${live ? rate(k.demand_per_second) : "–"}</td>
      <td class="n">${live ? rate(k.rejected_per_second) : "–"}</td><td class="n">${live ? used(k) : "–"}</td></tr>`)}</tbody>
  </table></div>${top.keys.length === 0 && html`<p>No key has used it lately.</p>`}`;
}

const places = { configuration: "the configuration", rules: "the rules", override: "an override" };

// from says where a limit comes from. The last origin is in force.
export const from = (origins) => html`<ol class="origins">${origins.map((o, i) => html`<li class=${i === origins.length - 1 ? "in-force" : ""}>
  ${o.limit ?? `× ${o.multiplier}`} <small>${places[o.source] ?? o.source}, ${o.place}</small></li>`)}</ol>`;

export const decidedBy = (d) => d && `${d.action ?? d.name ?? ""} ${d.source === "placeholder" ? "by " + d.placeholder : "by " + (places[d.source] ?? d.source)}`;

function Count({ count: c, now }) {
  return html`<section class="count"><h3>${c.endpoint ? visible(c.endpoint) : "The zone"}${c.tier && html` <span class="tag">tier ${c.tier}</span>`}</h3>
    <div class="pair"><div><h4>Limit</h4><p><strong>${c.limit}</strong></p>${from(c.from)}</div>
    <div><h4>Count</h4>${c.error && html`<p class="error">${c.error}</p>`}
      ${c.count && html`<meter min="0" optimum="0" low=${0.8 * c.count.limit} high=${0.999 * c.count.limit} max=${c.count.limit} value=${c.count.limit - c.count.remaining} aria-label=${`${c.count.consumed} of ${c.count.limit} used`}></meter>
        <dl><dt>Left</dt><dd>${integer(c.count.remaining)} of ${integer(c.count.limit)}</dd>
        ${c.count.retry_at && html`<dt>Retry</dt><dd>${Date.parse(c.count.retry_at) > now ? instant(c.count.retry_at, now) : "now"}</dd>`}
        ${c.count.reset_at && html`<dt>Full again</dt><dd>${Date.parse(c.count.reset_at) > now ? instant(c.count.reset_at, now) : "now"}</dd>`}
        ${c.count.leased > 0 && html`<dt>Leased to nodes</dt><dd>${integer(c.count.leased)}, which expire ${instant(c.count.leased_until, now)}</dd>`}</dl>`}</div>
    ${c.node && html`<div><h4>This node</h4><dl><dt>Holds</dt><dd>${c.node.leases.length === 0 ? "no lease" : c.node.leases.map((l) => html`${integer(l.events)}, which expire ${instant(l.expires_at, now)}. `)}</dd>
        <dt>Wants</dt><dd>${rate(c.node.demand_per_second)} a second</dd>
        ${c.node.debt > 0 && html`<dt>Debt</dt><dd>${integer(c.node.debt)}</dd>`}
        ${Date.parse(c.node.denied_until) > now && html`<dt>Denies it</dt><dd>by itself, ends ${instant(c.node.denied_until, now)}</dd>`}</dl></div>`}
    </div></section>`;
}

// historyEach is how often what is known of a key is read before its history is: that reads versions of
// the rules, which seldom change, and then at once.
const historyEach = 3;

// Key is all that is known of a key.
class Key extends Component {
  state = { found: null, overrides: [], history: null, error: "" };

  loads = 0;

  componentDidMount() {
    this.load();
    this.timer = setInterval(() => this.props.live && !document.hidden && this.load(++this.loads % historyEach === 0), 5000);
  }

  componentDidUpdate(before) {
    if (before.version !== this.props.version) this.load();
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  async load(withHistory = true) {
    const { zone, name } = this.props;
    try {
      const found = await post(zonePath(zone, "inspect"), name);
      const { overrides } = name.key_stored ? { overrides: [] } : await post(zonePath(zone, "overrides"), name);
      // A hash or a stored key is one of this zone. Others may be rejected in another zone, too.
      const history = withHistory ? await post("history", name.key || name.key_base64 ? name : { ...name, zone }) : this.state.history;
      this.setState({ found, overrides, history, error: "" });
    } catch (e) {
      this.setState({ error: e.message });
    }
  }

  reset = () => {
    const { zone, name, ask } = this.props;
    ask({
      title: "Reset the counts of this key?", button: "Reset", done: "The counts are reset.", text: "The key gets its full limits again. This cannot be rolled back.",
      method: "POST", path: zonePath(zone, "reset"), body: { ...name, reason: "by the page" }, after: () => this.load(),
    });
  };

  render({ zone, name, zones, ask, changes, inspect, now }, { found, overrides, history, error }) {
    return html`<section aria-labelledby="key-title" class="key-detail"><div class="bar"><h2 id="key-title">${keyText(found ?? name)} <small>${found?.key_shortened && found.key_hash} in zone ${zone}</small></h2>
        ${changes && found && html`<button onClick=${this.reset}>Reset counts</button>`}</div>
      ${error && html`<p class="error" role="alert">${error}</p>`}
      ${found && html`
        ${found.access && html`<p class="notice">Access: ${decidedBy(found.access)}</p>`}
        ${found.tier && html`<p>Tier: ${decidedBy(found.tier)}</p>`}
        ${found.counts.map((c) => html`<${Count} count=${c} now=${now} />`)}
        ${overrides.length > 0 && html`<h3>Overrides</h3><ul class="plain">${overrides.map((o) => html`<li>${overrideText(o)}
          ${" "}${o.expires_at ? html`ends ${instant(o.expires_at, now)}` : "never ends"}, by ${visible(o.created_by ?? "")}. ${visible(o.reason ?? "")}
          ${changes && html` <button class="quiet" onClick=${() => ask(ending("overrides", o))}>End</button>`}</li>`)}</ul>`}
        ${changes && !name.key_stored && html`<h3>Give it another limit</h3><${Add} kind="overrides" zones=${zones} about=${{ zone, key: name }} ask=${ask} />`}
        ${history && html`<${Timeline} found=${history} zone=${zone} now=${now} open=${(z) => inspect(z, name)} />`}`}
    </section>`;
  }
}

export class Keys extends Component {
  state = { text: "", chosen: null };

  static getDerivedStateFromProps({ wanted }, state) {
    return wanted && wanted !== state.wanted ? { wanted, chosen: wanted } : null;
  }

  componentDidMount() {
    const { zone, choose, wanted } = this.props;
    if (wanted && wanted.zone !== zone) choose(wanted.zone);
    else this.componentDidUpdate();
  }

  // componentDidUpdate chooses a zone if nobody has: the first snapshot has none.
  componentDidUpdate() {
    const { zone, zones, choose } = this.props;
    if (!zone && zones.length > 0) choose(zones[0]);
  }

  look = (e) => {
    e.preventDefault();
    const [, hash] = this.state.text.trim().match(/^#([0-9a-f]{12})$/i) ?? [];
    this.setState({ chosen: { zone: this.props.zone, key: hash ? { key_hash: hash } : { key: this.state.text } } });
  };

  render(props, { text, chosen }) {
    const { zone, zones, choose } = props;
    return html`<form class="fields" onSubmit=${this.look}>
        <label>Zone <select required value=${zone} onChange=${(e) => choose(e.target.value)}>${zones.map((z) => html`<option selected=${z === zone}>${z}</option>`)}</select></label>
        <label class="wide">Key <input required value=${text} onInput=${(e) => this.setState({ text: e.target.value })} spellcheck="false" autocomplete="off" placeholder="the key, or # and its hash" /></label>
        <button class="primary">Inspect</button></form>
      ${chosen && html`<${Key} ...${props} key=${JSON.stringify(chosen)} zone=${chosen.zone} name=${chosen.key} />`}
      <section aria-labelledby="top-title"><h2 id="top-title">Top keys</h2><${Top} ...${props} /></section>`;
  }
}
