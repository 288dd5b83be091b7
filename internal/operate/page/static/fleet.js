// The nodes that share the counts, and the primaries of Redis. The worst is first.
import { Component, html } from "./html.js";
import { plural, seconds, visible } from "./text.js";

const page = 60; // nodes

const ofStatus = { degraded: 0, draining: 1, ok: 2 };

const mebibytes = (n) => (n / 2 ** 20).toFixed(1);

// memory says how much a primary uses, if it has said so, and of how much.
function memory({ memory_bytes: used, max_memory_bytes: most }) {
  if (!used) return "–";
  return most ? `${mebibytes(used)} of ${mebibytes(most)} MiB` : `${mebibytes(used)} MiB`;
}

function primaries(stores, live) {
  const rows = stores.flatMap((s) => s.primaries.map((p) => ({ ...p, store: s.store })))
    .sort((a, b) => ofStatus[a.status] - ofStatus[b.status] || b.latency_ms - a.latency_ms);
  return html`<section aria-labelledby="redis-title"><h2 id="redis-title">Redis</h2>
    ${stores.length === 0 && html`<p>Counts are in the memory of this node.</p>`}
    ${stores.map((s) => s.error && html`<p class="notice">${s.store}: ${s.error}</p>`)}
    ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Primaries of Redis"><table>
      <thead><tr><th>primary</th><th>breaker</th><th class="n">newest answer</th><th class="n">memory</th><th>why</th></tr></thead>
      <tbody>${rows.map((p) => html`<tr key=${p.store + p.address}><td>${p.address}</td>
        <td class=${live && p.status !== "ok" ? "bad" : ""}>${live ? p.breaker : "–"}</td>
        <td class="n">${live ? p.latency_ms.toFixed(2) + " ms" : "–"}</td>
        <td class="n">${live ? memory(p) : "–"}</td><td class="text">${visible(p.error ?? "")}</td></tr>`)}</tbody>
    </table></div>`}</section>`;
}

export class Fleet extends Component {
  state = { from: 0 };

  render({ snapshot, fleet, live }, { from }) {
    const { status } = snapshot;
    if (!status) return html`<p class="notice">${snapshot.error}</p>`;
    const disagree = new Map();
    for (const m of status.mismatches ?? []) disagree.set(m.node, [...(disagree.get(m.node) ?? []), m]);
    const nodes = (fleet?.nodes ?? []).map((n) => ({ ...n, mismatches: disagree.get(n.name) ?? [], seen: seconds(n.seen_ago) }))
      .sort((a, b) => b.mismatches.length - a.mismatches.length || b.seen - a.seen);
    return html`${primaries(status.stores, live)}
      <section aria-labelledby="nodes-title"><h2 id="nodes-title">${plural(status.nodes, "node")}</h2>
        ${fleet?.error && html`<p class="notice">Redis does not tell which nodes there are: ${visible(fleet.error)}</p>`}
        <ul class="nodes">${nodes.slice(from, from + page).map((n) => html`<li key=${n.name} class=${n.mismatches.length > 0 ? "wrong" : "ok"}>
          <strong>${visible(n.name)}</strong>${n.name === fleet.self && html`<span class="tag">this one</span>`}
          <span class="more">${n.seen_ago ? `seen ${Math.round(n.seen)} s ago` : ""}</span>
          ${n.mismatches.map((m) => html`<span class="bad">zone ${m.zone}: another ${m.settings.join(", ")}</span>`)}</li>`)}</ul>
        ${nodes.length > page && html`<p class="buttons"><button disabled=${from === 0} onClick=${() => this.setState({ from: from - page })}>Before</button>
          <span>${from + 1} to ${Math.min(from + page, nodes.length)}, worst first</span>
          <button disabled=${from + page >= nodes.length} onClick=${() => this.setState({ from: from + page })}>After</button></p>`}
      </section>`;
  }
}
