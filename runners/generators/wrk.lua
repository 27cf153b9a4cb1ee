-- The script that wrkbook hands to wrk: wrk -s wrk.lua URL -- METHOD [CONTENT_TYPE BODY_FILE]
--
-- It defines neither request() nor response() nor delay(), so wrk builds the request once per thread, never enters
-- Lua while it measures, and does not copy headers and bodies (script_is_static and script_want_response in wrk's
-- src/script.c). init() runs before wrk formats that one request.

function init(args)
   wrk.method = args[1]
   if args[3] then
      local file = assert(io.open(args[3], "rb"))
      wrk.body = file:read("*a")
      file:close()
      wrk.headers["Content-Type"] = args[2]
   end
end

-- The struct of wrk's src/stats.h, the same in 4.0 to 4.2, read in place: the documented way, latency(i), searches from
-- the smallest value on every call, which took 10 s for 10,542 values of up to 1.9 s.
local ffi = require("ffi")
ffi.cdef("typedef struct { uint64_t count, limit, min, max; uint64_t data[]; } wrk_stats;")

-- See steps.py.
local function steps(raw, first, last)
   local printed, before = {}, 0
   for value = first, last do
      local count = tonumber(raw.data[value])
      if count > 0 then
         local step = value - before
         printed[#printed + 1] = step == 1 and string.format("%.0f", count) or string.format("%d:%.0f", step, count)
         before = value
      end
   end
   return table.concat(printed, " ")
end

local function json(stats)
   local raw = ffi.cast("wrk_stats **", stats)[0]
   if raw.count == 0 then
      return '{"total":0,"min":0,"max":0,"mean":0,"stdev":0,"histogram":""}'
   end
   assert(tonumber(raw.min) == stats.min and tonumber(raw.max) == stats.max, "this wrk keeps its statistics differently")
   return string.format(
      '{"total":%.0f,"min":%d,"max":%d,"mean":%.17g,"stdev":%.17g,"histogram":"%s"}',
      tonumber(raw.count), stats.min, stats.max, stats.mean, stats.stdev, steps(raw, stats.min, stats.max)
   )
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'wrkbook {"duration_us":%d,"requests":%.0f,"bytes":%.0f,'
         .. '"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d},"latency_us":%s,"thread_rps":%s}\n',
      summary.duration, summary.requests, summary.bytes,
      errors.connect, errors.read, errors.write, errors.status, errors.timeout, json(latency), json(requests)
   ))
end
