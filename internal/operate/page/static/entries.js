// What the rules say about single keys and addresses: overrides, tiers and access.
import { Component, html } from "./html.js";
import { get, keyOf } from "./api.js";
import { instant, integer, keyText, visible } from "./text.js";

const page = 50;

// overrideText says what an override changes.
export const overrideText = (o) => [
  o.limit, o.multiplier && `× ${o.multiplier}`, o.concurrent && `${o.concurrent} at once`,
].filter(Boolean).join(", ");

const kinds = {
  overrides: { label: "Overrides", one: "override", what: overrideText },
  tiers: { label: "Tiers", one: "tier", what: (e) => e.tier },
  access: { label: "Access", one: "entry", what: (e) => e.action },
};

// ending returns the change that ends an entry.
export const ending = (kind, e) => ({
  title: html`End the ${kinds[kind].one} ${visible(kinds[kind].what(e))} of ${keyText(e)}${e.zone ? ` in zone ${e.zone}` : ""}?`, button: "End it", dryRun: true, done: "It is ended.",
  method: "DELETE", path: `${kind}/${encodeURIComponent(e.id)}`,
});

export class Entries extends Component {
  state = { kind: "overrides", zone: "", sort: "", pages: [""], entries: [], next: "", error: "" };

  componentDidMount() {
    this.load({});
  }

  componentDidUpdate(before) {
    if (before.version !== this.props.version) this.load({});
  }

  // load reads the page at the end of pages, each of which is the ID of the entry before it.
  async load(change) {
    const state = { ...this.state, ...change }, after = state.pages.at(-1);
    const query = new URLSearchParams({ limit: page, ...(state.zone && { zone: state.zone }), ...(state.sort && { sort: state.sort }), ...(after && { after }) });
    try {
      const answer = await get(`${state.kind}?${query}`);
      this.setState({ ...change, entries: answer[state.kind], next: answer.next ?? "", error: "" });
    } catch (e) {
      this.setState({ ...change, error: e.message, ...(after && { pages: [""] }) });
    }
  }

  render(props, { kind, zone, sort, pages, entries, next, error }) {
    const { snapshot, zones, changes, ask, inspect, now } = props, counts = snapshot.status?.rules ?? {};
    return html`<div class="tabs" role="group" aria-label="What to list">${Object.entries(kinds).map(([name, k]) =>
        html`<button aria-pressed=${String(name === kind)} onClick=${() => this.load({ kind: name, pages: [""] })}>${k.label} <b>${integer(counts[name] ?? 0)}</b></button>`)}</div>
      ${changes && html`<${Add} key=${kind} kind=${kind} zones=${zones} ask=${ask} />`}
      <section aria-labelledby="entries-title"><div class="bar"><h2 id="entries-title">${kinds[kind].label} in force</h2>
        <label class="filter">Zone <select value=${zone} onChange=${(e) => this.load({ zone: e.target.value, pages: [""] })}><option value="">all</option>${zones.map((z) => html`<option>${z}</option>`)}</select></label>
        <label class="filter">Order <select value=${sort} onChange=${(e) => this.load({ sort: e.target.value, pages: [""] })}>
          <option value="">as written</option><option value="newest">newest first</option><option value="ending">ending first</option></select></label></div>
      ${error && html`<p class="error" role="alert">${error}</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label=${kinds[kind].label}><table>
        <thead><tr><th>zone</th><th>key</th><th>${kinds[kind].one}</th><th>ends</th><th>made</th><th>why</th><th><span class="hidden">actions</span></th></tr></thead>
        <tbody>${entries.map((e) => html`<tr key=${e.id}><td>${e.zone ?? "all"}</td>
          <td>${e.zone ? html`<button class="link" onClick=${() => inspect(e.zone, keyOf(e))}>${keyText(e)}</button>` : keyText(e)}${e.endpoint && html` <small>${visible(e.endpoint)}</small>`}</td>
          <td>${visible(kinds[kind].what(e))}</td><td>${e.expires_at ? instant(e.expires_at, now) : "never"}</td>
          <td>${instant(e.created_at, now)}${e.created_by && html` by ${visible(e.created_by)}`}</td><td class="text">${visible(e.reason ?? "")}</td>
          <td class="actions">${changes && html`<button class="quiet" onClick=${() => ask(ending(kind, e))}>End</button>`}</td></tr>`)}</tbody>
      </table></div>
      ${entries.length === 0 && !error && html`<p>There are none.</p>`}
      ${(pages.length > 1 || next) && html`<p class="buttons"><button disabled=${pages.length === 1} onClick=${() => this.load({ pages: pages.slice(0, -1) })}>Before</button>
        <span>page ${pages.length}</span><button disabled=${!next} onClick=${() => this.load({ pages: [...pages, next] })}>After</button></p>`}
      </section>`;
  }
}

// Add is the form for a new entry. about has the zone and the key, if they are known.
export class Add extends Component {
  state = { zone: "", key: "", limit: "", tier: "", action: "deny", expires: "1h", reason: "" };

  add = (e) => {
    e.preventDefault();
    const { kind, about, ask } = this.props, s = this.state;
    const zone = about?.zone ?? s.zone ?? "";
    const name = about?.key ?? (kind === "access" && !zone ? { address: s.key } : { key: s.key });
    const body = { ...(zone && { zone }), ...name, reason: s.reason };
    if (s.expires) body.expires_in = s.expires;
    if (kind === "overrides" && /^[x×]\s*[\d.]+$/.test(s.limit)) body.multiplier = Number(s.limit.slice(1));
    else if (kind === "overrides") body.limit = s.limit;
    if (kind === "tiers") body.tier = s.tier;
    if (kind === "access") body.action = s.action;
    ask({
      title: `Add this ${kinds[kind].one}?`, button: `Add ${kinds[kind].one}`, dryRun: true, done: "It is in force.",
      method: "POST", path: kind, body,
    });
  };

  render({ kind, zones, about }, s) {
    const set = (name) => (e) => this.setState({ [name]: e.target.value });
    return html`<form class="fields" onSubmit=${this.add} aria-label=${`Add ${kinds[kind].one}`}>
      ${!about && html`<label>Zone <select required=${kind !== "access"} value=${s.zone} onChange=${set("zone")}>
        <option value="">${kind === "access" ? "all, by address" : ""}</option>${zones.map((z) => html`<option>${z}</option>`)}</select></label>
      <label>${kind === "access" && !s.zone ? "Address" : "Key"} <input required value=${s.key} onInput=${set("key")} spellcheck="false" autocomplete="off" /></label>`}
      ${kind === "overrides" && html`<label>Limit <input required value=${s.limit} onInput=${set("limit")} placeholder="5000/1m or x2" /></label>`}
      ${kind === "tiers" && html`<label>Tier <input required value=${s.tier} onInput=${set("tier")} /></label>`}
      ${kind === "access" && html`<label>Action <select value=${s.action} onChange=${set("action")}><option>deny</option><option>allow</option></select></label>`}
      <label>Ends in <input value=${s.expires} onInput=${set("expires")} placeholder="never" /></label>
      <label>Why <input value=${s.reason} onInput=${set("reason")} /></label>
      <button class="primary">Add ${kinds[kind].one}</button></form>`;
  }
}
