// What has happened to a key: what operators did, and what this node has seen.
import { html } from "./html.js";
import { instant, plural, visible } from "./text.js";

const names = {
  limit_changed: "Limit changed", override_made: "Override made", override_changed: "Override changed", override_ended: "Override ended",
  override_expired: "Override expired", tier_made: "Tier given", tier_changed: "Tier changed", tier_ended: "Tier taken back", tier_expired: "Tier expired",
  access_made: "Access set", access_changed: "Access changed", access_ended: "Access ended", access_expired: "Access expired",
  emergency_made: "Emergency mode on", emergency_changed: "Emergency mode changed", emergency_ended: "Emergency mode off",
  emergency_expired: "Emergency mode ended", reset: "Counts reset", add_quota: "Quota added", reload: "Configuration reloaded",
  tier_seen: "Seen with another tier", rejected: "Rejected", would_reject: "Would be rejected",
};

const bad = ["rejected", "would_reject"];

// Timeline lists events, the newest first. found is an answer of the history.
export function Timeline({ found, zone, now, open }) {
  const elsewhere = [...new Set(found.events.filter((e) => e.zone && e.zone !== zone && bad.includes(e.kind)).map((e) => e.zone))];
  const events = found.events.filter((e) => !e.zone || e.zone === zone);
  return html`<section aria-labelledby="timeline-title"><h3 id="timeline-title">What has happened to it</h3>
    ${elsewhere.map((z) => html`<p class="notice">It is rejected in <button class="link" onClick=${() => open(z)}>zone ${z}</button>, too.</p>`)}
    ${events.length === 0 && html`<p>Nothing that this node or the rules remember.</p>`}
    ${events.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="What has happened to the key"><table class="timeline">
      <thead><tr><th>when</th><th>what</th><th>detail</th><th>who</th><th>why</th></tr></thead>
      <tbody>${events.map((e) => html`<tr><td>${instant(e.time, now)}</td><td class=${bad.includes(e.kind) ? "bad" : ""}>${names[e.kind] ?? e.kind}</td>
        <td class="text">${visible(e.what, 400)}${e.endpoint && html` <small>${visible(e.endpoint)}</small>`}${e.tier && html` <span class="tag">tier ${visible(e.tier)}</span>`}
          ${e.until && html` <small>until ${instant(e.until, now)}, in ${plural(e.times, "window")}</small>`}${e.version > 0 && html` <small>version ${e.version}</small>`}</td>
        <td>${e.author ? visible(e.author) : html`<small>${e.kind === "reload" ? "not known" : "this node"}</small>`}</td><td class="text">${visible(e.reason ?? "")}</td></tr>`)}</tbody>
    </table></div>`}
    <p class="note">${found.rules_error && html`Not all versions of the rules could be read: ${visible(found.rules_error)}. `}
      Rejections, tiers and reloads are those that ${visible(found.node)} has seen, from ${instant(found.since, now)} on.
      ${found.more && " Older changes are left out."}</p></section>`;
}
