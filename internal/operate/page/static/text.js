// What figures, instants and keys look like.
import { html } from "./html.js";

// Characters that are not visible, or change the order or look of others: controls, formats such
// as bidirectional overrides, separators, private and unassigned ones, and combining marks.
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{M}]|(?! )\p{Zs}/u;

// visible returns a text with its hidden characters as code points. It is cut after most characters.
export function visible(text, most = 120) {
  const parts = [];
  let plain = "", n = 0;
  for (const c of text) {
    if (++n > most) {
      plain += "…";
      break;
    }
    if (hidden.test(c)) {
      parts.push(plain, html`<span class="code-point">U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}</span>`);
      plain = "";
    } else {
      plain += c;
    }
  }
  parts.push(plain);
  return html`<bdi>${parts}</bdi>`;
}

// keyText shows the key that an answer of the API names.
export function keyText(k) {
  if (k.key_base64) return html`<span class="key"><small>base64</small> ${visible(k.key_base64)}</span>`;
  if (k.key) return html`<span class="key">${visible(k.key)}</span>`;
  if (k.key_shortened) return html`<span class="key">${visible(k.key_shortened)}</span>`;
  if (k.missing) return html`<em>requests without a key</em>`;
  if (k.key_stored) return html`<span class="key"><small>stored</small> ${visible(k.key_stored)}</span>`;
  if (k.key_hash) return html`<span class="key">#${visible(k.key_hash)}</span>`;
  return k.address ? html`<span class="key">${visible(k.address)}</span>` : "–";
}

// rate shows a number of events per second.
export function rate(perSecond) {
  if (perSecond === undefined || perSecond === null) return "–";
  if (perSecond >= 10000) return Math.round(perSecond / 1000) + "k";
  if (perSecond >= 100 || perSecond === 0) return String(Math.round(perSecond));
  return perSecond.toFixed(perSecond >= 10 ? 1 : 2);
}

export const percent = (part, of) => of > 0 ? (100 * part / of).toFixed(part > 0 && part / of < 0.1 ? 1 : 0) + " %" : "–";

export const integer = (n) => n.toLocaleString("en");

// plural returns "1 node" or "3 nodes".
export const plural = (n, one) => `${integer(n)} ${one}${n === 1 ? "" : "s"}`;

// span shows a length of time.
export function span(milliseconds) {
  const s = Math.max(0, Math.round(milliseconds / 1000));
  for (const [unit, seconds] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (Math.round(s / seconds) >= 2) return Math.round(s / seconds) + " " + unit;
  }
  return s + " s";
}

// seconds reads a duration of the API or of a Caddyfile, such as 1m2.5s or 7d.
export const seconds = (text) => [...(text ?? "").matchAll(/([\d.]+)(ms|µs|d|h|m|s)/g)]
  .reduce((n, [, number, unit]) => n + number * { d: 86400, h: 3600, m: 60, s: 1, ms: 1e-3, "µs": 1e-6 }[unit], 0);

// runbook links to what to do.
export const runbook = (name) => html`<a href=${`https://github.com/fleetlimit/fleetlimit/blob/main/docs/runbooks/${name}.md`} target="_blank" rel="noreferrer">runbook</a>`;

// instant shows a time, and how far away it is.
export function instant(text, now = Date.now()) {
  if (!text) return "–";
  const at = new Date(text), away = at - now;
  return html`<time datetime=${text} title=${at.toLocaleString()}>${away > 0 ? "in " + span(away) : span(-away) + " ago"}</time>`;
}

export const clock = (milliseconds) => new Date(milliseconds).toLocaleTimeString("en", { hour12: false });
