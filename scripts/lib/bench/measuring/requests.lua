-- Sends the requests of a file in turn, from a place of its own in each run: lines of method, path and body with tabs
-- between them. Reports what it observed in one line of JSON.
local texts = {}
local at = 0
-- `done` runs in another Lua state than `init`, without its arguments.
local connections = tonumber(os.getenv("BENCH_CONNECTIONS"))

function init(args)
  for line in io.lines(args[1]) do
    local method, path, body = line:match("^(%u+)\t([^\t]*)\t(.*)$")
    texts[#texts + 1] = wrk.format(method, path, nil, body ~= "" and body or nil)
  end
  math.randomseed(os.time())
  at = math.random(#texts)
end

function request()
  at = at % #texts + 1
  return texts[at]
end

-- The latencies of the answers, from the least, and how many had each. wrk adds latencies of requests that it would
-- have sent at a steady rate (stats_correct in its stats.c). Here each connection sends its next request when it has
-- an answer, and no request is missing: this takes them out.
local function observed(summary, latency)
  local values, counts = {}, {}
  for i = 1, #latency do
    local value, count = latency(i)
    values[i], counts[value] = value, count
  end
  local each = math.floor(summary.requests / connections)
  local interval = each > 0 and math.floor(summary.duration / each) or math.huge
  for i = #values, 1, -1 do
    local value = values[i]
    if value >= 2 * interval then
      for added = value - interval, interval + 1, -interval do
        if counts[added] then counts[added] = counts[added] - counts[value] end
      end
    end
  end
  return values, counts
end

local function percentile(part, values, counts)
  local all, seen = 0, 0
  for _, count in pairs(counts) do all = all + count end
  for _, value in ipairs(values) do
    seen = seen + counts[value]
    if seen >= part * all then return value end
  end
  return 0
end

function done(summary, latency)
  local values, counts = observed(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'figures {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\n', summary.requests, summary.duration,
    percentile(0.5, values, counts), percentile(0.99, values, counts),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
