// The overview: is it working, and which zones reject.
import { Component, html } from "./html.js";
import { decisionCharts } from "./charts.js";
import { instant, integer, percent, plural, rate, runbook, visible } from "./text.js";
import { Try } from "./try.js";

// figures returns what the table of zones shows of one.
export function figures(z, hello) {
  const of = (...names) => names.reduce((n, name) => n + z.outcomes[hello.outcomes.indexOf(name)], 0);
  const all = z.outcomes.reduce((a, b) => a + b, 0);
  return {
    zone: z.zone, all, rejected: of("rejected", "denied", "overloaded"), degraded: of("degraded", "unavailable"),
    dryRun: of("would_reject", "would_deny"), waiting: z.waiting,
  };
}

const columns = [
  ["zone", "zone", ""], ["all", "requests/s", "n"], ["rejected", "rejected/s", "n"], ["share", "rejected", "n"],
  ["degraded", "without Redis/s", "n"], ["dryRun", "would reject/s", "n"], ["waiting", "waiting", "n"],
];

// Zones is the table of zones. The worst is first, unless another column is chosen.
export class Zones extends Component {
  state = { filter: "", by: "rejected" };

  rows({ snapshot, hello }, { filter, by }) {
    const value = { zone: (f) => f.zone, share: (f) => f.all > 0 ? -f.rejected / f.all : 0 };
    const of = value[by] ?? ((f) => -f[by]);
    return snapshot.zones.map((z) => figures(z, hello))
      .filter((f) => f.zone.toLowerCase().includes(filter.toLowerCase()))
      .sort((a, b) => of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : a.zone < b.zone ? -1 : 1);
  }

  render(props, state) {
    const { live, zone, choose } = props;
    const show = (text) => live ? text : "–";
    return html`<section aria-labelledby="zones-title">
      <div class="bar"><h2 id="zones-title">Zones</h2>
        <label class="filter">Filter <input type="search" value=${state.filter} onInput=${(e) => this.setState({ filter: e.target.value })} /></label></div>
      <div class="scroll" tabindex="0" role="region" aria-label="Zones"><table>
        <thead><tr>${columns.map(([by, label, kind]) => html`<th class=${kind} aria-sort=${state.by === by ? (by === "zone" ? "ascending" : "descending") : "none"}>
          <button class="sort" onClick=${() => this.setState({ by })}>${label}</button></th>`)}</tr></thead>
        <tbody>${this.rows(props, state).map((f) => html`<tr key=${f.zone} class=${f.zone === zone ? "chosen" : ""}>
          <td><button class="link" aria-pressed=${String(f.zone === zone)} onClick=${() => choose(f.zone === zone ? "" : f.zone)}>${f.zone}</button></td>
          <td class="n">${show(rate(f.all))}</td>
          <td class=${"n" + (f.rejected > 0 ? " bad" : "")}>${show(rate(f.rejected))}</td>
          <td class="n">${show(percent(f.rejected, f.all))}</td>
          <td class=${"n" + (f.degraded > 0 ? " warn" : "")}>${show(rate(f.degraded))}</td>
          <td class="n">${show(rate(f.dryRun))}</td>
          <td class="n">${show(integer(f.waiting))}</td></tr>`)}</tbody>
      </table></div>
    </section>`;
  }
}

// Health is the answer to "is it working", in four words with the reasons.
export function Health({ snapshot, fleet, live, now }) {
  const { status, error } = snapshot;
  if (!status) return html`<p class="notice">${error}</p>`;
  const sick = status.stores.flatMap((s) => s.primaries.filter((p) => p.status !== "ok").map((p) => `${p.address}: breaker ${p.breaker}`)
    .concat(s.error ? [s.error] : []));
  const slowest = Math.max(0, ...status.stores.flatMap((s) => s.primaries.map((p) => p.latency_ms)));
  const mismatches = status.mismatches ?? [];
  const unread = status.unread_rules?.find((r) => r.store === status.rules.store);
  const items = [
    { name: "Counts", ok: sick.length === 0, value: status.stores.length === 0 ? "in memory" : sick.length > 0 ? "degraded" : "in Redis",
      more: sick.length > 0 ? html`${visible(sick[0])}. ${runbook("redis-down")}` : (status.stores.length > 0 ? `slowest answer ${slowest.toFixed(1)} ms` : "of this node alone") },
    { name: "Nodes", ok: mismatches.length === 0 && !fleet?.error, value: String(status.nodes),
      more: mismatches.length > 0 ? html`${plural(mismatches.length, "disagreement")}, ${runbook("node-disagrees")}` : fleet?.error ? "Redis does not tell which" : "all agree" },
    { name: "Rules", ok: status.rules.failed_polls === 0 && !unread, value: unread ? "not read yet" : "version " + status.rules.version,
      more: status.rules.error || unread ? html`${visible(status.rules.error ?? unread.error)}. ${runbook(status.rules.store === "redis" ? "redis-down" : "node-disagrees")}` : status.rules.version > 0 ? html`${status.rules.author}, ${instant(status.rules.time, now)}` : "none were written" },
    { name: "Emergency", ok: !status.emergency.active, value: status.emergency.active ? "on" : "off",
      more: status.emergency.active ? html`${status.emergency.limit} for each address, ends ${instant(status.emergency.expires_at, now)}` : "no limit in front of the zones" },
  ];
  return html`<ul class=${"health" + (live ? "" : " stale")} aria-label="Health">
    ${items.map((i) => html`<li class=${i.ok ? "ok" : "wrong"}><span class="name">${i.name}</span>
      <strong>${live ? i.value : "–"}</strong><span class="more">${live ? i.more : "unknown"}</span></li>`)}
    ${status.untrusted_proxy && html`<li class="wrong wide"><span class="name">Proxy</span><strong>${status.untrusted_proxy.address}</strong>
      <span class="more">${status.untrusted_proxy.cause === "untrusted" ? "is not trusted" : "sends no client address that Caddy reads"}: zone ${status.untrusted_proxy.zone} counts all of its clients as one</span></li>`}
  </ul>`;
}

export function Overview(props) {
  const { snapshot, history, hello, live, zone } = props;
  return html`<${Health} ...${props} />
    ${decisionCharts(history, zone, hello, live)}
    ${snapshot.status && html`<${Zones} ...${props} />`}
    ${zone && !zone.startsWith("(") && html`<${Try} ...${props} />`}`;
}
