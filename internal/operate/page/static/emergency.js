// Emergency mode: a hard limit of each address, in front of all zones.
import { Component, html } from "./html.js";
import { instant, visible } from "./text.js";

export class Emergency extends Component {
  state = { limit: "10/1s", expires: "15m", reason: "", all: true };

  start = (e) => {
    e.preventDefault();
    const { limit, expires, reason, all } = this.state;
    this.props.ask({
      title: "Switch emergency mode on?", button: "Switch on", thisNode: !all, dryRun: all, done: "Emergency mode is on.",
      text: `Each client address may make ${limit} in front of all zones, for ${expires}. Others get 429.`,
      method: "POST", path: "emergency", body: { limit, expires_in: expires, reason, all_nodes: all },
    });
  };

  end = (all) => this.props.ask({
    title: "End emergency mode?", button: "End it", thisNode: !all, dryRun: all, done: "Emergency mode is off.",
    text: "The zones decide alone again.", method: "DELETE", path: "emergency", query: all ? { all_nodes: "true" } : {},
  });

  render({ snapshot, changes, now }, { limit, expires, reason, all }) {
    const mode = snapshot.status?.emergency;
    if (!mode) return html`<p class="notice">${snapshot.error}</p>`;
    const set = (name) => (e) => this.setState({ [name]: e.target.value });
    return html`<section aria-labelledby="emergency-title"><h2 id="emergency-title">Emergency mode is ${mode.active ? "on" : "off"}</h2>
      <p>A hard limit of each client address, in front of all zones. It ends by itself.</p>
      ${mode.active && html`<dl><dt>Limit</dt><dd>${mode.limit} for each address</dd><dt>Where</dt><dd>${mode.all_nodes ? "all nodes" : "this node alone"}</dd>
        <dt>Since</dt><dd>${instant(mode.started_at, now)}, by ${visible(mode.started_by ?? "")}</dd><dt>Ends</dt><dd>${instant(mode.expires_at, now)}</dd>
        <dt>Why</dt><dd>${visible(mode.reason ?? "")}</dd></dl>
        ${changes && html`<button class="primary" onClick=${() => this.end(mode.all_nodes ?? false)}>End it</button>`}`}
      ${!mode.active && changes && html`<form class="fields" onSubmit=${this.start}>
        <label>Limit of each address <input required value=${limit} onInput=${set("limit")} /></label>
        <label>For <input required value=${expires} onInput=${set("expires")} /></label>
        <label>Why <input value=${reason} onInput=${set("reason")} /></label>
        <label class="check"><input type="checkbox" checked=${all} onChange=${(e) => this.setState({ all: e.target.checked })} /> On all nodes</label>
        <button class="primary">Switch on</button></form>`}
    </section>`;
  }
}
