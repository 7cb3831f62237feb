// The page: tiles and plots from /metrics once a second, and the playground.
import { labelled, mean, parse, quantile, sum } from "./metrics.js";
import { startPlayground } from "./playground.js";
import { Plot, short } from "./plots.js";
import { showQuality } from "./quality.js";
import { read, readJson, setKey } from "./server.js";

const PERIOD = 1000;
const by = id => document.getElementById(id);
let plots, before = null, beforeTime = 0;

function makePlots() {
  const parent = by("charts");
  return {
    throughput: new Plot(parent, "Throughput", { unit: "/s" }),
    latency: new Plot(parent, "Latency, ms"),
    queue: new Plot(parent, "Waiting by class", { stacked: true }),
    stages: new Plot(parent, "Time by stage, ms", { stacked: true }),
    batches: new Plot(parent, "Tokens in a batch"),
    lanes: new Plot(parent, "Lanes busy", { unit: " %", top: 100 }),
  };
}

function showTiles(values) {
  by("tiles").replaceChildren(...values.map(([name, value, unit]) => {
    const tile = document.createElement("div");
    tile.className = "tile";
    const number = document.createElement("b"), small = document.createElement("small"), label = document.createElement("span");
    small.textContent = unit;
    number.append(value, small);
    label.textContent = name;
    tile.append(number, label);
    return tile;
  }));
}

function update(now, time) {
  const seconds = (time - beforeTime) / 1000;
  const rate = name => (sum(now, name) - sum(before, name)) / seconds;
  const milliseconds = share => {
    const value = quantile(now, before, "inlay_request_seconds", share);
    return value === null ? null : value * 1000;
  };
  const stage = name => (mean(now, before, `inlay_${name}_seconds`) ?? 0) * 1000;
  const p50 = milliseconds(0.5), p95 = milliseconds(0.95), p99 = milliseconds(0.99);
  const queue = Object.fromEntries(labelled(now, "inlay_queue_requests", "priority"));
  const earlier = labelled(before, "inlay_lane_busy_seconds_total", "lane");
  const lanes = Object.fromEntries([...labelled(now, "inlay_lane_busy_seconds_total", "lane")].map(
    ([lane, busy]) => [`lane ${lane}`, Math.min(100, Math.max(0, (busy - (earlier.get(lane) ?? 0)) / seconds * 100))]));
  const failed = rate("inlay_requests_failed_total");
  showTiles([
    ["requests", short(rate("inlay_requests_total")), "/s"], ["texts", short(rate("inlay_texts_total")), "/s"],
    ["tokens", short(rate("inlay_tokens_total")), "/s"], ["median latency", short(p50), p50 === null ? "" : "ms"],
    ["99th percentile", short(p99), p99 === null ? "" : "ms"], ["texts in a batch", short(mean(now, before, "inlay_batch_texts")), ""], ["failed", short(failed), "/s"],
    ["memory", short(sum(now, "inlay_resident_bytes") / 1048576), "MB"],
  ]);
  plots.throughput.add({ requests: rate("inlay_requests_total"), texts: rate("inlay_texts_total") });
  plots.latency.add({ P50: p50, P95: p95, P99: p99 });
  plots.queue.add(queue);
  plots.stages.add({ tokenise: stage("tokenize"), queue: stage("queue"), compute: stage("compute"), render: stage("render") });
  plots.batches.add({ mean: mean(now, before, "inlay_batch_tokens") });
  plots.lanes.add(lanes);
}

function showState(text, good) {
  by("state").textContent = text;
  by("state").className = `state ${good ? "good" : "bad"}`;
}

async function tick() {
  try {
    const now = parse(await read("/metrics")), time = performance.now();
    if (before) update(now, time);
    before = now;
    beforeTime = time;
    const ready = sum(now, "inlay_ready") === 1;
    showState(ready ? "ready" : "draining", ready);
  } catch (error) {
    showState(error instanceof TypeError ? "not reachable" : error.message, false);
  }
  setTimeout(tick, PERIOD);
}

async function loadModels() {
  const { data } = await readJson("/v1/models");
  by("model").replaceChildren(...data.map(({ id }) => new Option(id, id)));
  const { prompts, ...info } = await readJson("/info");
  showQuality(by("quality"), info);
  by("prompt").replaceChildren(new Option("server's default", ""), ...prompts.map(name => new Option(name, name)));
}

by("key").addEventListener("change", event => {
  setKey(event.target.value);
  start();
});

async function start() {
  try {
    await loadModels();
    by("key-box").hidden = true;
    await startPlayground();
  } catch (error) {
    showState(error.message, false);
  }
}

plots = makePlots();
start();
tick();
