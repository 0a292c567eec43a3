local function place(n, row, columns, up, down)
  if row == n then return 1 end
  local ways = 0
  for c = 0, n - 1 do
    if not (columns[c + 1] or up[row + c + 1] or down[row - c + n + 1]) then
      columns[c + 1] = true; up[row + c + 1] = true; down[row - c + n + 1] = true
      ways = ways + place(n, row + 1, columns, up, down)
      columns[c + 1] = false; up[row + c + 1] = false; down[row - c + n + 1] = false
    end
  end
  return ways
end
local function flags(count)
  local list = {}
  for i = 1, count do list[i] = false end
  return list
end
for n = 4, 11 do print(n .. " queens: " .. place(n, 0, flags(n), flags(2 * n), flags(2 * n + 1))) end
