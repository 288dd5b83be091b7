// What another limit would have done to the requests of the last hour.
import { Component, html } from "./html.js";
import { post, zonePath } from "./api.js";
import { instant, integer, plural, visible } from "./text.js";

const share = (part) => part === 0 ? "0 %" : (100 * part).toPrecision(2) + " %";

export class Try extends Component {
  state = { limit: "", endpoint: "", tier: "", answer: null, error: "" };

  ask = async (e) => {
    e.preventDefault();
    const { zone } = this.props, { limit, endpoint, tier } = this.state;
    this.setState({ error: "" });
    try {
      const answer = await post(zonePath(zone, "try"), { limit, endpoint, tier });
      if (zone === this.props.zone) this.setState({ answer });
    } catch (error) {
      this.setState({ answer: null, error: error.message });
    }
  };

  componentDidUpdate({ zone }) {
    if (zone !== this.props.zone) this.setState({ endpoint: "", tier: "", answer: null, error: "" });
  }

  render({ zone, now }, { limit, endpoint, tier, answer, error }) {
    const set = (name) => (e) => this.setState({ [name]: e.target.value });
    return html`<section class="try" aria-labelledby="try-title"><h2 id="try-title">Try a limit</h2>
      <p>What would another limit of ${visible(zone)} have done to the requests of the last hour? Nothing changes.</p>
      <form class="fields" onSubmit=${this.ask}>
        <label>Limit <input value=${limit} placeholder="60/1m" onInput=${set("limit")} /></label>
        <label>Endpoint <input value=${endpoint} onInput=${set("endpoint")} /></label>
        <label>Tier <input value=${tier} onInput=${set("tier")} /></label>
        <button class="primary">Try it</button></form>
      ${error && html`<p class="notice" role="alert">${error}</p>`}
      ${answer && html`<${Trial} ...${{ answer, now }} />`}
    </section>`;
  }
}

function Trial({ answer, now }) {
  const where = [answer.endpoint && `endpoint ${answer.endpoint}`, answer.tier && `tier ${answer.tier}`].filter(Boolean).join(", ");
  return html`<p role="status">${plural(answer.requests, "request")} of ${plural(answer.keys, "key")}${where && ` of ${where}`},
      remembered since ${instant(answer.since, now)}${answer.keys_part < 1 && `, of a sample of ${share(answer.keys_part)} of the keys`}.
      ${" "}${answer.nodes > 1 && `They are those of this node: ${answer.nodes} nodes share the limit.`}
      ${" "}${answer.requests === 0 && "Requests are remembered from now on: try again later."}</p>
    ${answer.requests > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Limits"><table>
      <thead><tr><th>limit</th><th></th><th class="n">keys rejected</th><th class="n">share</th><th class="n">requests rejected</th><th class="n">share</th></tr></thead>
      <tbody>${answer.limits.map((l) => html`<tr key=${l.limit} class=${l.in_force || l.tried ? "chosen" : ""}>
        <td>${l.limit}</td><td>${[l.in_force && "in force", l.tried && "tried"].filter(Boolean).join(", ")}</td>
        <td class="n">${integer(l.keys_rejected)}</td><td class="n">${share(l.keys_part)}</td>
        <td class="n">${integer(l.requests_rejected)}</td><td class="n">${share(l.requests_part)}</td></tr>`)}</tbody></table></div>
      ${answer.recommended && html`<p>The least limit that rejects ${answer.keys < 1000 ? "one of these keys, which needs most" : "at most 0.1 % of these keys"}: <strong>${answer.recommended}</strong></p>`}`}`;
}
