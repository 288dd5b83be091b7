// The report, in the order of its questions: which limit, who, when, which algorithm, what fleet.
const report = JSON.parse(document.getElementById("data").textContent);
const percent = (share) => number(100 * share) + " %";

// duration is a window as the Caddyfile has it.
function duration(seconds) {
  if (seconds % 3600 === 0) return seconds / 3600 + "h";
  if (seconds % 60 === 0) return seconds / 60 + "m";
  return seconds < 1 ? 1000 * seconds + "ms" : seconds + "s";
}

const rate = (l) => `${l.events}/${duration(l.window_seconds)}` + (l.burst ? ` burst ${l.burst}` : "");
const time = (text) => new Date(text).toISOString().slice(0, 19).replace("T", " ");

function section(title, ...children) {
  document.getElementById("report").append(element("section", {}, element("h2", {}, title), ...children));
}

const bursts = report.limit.burst > 0;
// Shares of keys go down to hundredths of a percent: the scale is linear up to 0.01 % and logarithmic
// above.
const shares = {
  scale: {
    distr: 100, fwd: (v) => Math.asinh(v / 0.01), bwd: (v) => 0.01 * Math.sinh(v),
    range: (_, _min, max) => [0, Math.max(1, max)],
  },
  axis: {
    splits: (u) => [0, 0.01, 0.1, 1, 10, 100].filter((v) => v <= u.scales.y.max), filter: (_, splits) => splits,
    values: (_, ticks) => ticks.map((t) => number(t) + " %"),
  },
};
const limits = (values) => ({
  scale: { time: false, distr: 3 },
  axis: { values: (_, ticks) => ticks.map((t) => (t === null ? "" : number(t))), label: values, labelSize: 20, labelFont: "12px system-ui" },
});

function summary() {
  const { trace, touches } = report;
  document.title = `Which limit: ${rate(report.limit)}`;
  const list = element("ul", {}, ...touches.map((t) => element("li", {},
    `${rate(t.limit)} is the least limit${t.exact ? "" : " of those that were tried"} that rejects ` +
    (t.keys_share ? `at most ${percent(t.keys_share)} of the keys` : "no key"))));
  document.getElementById("report").replaceChildren(
    element("h1", {}, "Whom would a limit have rejected?"),
    element("p", { class: "note" }, `${number(trace.requests)} requests of ${number(trace.keys)} keys, ${time(trace.from)} to ${time(trace.to)} UTC, ` +
      `${report.limit.algorithm}. ${report.zone ? "In force" : "Looked at most closely"}: ${rate(report.limit)}. ` +
      (report.clients === "open" ? "" : `Clients that are rejected: ${report.clients}. `) + (report.traffic ? `Made up: ${report.traffic}.` : "")));
  if (report.recommended) {
    document.getElementById("report").append(element("p", {}, `Recommended, as it rejects ${trace.keys < 1000 ? `one of ${trace.keys} keys, which needs most` : "at most 0.1 % of the keys"}:`),
      element("pre", {}, report.caddyfile));
  }
  document.getElementById("report").append(list);
}

// zone shows what the limits of a zone do, as they are configured.
function zone() {
  const z = report.zone;
  if (!z) return;
  const agrees = z.recorded && `${number(z.recorded.equal)} of the ${number(z.recorded.decisions)} decisions that the log has are repeated.`;
  section(`The zone ${z.zone}, as it is configured`,
    table("The limits of the zone", ["endpoint", "tier", "limit", "requests", "rejected", "keys", "rejected"],
      z.limits.map((l) => [l.endpoint, l.missing ? "(no key)" : l.tier, l.limit, l.requests, l.requests_rejected, l.keys, l.keys_rejected]),
      z.limits.flatMap((l, i) => (l.studied ? [i] : []))),
    element("p", { class: "note" }, "The rest of this page is about the marked limit. " + (agrees ?? "")));
  if (z.limits.length > 1 && z.keys.length > 0) {
    section("Who is rejected by any limit of the zone", table("Keys of all limits", ["key", "endpoint", "tier", "requests", "rejected", "first", "last"],
      z.keys.map((k) => [k.key, k.endpoint, k.tier, k.requests, k.rejected, time(k.first_rejection), time(k.last_rejection)])));
  }
}

const studied = (o) => JSON.stringify(o.limit) === JSON.stringify(report.limit);

