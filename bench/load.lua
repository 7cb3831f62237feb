-- A script for wrk: sends the lines of the file BODIES as bodies to the path UPATH, one after the other, and ends with one line
-- of figures. Threads begin at different lines, so that they do not send the same body at the same time.
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local path = os.getenv("UPATH")
local headers = { ["Content-Type"] = "application/json" }
local key = os.getenv("KEY")
if key then headers["Authorization"] = "Bearer " .. key end
local priority = os.getenv("PRIORITY")
if priority then headers["x-priority"] = priority end
math.randomseed(os.time())
local at = math.random(#bodies)

request = function()
  at = at % #bodies + 1
  return wrk.format("POST", path, headers, bodies[at])
end

done = function(summary, latency, _)
  local errors = summary.errors
  io.write(string.format("RESULT requests=%d rate=%.2f p50=%.3f p90=%.3f p99=%.3f max=%.3f refused=%d broken=%d\n",
    summary.requests, summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(90) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
