local live = {}
local sum = 0
for i = 0, 399999 do
  local key = "key" .. i % 50000
  if i % 3 == 2 then
    live[key] = nil
  else
    live[key] = i
  end
  live[i % 20000] = key
end
local count = 0
for _, v in pairs(live) do
  count = count + 1
  sum = sum + (type(v) == "number" and v or #v)
end
local small = 0
for i = 0, 199999 do
  local point = {x = i, y = i + 1}
  point["z"] = point.x + point.y
  small = small + point.z
end
print(count .. " " .. sum .. " " .. small)
