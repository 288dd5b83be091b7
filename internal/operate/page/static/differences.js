// What one version of the rules has in place of another.
import { html } from "./html.js";
import { integer, visible } from "./text.js";

// known are the members of an entry that say nothing new.
const known = ["id", "created_at", "created_by"];

// value shows a value of the rules: an object by its members.
function value(v) {
  if (v === null || v === undefined) return "";
  if (typeof v !== "object" || Array.isArray(v)) return visible(typeof v === "string" ? v : JSON.stringify(v));
  return html`<dl>${Object.entries(v).filter(([name]) => !known.includes(name)).map(([name, member]) =>
    html`<dt>${visible(name)}</dt><dd>${value(member)}</dd>`)}</dl>`;
}

// Differences lists what one version has in place of another.
export function Differences({ changes, more }) {
  if (changes.length === 0) return html`<p>Nothing changes.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Changes"><table class="diff">
    <thead><tr><th>what</th><th>before</th><th>after</th></tr></thead>
    <tbody>${changes.slice(0, 100).map((c) => html`<tr><td>${visible(c.path)}</td><td class="before">${value(c.from)}</td><td class="after">${value(c.to)}</td></tr>`)}</tbody>
  </table></div>${more || changes.length > 100 ? html`<p>And ${integer((more ?? 0) + Math.max(0, changes.length - 100))} more.</p>` : ""}`;
}
