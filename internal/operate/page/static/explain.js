// Why a request is limited, or not: the request goes through the routes of the running configuration.
import { Component, html } from "./html.js";
import { post } from "./api.js";
import { decidedBy, from } from "./keys.js";
import { integer, keyText, visible } from "./text.js";

// pairs reads lines of a name and a value.
function pairs(text, separator) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const at = line.indexOf(separator);
    if (at < 0) throw new Error(`"${line}" has no "${separator}": use a name and a value.`);
    return [line.slice(0, at).trim(), line.slice(at + separator.length).trim()];
  });
}

const read = (v) => html`<dt>${v.of}</dt><dd><code>${v.placeholder}</code> is ${v.presence === "present" ? visible(v.value ?? "") : v.presence}${v.unknown && ", as far as is known here"}</dd>`;

function Limit({ limit: l }) {
  const c = l.rule;
  return html`<div class="count"><h4>${c.endpoint ? visible(c.endpoint) : "The zone"}${c.tier && html` <span class="tag">tier ${c.tier}</span>`}</h4>
    <p><strong class=${l.outcome === "rejected" ? "bad" : ""}>${l.outcome}</strong> by ${c.limit}${l.remaining !== undefined && html`, of which ${integer(l.remaining)} are left`}${l.wait && html`, for ${l.wait}`}${l.source && html` <small>decided by ${l.source}</small>`}${l.cost !== 1 && html` <small>cost ${integer(l.cost)}</small>`}</p>
    ${from(c.from)}</div>`;
}

function Zone({ zone: z, inspect }) {
  const key = { key: z.key, key_base64: z.key_base64, missing: z.missing };
  return html`<li class=${z.outcome === "rejected" || z.outcome === "denied" ? "wrong" : "ok"}><h3>${z.zone} <span class="tag">${z.applies ? z.outcome : "does not apply"}</span>${z.dry_run && html` <span class="tag">dry run</span>`}</h3>
    ${z.why && html`<p>${visible(z.why, 400)}</p>`}
    ${(z.key || z.key_base64) && html`<p>Key: <button class="link" onClick=${() => inspect(z.zone, key)}>${keyText(key)}</button></p>`}
    ${z.access && html`<p>Access: ${decidedBy(z.access)}</p>`}${z.tier && html`<p>Tier: ${decidedBy(z.tier)}</p>`}
    ${z.tier_unknown && html`<p class="notice">The zone has no tier ${visible(z.tier_unknown)}.</p>`}
    ${z.limits.map((l) => html`<${Limit} limit=${l} />`)}
    ${(z.concurrent ?? []).map((c) => html`<p><strong>${c.outcome}</strong> by concurrent ${integer(c.rule.limit)}${c.wait && html`, for at most ${c.wait}`}, ${integer(c.rule.in_flight)} are in flight on this node</p>`)}
    ${z.adaptive && html`<p>adaptive ${integer(z.adaptive.limit)}, ${integer(z.adaptive.in_flight)} are in flight on this node</p>`}
    ${z.path && html`<p>Path: ${visible(z.path)}</p>`}
    ${(z.rejection ?? []).map((t) => html`<p>If rejected: ${visible(t.setting)}: ${visible(t.text)}</p>`)}
    ${z.values.length > 0 && html`<dl>${z.values.map(read)}</dl>`}</li>`;
}

function Found({ found: f, inspect }) {
  const { response } = f, retry = response.headers?.["Retry-After"];
  return html`<section aria-labelledby="found-title"><h2 id="found-title">It gets ${response.status ? html`<span class=${response.status >= 400 ? "bad" : ""}>${response.status}</span>` : "an answer"}
      ${" "}${response.by ? html`of ${visible(response.by)}` : "of no handler"} <small>${visible(response.place ?? "")}</small></h2>
    ${retry && html`<p>Retry after ${visible(retry)} s.</p>`}
    ${f.handlers.map((h) => html`<section class="handler"><h3>rate_limit <small>${visible(h.place ?? "")}</small>: ${h.outcome}${h.status > 0 && html` with ${h.status}`}</h3>
      ${h.access && html`<p class="notice">Access by address: ${decidedBy(h.access)}</p>`}
      ${h.emergency && html`<p class="notice">The limit of emergency mode rejects it, before all zones.</p>`}
      <ul class="explained">${h.zones.map((z) => html`<${Zone} zone=${z} inspect=${inspect} />`)}</ul></section>`)}
    ${f.missed.slice(0, 20).map((m) => html`<p>Not reached: rate_limit <small>${visible(m.place ?? "")}</small> with zone ${visible(m.zones.join(", "))}: ${visible(m.why, 400)}</p>`)}
    ${f.unknown.map((u) => html`<p class="notice">Not known: ${visible(u, 400)}</p>`)}</section>`;
}

export class Explain extends Component {
  state = { method: "GET", uri: "", headers: "", client: "", given: "", found: null, error: "" };

  asked = 0;

  // ask shows the answer to the newest question. That to an earlier one may come later.
  ask = async (e) => {
    e.preventDefault();
    const s = this.state, question = ++this.asked;
    const show = (answer) => question === this.asked && this.setState({ found: null, error: "", ...answer });
    show({});
    try {
      const headers = {};
      for (const [name, value] of pairs(s.headers, ":")) (headers[name] ??= []).push(value);
      const body = { method: s.method, uri: s.uri, headers, set: Object.fromEntries(pairs(s.given, "=")), ...(s.client && { from: s.client }) };
      show({ found: await post("explain", body) });
    } catch (e) {
      show({ error: e.message });
    }
  };

  render({ inspect }, s) {
    const set = (name) => (e) => this.setState({ [name]: e.target.value });
    return html`<form class="fields" onSubmit=${this.ask} aria-label="A request">
        <label>Method <input required value=${s.method} onInput=${set("method")} spellcheck="false" size="8" /></label>
        <label class="wide">Path or address <input required value=${s.uri} onInput=${set("uri")} spellcheck="false" autocomplete="off" placeholder="/export or https://api.example.com/export" /></label>
        <label>Client <input value=${s.client} onInput=${set("client")} spellcheck="false" autocomplete="off" placeholder="127.0.0.1" /></label>
        <label class="wide">Headers, one a line <textarea rows="2" value=${s.headers} onInput=${set("headers")} spellcheck="false" autocomplete="off" placeholder="X-Api-Key: sk_live_1"></textarea></label>
        <label class="wide">Placeholders that other handlers give <textarea rows="2" value=${s.given} onInput=${set("given")} spellcheck="false" autocomplete="off" placeholder="http.auth.user.id=bob"></textarea></label>
        <button class="primary">Explain</button></form>
      <p class="note">No handler runs that others would notice, and nothing is taken from any count.</p>
      ${s.error && html`<p class="error" role="alert">${visible(s.error, 400)}</p>`}
      ${s.found && html`<${Found} found=${s.found} inspect=${inspect} />`}`;
  }
}
