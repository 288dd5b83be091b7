// Lines over time, as a chart and as a table.
import { Component, createRef, html } from "./html.js";
import { clock, rate } from "./text.js";

const gap = 12000; // milliseconds without points that a line does not bridge
const rows = 20; // of the table, one for each minute or part of it

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A Chart shows series = [{label, color, values}] over times, in milliseconds. color is the name of
// a CSS property. Nothing is drawn while the connection is lost: the newest point stays where it is.
export class Chart extends Component {
  constructor(props) {
    super(props);
    this.at = createRef();
    this.state = { table: false };
    this.redraw = () => this.make();
  }

  componentDidMount() {
    this.resize = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.resize.observe(this.at.current);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.redraw);
    addEventListener("themechange", this.redraw);
    this.make();
  }

  componentDidUpdate() {
    this.plot?.setData(this.data());
  }

  componentWillUnmount() {
    this.resize.disconnect();
    this.dark.removeEventListener("change", this.redraw);
    removeEventListener("themechange", this.redraw);
    this.plot?.destroy();
  }

  size() {
    return { width: Math.max(200, this.at.current.clientWidth), height: this.props.height ?? 160 };
  }

  // data returns what uPlot draws: a missing value where there were no points for a while.
  data() {
    const { times, series } = this.props;
    const columns = [[], ...series.map(() => [])];
    times.forEach((time, i) => {
      if (i > 0 && time - times[i - 1] > gap) {
        columns[0].push((times[i - 1] + 1) / 1000);
        for (const c of columns.slice(1)) c.push(null);
      }
      columns[0].push(time / 1000);
      series.forEach((s, j) => columns[j + 1].push(s.values[i]));
    });
    return columns;
  }

  // make draws the chart anew, in the colors of the theme.
  make() {
    this.plot?.destroy();
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    this.plot = new globalThis.uPlot({
      ...this.size(), padding: [8, 8, 0, 0], legend: { show: false }, cursor: { show: false },
      scales: {
        x: { range: (_, min, max) => [Math.min(min, max - 60), max] },
        y: { range: (_, _min, max) => [0, Math.max(1, max * 1.1)] },
      },
      axes: [{ ...axis, space: 70, values: (_, ticks) => ticks.map((t) => clock(t * 1000).slice(0, t % 60 ? 8 : 5)) },
        { ...axis, size: 44, values: (_, ticks) => ticks.map(rate) }],
      series: [{}, ...this.props.series.map((s) => ({ stroke: color(s.color), width: 1.5, points: { show: false }, dash: s.dash }))],
    }, this.data(), this.at.current);
  }

  // summary is the chart in a sentence.
  summary() {
    const { title, unit, times, series } = this.props;
    if (times.length === 0) return `${title}: no figures yet`;
    return `${title}, ${unit}, now: ` + series.map((s) => `${s.label} ${rate(s.values.at(-1))}`).join(", ");
  }

  render({ title, note, series, times }, { table }) {
    return html`<figure class="chart">
      <figcaption><span>${title}</span>
        <span class="legend">${series.map((s) => html`<span class="series"><i class=${"swatch " + s.color.slice(2)} aria-hidden="true"></i>${s.label}
          <b>${this.props.live ? rate(s.values.at(-1)) : "–"}</b></span>`)}</span>
        <button class="quiet" aria-expanded=${String(table)} onClick=${() => this.setState({ table: !table })}>Table</button></figcaption>
      <div role="img" aria-label=${this.summary()} ref=${this.at}></div>
      ${note && html`<p class="note">${note}</p>`}
      ${table && this.table(times, series)}
    </figure>`;
  }

  table(times, series) {
    const step = Math.max(1, Math.floor(times.length / rows));
    const chosen = times.map((_, i) => i).filter((i) => (times.length - 1 - i) % step === 0).reverse();
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${this.props.title + " as a table"}><table>
      <thead><tr><th>time</th>${series.map((s) => html`<th class="n">${s.label}</th>`)}</tr></thead>
      <tbody>${chosen.map((i) => html`<tr><td>${clock(times[i])}</td>${series.map((s) => html`<td class="n">${rate(s.values[i])}</td>`)}</tr>`)}</tbody>
    </table></div>`;
  }
}

// decisionCharts returns the charts of a zone, "" for all zones, by outcome and by source.
export function decisionCharts(history, zone, hello, live) {
  const points = history.of(zone), times = points.map((p) => p.time);
  const outcome = (...names) => points.map((p) => names.reduce((n, name) => n + p.outcomes[hello.outcomes.indexOf(name)], 0));
  const source = (...names) => points.map((p) => names.reduce((n, name) => n + p.sources[hello.sources.indexOf(name)], 0));
  const of = zone ? `zone ${zone}` : "all zones";
  return html`<div class="charts">
    <${Chart} key=${"o" + zone} live=${live} title=${`Decisions of ${of}`} unit="requests per second" times=${times} series=${[
      { label: "admitted", color: "--accent", values: outcome("admitted", "queued", "allowed", "would_reject", "would_deny") },
      { label: "rejected", color: "--bad", values: outcome("rejected", "denied", "overloaded") },
      { label: "without Redis", color: "--warn", values: outcome("degraded", "unavailable") },
    ]} note="This node. Figures are kept from the first viewer on, for 15 minutes." />
    <${Chart} key=${"s" + zone} live=${live} title="Decided by" unit="requests per second" times=${times} series=${[
      { label: "a lease", color: "--accent", values: source("lease") },
      { label: "the store", color: "--ink", values: source("store") },
      { label: "a remembered denial", color: "--bad", values: source("remembered_denial") },
      { label: "on_outage", color: "--warn", values: source("outage", "late") },
    ]} />
  </div>`;
}
