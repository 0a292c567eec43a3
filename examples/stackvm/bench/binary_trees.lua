local Tree = {}
Tree.__index = Tree
function Tree.new(left, right) return setmetatable({left = left, right = right}, Tree) end
function Tree:count()
  if self.left == nil then return 1 end
  return 1 + self.left:count() + self.right:count()
end
local function build(depth)
  if depth == 0 then return Tree.new(nil, nil) end
  return Tree.new(build(depth - 1), build(depth - 1))
end
local most = 14
local long_lived = build(most)
for depth = 4, most, 5 do
  local rounds = 1
  for i = depth, most + 1 do rounds = rounds * 2 end
  local nodes = 0
  for i = 1, rounds do nodes = nodes + build(depth):count() end
  print(rounds .. " trees of depth " .. depth .. " have " .. nodes .. " nodes")
end
print("the long-lived tree has " .. long_lived:count() .. " nodes")
