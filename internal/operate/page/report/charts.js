// Charts, each with the table of what it shows.
const color = (name) => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.className = name;
  const value = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return value;
};

// element returns an element with attributes and children. Texts of logs become text alone.
function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

const number = (n) => (typeof n === "number" ? n.toLocaleString("en", { maximumFractionDigits: n < 1 ? 4 : 2 }) : n);

// table returns a table. Columns of numbers are aligned to the right; marked are indices of rows.
function table(title, columns, rows, marked = []) {
  const numeric = columns.map((_, i) => rows.some((r) => typeof r[i] === "number"));
  const cell = (tag, value, i) => element(tag, numeric[i] ? { class: "n" } : {}, element("bdi", {}, String(value ?? "")));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title + ", as a table" },
    element("table", {},
      element("thead", {}, element("tr", {}, ...columns.map((c, i) => cell("th", c, i)))),
      element("tbody", {}, ...rows.map((r, n) => element("tr", marked.includes(n) ? { class: "marked" } : {},
        ...r.map((v, i) => cell("td", number(v), i)))))));
}

const drawn = []; // functions that draw a chart in the colors of the theme

// chart returns a figure: series = [{label, color, paths, points}] over data, as uPlot has them.
// mark is the place on the x axis of the limit that is looked at.
function chart({ title, series, data, x, y, mark, shown }) {
  const place = element("div", { role: "img", "aria-label": title });
  const legend = element("figcaption", { class: "legend" },
    ...series.map((s) => element("span", {}, element("i", { class: s.color }), s.label)));
  let plot;
  const size = () => ({ width: Math.max(240, place.clientWidth), height: 260 });
  drawn.push(() => {
    plot?.destroy();
    const axis = { stroke: color("muted-text"), grid: { stroke: color("grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    plot = new uPlot({
      ...size(), legend: { show: false }, padding: [12, 24, 0, 0], cursor: { show: false },
      tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "UTC"),
      scales: { x: x.scale, y: y.scale },
      axes: [{ ...axis, size: 28, ...x.axis }, { ...axis, size: 64, ...y.axis }],
      series: [{}, ...series.map((s) => ({ stroke: color(s.color), fill: s.fill && color(s.color), width: 1.5, paths: s.paths, points: s.points ?? { show: false } }))],
      hooks: { draw: [(u) => drawMark(u, mark)] },
    }, data, place);
  });
  new ResizeObserver(() => plot?.setSize(size())).observe(place);
  return element("figure", {}, legend, place, element("details", {}, element("summary", {}, "Table"), shown));
}

// drawMark draws a line at a place of the x axis.
function drawMark(u, mark) {
  if (mark === undefined) return;
  const at = Math.round(u.valToPos(mark, "x", true));
  u.ctx.save();
  u.ctx.strokeStyle = color("warn");
  u.ctx.setLineDash([4, 4]);
  u.ctx.beginPath();
  u.ctx.moveTo(at, u.bbox.top);
  u.ctx.lineTo(at, u.bbox.top + u.bbox.height);
  u.ctx.stroke();
  u.ctx.restore();
}

function drawAll() {
  for (const draw of drawn) draw();
}
