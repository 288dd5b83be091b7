// The rates of the last 15 minutes: what the node has kept since its first viewer, then what this
// page has seen.

const length = 15 * 60 * 1000;

export class History {
  constructor() {
    this.byZone = new Map(); // "": all zones
  }

  // start takes what the node has kept of a zone. What the page has seen itself is newer or the same.
  start(zone, points) {
    const own = this.byZone.get(zone) ?? [];
    const first = own.length > 0 ? own[0].time : Infinity;
    this.byZone.set(zone, [...points.filter((p) => p.time < first), ...own]);
  }

  // add takes the rates of a snapshot.
  add(snapshot) {
    const { time, zones } = snapshot;
    if (zones.length === 0) return;
    const all = { time, outcomes: sum(zones, "outcomes"), sources: sum(zones, "sources") };
    for (const [zone, point] of [["", all], ...zones.map((z) => [z.zone, { time, outcomes: z.outcomes, sources: z.sources }])]) {
      let points = this.byZone.get(zone);
      if (!points) this.byZone.set(zone, points = []);
      points.push(point);
      while (points[0].time < time - length) points.shift();
    }
  }

  of(zone) {
    return this.byZone.get(zone) ?? [];
  }
}

const sum = (zones, member) => zones[0][member].map((_, i) => zones.reduce((n, z) => n + z[member][i], 0));
