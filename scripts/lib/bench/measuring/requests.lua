-- Sends the requests of a file in turn, from a place of its own in each run: lines of method, path and body with tabs
-- between them. Reports exact figures in one line of JSON.
local texts = {}
local at = 0

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

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'figures {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
