// The stream of what happens: Server-Sent Events, one snapshot a second.

const quiet = 3500; // milliseconds without a snapshot after which figures are not live
const longestPause = 15000;

// A Stream calls on(name, data) for each event, and on("state", "live" | "lost" | "paused") when
// that changes. It is closed while the page is hidden.
export class Stream {
  constructor(on) {
    this.on = on;
    this.zone = "";
    this.failures = 0;
    this.state = "";
    document.addEventListener("visibilitychange", () => this.open());
    addEventListener("pagehide", () => this.close());
    this.open();
  }

  // follow chooses the zone whose keys are wanted.
  follow(zone) {
    if (zone === this.zone) return;
    this.zone = zone;
    this.open();
  }

  open() {
    this.close();
    if (document.hidden) return this.become("paused");
    const source = this.source = new EventSource("live" + (this.zone && "?zone=" + encodeURIComponent(this.zone)));
    for (const name of ["hello", "snapshot", "fleet", "top"]) {
      source.addEventListener(name, (e) => {
        if (name === "snapshot") this.alive();
        this.on(name, JSON.parse(e.data));
      });
    }
    source.onerror = () => this.again();
    this.watch();
  }

  close() {
    clearTimeout(this.watchdog);
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  alive() {
    this.failures = 0;
    this.become("live");
    this.watch();
  }

  // watch notices a connection that is open and silent.
  watch() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.again(), quiet);
  }

  // again connects after a pause. Its length is random, so that viewers do not come all at once.
  again() {
    this.close();
    this.become("lost");
    const pause = Math.min(longestPause, 500 * 2 ** this.failures++) * (0.5 + Math.random());
    this.retry = setTimeout(() => this.open(), pause);
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    this.on("state", state);
  }
}
