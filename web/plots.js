// Line plots as SVG. A plot keeps the last readings of its series and draws them from right to left.

const KEPT = 120;
const WIDTH = 420, HEIGHT = 150, LEFT = 38, BOTTOM = 16;

export const short = number => {
  if (number === null || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e6) return (number / 1e6).toFixed(1) + "M";
  if (size >= 1e4) return (number / 1e3).toFixed(0) + "k";
  if (size >= 1e3) return (number / 1e3).toFixed(1) + "k";
  if (size >= 100 || Number.isInteger(number)) return number.toFixed(0);
  return number.toFixed(size >= 10 ? 1 : 2);
};

// A round number that is not below the value, and whose half is round as well.
function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map(step => step * power).find(step => step >= value * 0.999);
}

const svg = (name, attributes, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};

export class Plot {
  // `stacked`: series are added up and filled. `top`: the scale's end, where it is known.
  constructor(parent, title, { unit = "", stacked = false, top = null } = {}) {
    Object.assign(this, { unit, stacked, top, series: new Map(), count: 0 });
    const box = document.createElement("div");
    box.className = "chart";
    box.innerHTML = '<div class="chart-head"><h2></h2><div class="legend"></div></div>';
    box.querySelector("h2").textContent = title;
    this.legend = box.querySelector(".legend");
    this.plot = svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    box.append(this.plot);
    parent.append(box);
  }

  // values: name -> number or null.
  add(values) {
    ++this.count;
    for (const name of new Set([...this.series.keys(), ...Object.keys(values)])) {
      if (!this.series.has(name)) this.series.set(name, []);
      const line = this.series.get(name);
      while (line.length < Math.min(this.count, KEPT) - 1) line.unshift(null);
      line.push(values[name] ?? null);
      if (line.length > KEPT) line.shift();
    }
    this.draw();
  }

  draw() {
    const lines = [...this.series].map(([name, values], i) => ({ name, values, colour: `var(--s${i % 4})` }));
    const base = new Array(KEPT).fill(0);
    for (const line of lines) {
      line.points = line.values.map((value, i) => {
        if (value === null) return null;
        const low = this.stacked ? base[i] : 0;
        if (this.stacked) base[i] += value;
        return [low, low + value];
      });
    }
    const highest = Math.max(0, ...lines.flatMap(line => line.points.map(point => point ? point[1] : 0)));
    const top = this.top ?? ceiling(highest);
    const x = (i, length) => LEFT + (WIDTH - LEFT) * (KEPT - length + i) / (KEPT - 1);
    const y = value => 6 + (HEIGHT - BOTTOM - 6) * (1 - value / top);
    this.plot.replaceChildren();
    for (const part of [0, 0.5, 1]) {
      this.plot.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(part * top), y2: y(part * top) }));
      this.plot.append(svg("text", { x: LEFT - 6, y: y(part * top) + 3.5, "text-anchor": "end" }, short(part * top)));
    }
    this.plot.append(svg("text", { x: LEFT, y: HEIGHT - 2 }, "2 min ago"), svg("text", { x: WIDTH, y: HEIGHT - 2, "text-anchor": "end" }, "now"));
    for (const line of lines) this.drawLine(line, x, y);
    this.writeLegend(lines);
  }

  drawLine({ points, colour }, x, y) {
    let path = "", area = "";
    for (let i = 0; i < points.length;) {
      while (i < points.length && points[i] === null) ++i;
      const first = i;
      while (i < points.length && points[i] !== null) ++i;
      if (i === first) break;
      const run = points.slice(first, i).map(([low, high], k) => [x(first + k, points.length), y(low), y(high)]);
      const upper = run.map(([px, , high]) => `${px.toFixed(1)},${high.toFixed(1)}`).join("L");
      path += `M${upper}${run.length === 1 ? "h.1" : ""}`;
      area += `M${upper}L${run.reverse().map(([px, low]) => `${px.toFixed(1)},${low.toFixed(1)}`).join("L")}Z`;
    }
    this.plot.append(svg("path", { d: area, style: `fill:${colour};opacity:${this.stacked ? 0.35 : 0.09}` }));
    this.plot.append(svg("path", { d: path, style: `fill:none;stroke:${colour};stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round` }));
  }

  writeLegend(lines) {
    this.legend.replaceChildren(...lines.map(({ name, values, colour }) => {
      const item = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = colour;
      const last = values[values.length - 1];
      item.append(mark, `${name} ${short(last)}${last === null ? "" : this.unit}`);
      return item;
    }));
  }
}