// curve shows the limits that were tried, and the least limits of all keys.
function curve() {
  const end = report.curve.findIndex((o) => o.requests_rejected === 0), at = report.curve.findIndex(studied);
  const tried = end < 0 ? report.curve : report.curve.slice(0, Math.max(end, at) + 1), keys = report.key_curve ?? [];
  const exact = new Map(bursts ? [] : keys.map((k) => [k.limit.events, k.keys_rejected / report.trace.keys]));
  const byKeys = new Map([...tried.map((o) => [o.limit.events, o.keys_share]), ...exact]);
  const byRequests = new Map(tried.map((o) => [o.limit.events, o.requests_share]));
  const xs = [...byKeys.keys()].sort((a, b) => a - b);
  section("The curve", chart({
    title: "Keys and requests that each limit rejects", mark: report.limit.events,
    series: [{ label: "keys ever rejected", color: "accent", paths: exact.size ? uPlot.paths.stepped({ align: 1 }) : undefined },
      { label: "requests rejected", color: "bad", paths: uPlot.paths.linear(), points: { show: true, size: 5 } }],
    data: [xs, xs.map((v) => 100 * byKeys.get(v)), xs.map((v) => (byRequests.has(v) ? 100 * byRequests.get(v) : undefined))],
    x: limits("events per " + duration(report.limit.window_seconds)), y: shares,
    shown: table("The curve", ["limit", "keys rejected", "share", "requests rejected", "share"],
      tried.map((o) => [rate(o.limit), o.keys_rejected, percent(o.keys_share), o.requests_rejected, percent(o.requests_share)]),
      tried.flatMap((o, i) => (studied(o) ? [i] : []))),
  }));
  if (bursts && keys.length > 0) {
    section("The least burst at this rate", chart({
      title: "Keys that each burst rejects", mark: report.limit.burst,
      series: [{ label: "keys ever rejected", color: "accent", paths: uPlot.paths.stepped({ align: 1 }) }],
      data: [keys.map((k) => k.limit.burst), keys.map((k) => (100 * k.keys_rejected) / report.trace.keys)],
      x: limits("burst"), y: shares,
      shown: table("The least burst", ["burst", "keys rejected"], keys.map((k) => [k.limit.burst, k.keys_rejected])),
    }));
  }
}

function who() {
  if (report.keys.length === 0) return;
  section("Who is rejected, the first one first", table("Keys", ["key", "requests", "rejected", "first", "last", "longest", bursts ? "least burst" : "least limit"],
    report.keys.map((k) => [k.key, k.requests, k.rejected, time(k.first_rejection), time(k.last_rejection),
      k.longest_seconds.toFixed(1) + " s", k.least_limit || ""])));
}

// when shows the requests over time. Minutes are added up if there are more than a chart can show.
function when() {
  const step = Math.ceil(report.minutes.length / 1440), points = [];
  report.minutes.forEach((m, i) => {
    if (i % step === 0) points.push({ at: m.at, admitted: 0, rejected: 0 });
    points.at(-1).admitted += m.admitted;
    points.at(-1).rejected += m.rejected;
  });
  const worst = report.worst_minute;
  section(step === 1 ? "Requests a minute" : `Requests in ${step} minutes`,
    element("p", { class: "note" }, worst ? `Worst minute: ${time(worst.at)}, ${number(worst.rejected)} of ${number(worst.rejected + worst.admitted)} requests rejected.` :
      "No request is rejected."),
    chart({
      title: "Admitted and rejected requests over time",
      series: [{ label: "admitted", color: "accent" }, { label: "rejected", color: "bad" }],
      data: [points.map((p) => Date.parse(p.at) / 1000), points.map((p) => p.admitted), points.map((p) => p.rejected)],
      x: {
        scale: { time: true },
        axis: { values: (_, ticks) => ticks.map((t) => (t % 86400 === 0 ? time(1000 * t).slice(0, 10) : time(1000 * t).slice(11, 16))) },
      },
      y: { scale: { range: (_, _min, max) => [0, Math.max(1, max * 1.05)] }, axis: {} },
      shown: table("Requests over time", ["from", "admitted", "rejected"], points.map((p) => [time(p.at), p.admitted, p.rejected])),
    }));
}

function algorithms() {
  const all = report.algorithms ?? [];
  if (all.length === 0) return;
  const names = all.map((a) => (a.subwindows ? `${a.name} ${a.subwindows}` : a.name));
  section("The algorithms under this limit", chart({
    title: "Requests that each algorithm decides otherwise than the exact log",
    series: [{ label: "requests decided otherwise than by the exact log", color: "accent", fill: true, paths: uPlot.paths.bars({ size: [0.5, 60] }) }],
    data: [all.map((_, i) => i), all.map((a) => (100 * a.differs_from_exact) / report.trace.requests)],
    x: {
      scale: { time: false, range: [-0.6, all.length - 0.4] },
      axis: { splits: () => all.map((_, i) => i), values: () => names.map((n) => n.replace("sliding_window_log", "log").replace("sliding_window", "sliding").replaceAll("_", " ")) },
    },
    y: { scale: { range: (_, _min, max) => [0, max * 1.1 || 1] }, axis: { values: shares.axis.values } },
    shown: table("The algorithms", ["algorithm", "admitted", "rejected", "not as the log", "worst excess", "bytes a key"],
      all.map((a, i) => [names[i], a.admitted, a.rejected, a.differs_from_exact, a.worst_excess, Math.ceil(a.bytes_per_key)])),
  }));
}

function fleet() {
  const f = report.fleet;
  if (!f) return;
  const names = { none: "nothing fails", node_lost: "a node is lost", redis_away_1m: "Redis is away for a minute" };
  section(`A fleet of ${f.nodes} nodes`,
    element("p", { class: "note" }, `Round trip ${number(1000 * f.round_trip_seconds)} ms, spread ${f.spread}, beside one counter. Faults begin with its first rejection.`),
    table("The fleet", ["fault", "admitted", "rejected", "over-admitted", "falsely rejected", "calls per 1000", "decided locally", "in the outage"],
      f.outcomes.map((o) => [names[o.fault], o.admitted, o.rejected, o.over_admitted, o.falsely_rejected,
        Math.round(o.calls_per_1000_requests), percent(o.decided_locally_share), o.decided_in_outage])));
}

summary();
zone();
curve();
who();
when();
algorithms();
fleet();
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
