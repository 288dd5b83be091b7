// The versions of the rules: who changed what, what they differ in, and the way back.
import { Component, html } from "./html.js";
import { get } from "./api.js";
import { rollback } from "./confirm.js";
import { Differences } from "./differences.js";
import { instant, integer, keyText, visible } from "./text.js";

const page = 50; // versions

// what says what a version has changed: the rules, or counts.
function what({ summary, actions = [] }) {
  if (summary || actions.length === 0) return visible(summary ?? "");
  const [a] = actions;
  return html`${a.kind === "reset" ? "reset" : `${integer(a.events)} more events`} of ${keyText(a)} in zone ${a.zone}${actions.length > 1 && `, and ${integer(actions.length - 1)} more`}`;
}

export class Rules extends Component {
  state = { versions: [], next: 0, shown: null, error: "" };

  componentDidMount() {
    this.load(0);
  }

  componentDidUpdate(before) {
    if (before.version !== this.props.version) this.load(0);
  }

  // load reads the versions before a number, 0 for the newest.
  async load(before) {
    try {
      const { versions, next } = await get(`rules/versions?limit=${page}` + (before ? `&before=${before}` : ""));
      this.setState({ versions: before ? [...this.state.versions, ...versions] : versions, next, error: "" });
    } catch (e) {
      this.setState({ error: e.message });
    }
  }

  // show compares a version with the one before it.
  async show(number) {
    if (this.state.shown?.version === number) return this.setState({ shown: null });
    try {
      this.setState({ shown: await get(`rules/versions/${number}`), error: "" });
    } catch (e) {
      this.setState({ error: e.message });
    }
  }

  render({ version, changes, ask, now }, { versions, next, shown, error }) {
    return html`<section aria-labelledby="rules-title">
      <h2 id="rules-title">Versions of the rules</h2>
      ${error && html`<p class="error" role="alert">${error}</p>`}
      ${versions.length === 0 && !error && html`<p>No rules were written: all limits are those of the configuration.</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Versions"><table>
        <thead><tr><th class="n">version</th><th>when</th><th>who</th><th>what</th><th>why</th><th><span class="hidden">actions</span></th></tr></thead>
        <tbody>${versions.map((v) => html`<tr key=${v.version}>
          <td class="n"><button class="link" aria-expanded=${String(shown?.version === v.version)} onClick=${() => this.show(v.version)}>${v.version}</button></td>
          <td>${instant(v.time, now)}</td><td>${visible(v.author ?? "")}</td><td class="text">${what(v)}</td><td class="text">${visible(v.note ?? "")}</td>
          <td class="actions">${v.version === version ? html`<span class="tag">in force</span>` : changes && html`<button class="quiet" onClick=${() => ask(rollback(v.version))}>Roll back to ${v.version}</button>`}</td>
        </tr>${shown?.version === v.version && html`<tr><td colspan="6"><${Differences} changes=${shown.changes ?? []} more=${shown.more} /></td></tr>`}`)}</tbody>
      </table></div>
      ${next > 0 && html`<button onClick=${() => this.load(next)}>Older versions</button>`}
    </section>`;
  }
}
