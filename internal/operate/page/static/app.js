// The page: its parts, and what they share.
import { Component, html, render } from "./html.js";
import { Stream } from "./stream.js";
import { History } from "./history.js";
import { Overview } from "./zones.js";
import { Keys } from "./keys.js";
import { Entries } from "./entries.js";
import { Rules } from "./rules.js";
import { Fleet } from "./fleet.js";
import { Emergency } from "./emergency.js";
import { Explain } from "./explain.js";
import { Confirm } from "./confirm.js";
import { clock } from "./text.js";

const parts = [
  ["overview", "Overview", Overview], ["keys", "Keys", Keys], ["explain", "Explain", Explain], ["entries", "Overrides", Entries],
  ["rules", "Rules", Rules], ["fleet", "Fleet", Fleet], ["emergency", "Emergency", Emergency],
];

const partOf = () => parts.find(([name]) => "#" + name === location.hash) ?? parts[0];

class App extends Component {
  history = new History();

  state = { part: partOf(), connection: "", zone: "", snapshot: null, fleet: null, top: null, hello: null, change: null, done: null };

  componentDidMount() {
    addEventListener("hashchange", () => {
      this.setState({ part: partOf(), done: null });
      document.querySelector("main")?.focus();
    });
    this.stream = new Stream((name, data) => this.receive(name, data));
  }

  receive(name, data) {
    switch (name) {
      case "state":
        return this.setState({ connection: data });
      case "hello":
        this.history.start("", data.history);
        if (this.stream.zone) this.history.start(this.stream.zone, data.history_of_zone ?? []);
        return this.setState({ hello: data });
      case "snapshot":
        this.history.add(data);
        return this.setState({ snapshot: data });
      default:
        return this.setState({ [name]: data });
    }
  }

  choose = (zone) => {
    this.setState({ zone, top: null });
    this.stream.follow(zone);
  };

  // inspect shows a key.
  inspect = (zone, key) => {
    this.setState({ wanted: { zone, key } });
    location.hash = "keys";
  };

  // ask shows what a change would do. See confirm.js.
  ask = (change) => this.setState({ change, done: null });

  render(_, state) {
    const { part: [name, , Part], connection, snapshot, hello, change, done } = state;
    const live = connection === "live";
    const props = {
      ...state, live, history: this.history, choose: this.choose, inspect: this.inspect, ask: this.ask,
      now: snapshot?.time ?? Date.now(), version: snapshot?.status?.rules.version, changes: hello?.changes ?? false,
      zones: snapshot?.zones.map((z) => z.zone).filter((z) => !z.startsWith("(")) ?? [],
    };
    return html`<${Header} ...${props} name=${name} />
      ${!live && snapshot && html`<p class="lost" role="alert">${connection === "paused" ? "Paused." : "The connection is lost. Trying again."}
        ${" "}The last figures are of ${clock(snapshot.time)}.</p>`}
      <main tabindex="-1" class=${live ? "" : "stale"}>
        ${snapshot && hello ? html`<${Part} ...${props} />` : html`<p class="boot" role="status">${connection === "lost" ? "The node does not answer. Trying again." : "Connecting."}</p>`}
      </main>
      ${change && html`<${Confirm} ...${props} close=${(done) => this.setState({ change: null, done })} />`}
      <div class="done" role="status">${done && html`${done.text} ${done.undo && html`<button class="link" onClick=${() => this.ask(done.undo)}>Roll back</button>`}
        <button class="quiet" aria-label="Close" onClick=${() => this.setState({ done: null })}>×</button>`}</div>`;
  }
}

function Header({ name, connection, fleet, changes, hello }) {
  const states = { live: "live", lost: "connection lost", paused: "paused" };
  return html`<header>
    <h1>Rate limits</h1>
    <nav aria-label="Parts of the page">${parts.map(([part, label]) =>
      html`<a href=${"#" + part} aria-current=${part === name ? "page" : undefined}>${label}</a>`)}</nav>
    <p class="where"><span class="node" title="the node that serves this page">${fleet?.self ?? ""}</span>
      ${hello && !changes && html`<span class="tag">read-only</span>`}
      <span class=${"connection " + connection} role="status">${states[connection] ?? "connecting"}</span>
      <button class="quiet" onClick=${toggleTheme} aria-label="Switch between light and dark">◐</button></p>
  </header>`;
}

// toggleTheme switches between light and dark. The choice is kept in the browser.
function toggleTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  localStorage.setItem("rate-limit-theme", root.dataset.theme = dark ? "light" : "dark");
  dispatchEvent(new Event("themechange"));
}

const theme = localStorage.getItem("rate-limit-theme");
if (theme) document.documentElement.dataset.theme = theme;
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
