local bytes = 0
local seen, distinct = {}, 0
for round = 0, 59 do
  local parts = {}
  for i = 0, 4999 do parts[#parts + 1] = "item " .. i .. " of round " .. round end
  local text = table.concat(parts, ",")
  bytes = bytes + #text
  for part in string.gmatch(text, "[^,]*") do
    local word = string.sub(part, 6, 7)
    if not seen[word] then distinct = distinct + 1 end
    seen[word] = (seen[word] or 0) + 1
  end
end
local longest = ""
for i = 0, 2999 do longest = longest .. "x" .. i % 10 end
print(bytes .. " " .. distinct .. " " .. seen["12"] .. " " .. #longest)
