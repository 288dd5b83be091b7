// A change is asked for once: what it does, on which nodes, and by whom.
import { Component, createRef, html } from "./html.js";
import { carryOut, preview } from "./api.js";
import { plural } from "./text.js";
import { Differences } from "./differences.js";

// Confirm shows the change of its property change:
//
//   title, button   what is asked, and what the button says
//   text            what the change does, if the API cannot tell before
//   thisNode        it is about this node alone; by default, about all that share the rules
//   dryRun          the API can tell what it would change
//   method, path, query, body   the request
//   after           is called when it is done
export class Confirm extends Component {
  dialog = createRef();

  state = { planned: null, error: "", busy: false, author: localStorage.getItem("rate-limit-author") ?? "" };

  async componentDidMount() {
    this.dialog.current.showModal();
    const { change, version } = this.props;
    if (!change.dryRun) return this.setState({ version, planned: {} });
    try {
      const planned = await preview(change);
      this.setState({ planned, version });
    } catch (e) {
      this.setState({ error: e.message });
    }
  }

  confirm = async (e) => {
    e.preventDefault();
    const { change, close } = this.props, { author, version } = this.state;
    this.setState({ busy: true, error: "" });
    localStorage.setItem("rate-limit-author", author);
    try {
      const answer = await carryOut(change, author, change.dryRun ? version : undefined);
      change.after?.(answer);
      close({ text: change.done + (change.dryRun ? ` Version ${version + 1}.` : ""), undo: change.dryRun && rollback(version) });
    } catch (e) {
      this.setState({ busy: false, error: e.message });
    }
  };

  render({ change, fleet, close, snapshot }, { planned, error, busy, author }) {
    const count = snapshot.status?.nodes ?? 1;
    return html`<dialog ref=${this.dialog} aria-labelledby="confirm-title" onCancel=${() => close(null)}>
      <form method="dialog" onSubmit=${this.confirm}>
        <h2 id="confirm-title">${change.title}</h2>
        ${change.text && html`<p>${change.text}</p>`}
        ${planned?.changes && html`<${Differences} changes=${planned.changes} more=${planned.more} />`}
        ${planned?.warnings?.map((w) => html`<p class="notice">${w}</p>`)}
        <p>${change.thisNode ? "On this node alone." : `On ${plural(count, "node")}, at once: ${nodeNames(fleet)}`}</p>
        <label>Your name, for the history <input value=${author} maxlength="200" autocomplete="name" onInput=${(e) => this.setState({ author: e.target.value })} /></label>
        ${error && html`<p class="error" role="alert">${error}</p>`}
        <p class="buttons"><button type="button" onClick=${() => close(null)}>Cancel</button>
          <button class="primary" disabled=${busy || !planned}>${change.button}</button></p>
      </form>
    </dialog>`;
  }
}

function nodeNames(fleet) {
  const names = (fleet?.nodes ?? []).map((n) => n.name);
  return names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
}

// rollback returns the change that restores a version.
export const rollback = (version) => ({
  title: `Roll back to version ${version}?`, button: "Roll back", dryRun: true, done: `Rolled back to version ${version}.`,
  method: "POST", path: `rules/versions/${version}/rollback`, body: { note: `back to version ${version}` },
});
