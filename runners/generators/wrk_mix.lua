-- The script for a mix of requests: wrk -s wrk_mix.lua URL -- MIX_FILE, written by wrk_mix.py.
--
-- A line of the file is an endpoint, NAME METHOD PATH [CONTENT_TYPE BODY_FILE]; the last one is the sequence, numbers of such
-- lines. All of it is read before wrk measures: request() takes the next number and returns a text that is there already. Without response(), wrk copies no
-- headers or bodies into Lua, and says nothing of an endpoint's own statuses or latencies.

dofile("/load/wrk.lua")
local print_report = done

-- Each thread has a Lua state of its own, and begins at another place of the sequence.
local STEP = 140
local threads = {}

function setup(thread)
   thread:set("number", #threads)
   threads[#threads + 1] = thread
end

local texts, sequence, place = {}, {}, 0
-- wrk calls request() of its first thread once to see whether it pipelines, and sends nothing.
local is_tried

function init(args)
   local lines = {}
   for line in io.lines(args[1]) do
      lines[#lines + 1] = line
   end
   for word in table.remove(lines):gmatch("%d+") do
      sequence[#sequence + 1] = tonumber(word)
   end
   -- done() reads these two, from a state of its own.
   names, sent = {}, {}
   for each, line in ipairs(lines) do
      local name, method, path, content_type, body_file = line:match("^(%S+) (%S+) (%S+) ?(%S*) ?(%S*)$")
      local headers, body = { ["Host"] = wrk.headers["Host"] }, nil
      if body_file ~= "" then
         local file = assert(io.open(body_file, "rb"))
         body = file:read("*a")
         file:close()
         headers["Content-Type"] = content_type
      end
      names[each], texts[each], sent[each] = name, wrk.format(method, path, headers, body), 0
   end
   place, is_tried = number * STEP % #sequence, number ~= 0
end

function request()
   if not is_tried then
      is_tried = true
      return texts[sequence[1]]
   end
   place = place % #sequence + 1
   local each = sequence[place]
   sent[each] = sent[each] + 1
   return texts[each]
end

function done(summary, latency, requests)
   print_report(summary, latency, requests)
   local sums, printed = {}, {}
   for _, thread in ipairs(threads) do
      for each, count in ipairs(thread:get("sent")) do
         sums[each] = (sums[each] or 0) + count
      end
   end
   for each, name in ipairs(threads[1]:get("names")) do
      printed[each] = name .. ":" .. sums[each]
   end
   io.write("wrkbook-sent " .. table.concat(printed, " ") .. "\n")
end
