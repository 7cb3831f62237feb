// Reads the text of /metrics and turns two readings into rates and percentiles.

// name -> [{labels, value}]
export function parse(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    if (!line || line[0] === "#") continue;
    const space = line.lastIndexOf(" ");
    const brace = line.indexOf("{");
    const name = brace < 0 ? line.slice(0, space) : line.slice(0, brace);
    const labels = {};
    if (brace >= 0) {
      for (const [, key, value] of line.slice(brace, space).matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[key] = value;
    }
    if (!metrics.has(name)) metrics.set(name, []);
    metrics.get(name).push({ labels, value: Number(line.slice(space + 1)) });
  }
  return metrics;
}

const fits = (labels, wanted) => Object.entries(wanted).every(([key, value]) => labels[key] === value);

export function sum(metrics, name, wanted = {}) {
  return (metrics.get(name) ?? []).filter(line => fits(line.labels, wanted)).reduce((total, line) => total + line.value, 0);
}

export function labelled(metrics, name, label, wanted = {}) {
  const result = new Map();
  for (const line of metrics.get(name) ?? []) {
    if (fits(line.labels, wanted)) result.set(line.labels[label], (result.get(line.labels[label]) ?? 0) + line.value);
  }
  return result;
}

// What was observed between two readings: cumulative counts by upper bound.
function buckets(now, before, name) {
  const earlier = labelled(before, name + "_bucket", "le");
  return [...labelled(now, name + "_bucket", "le")]
    .map(([bound, count]) => [bound === "+Inf" ? Infinity : Number(bound), count - (earlier.get(bound) ?? 0)])
    .sort((a, b) => a[0] - b[0]);
}

// The share's quantile, on a straight line inside its bucket; null where nothing was observed.
export function quantile(now, before, name, share) {
  const counts = buckets(now, before, name);
  const total = counts.length ? counts[counts.length - 1][1] : 0;
  if (total <= 0) return null;
  const rank = share * total;
  let lower = 0, below = 0;
  for (const [bound, count] of counts) {
    if (count >= rank) {
      if (bound === Infinity) return lower;
      return lower + (bound - lower) * (count > below ? (rank - below) / (count - below) : 1);
    }
    lower = bound;
    below = count;
  }
  return lower;
}

export function mean(now, before, name) {
  const count = sum(now, name + "_count") - sum(before, name + "_count");
  return count > 0 ? (sum(now, name + "_sum") - sum(before, name + "_sum")) / count : null;
}
