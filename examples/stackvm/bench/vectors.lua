local Vector = {}
Vector.__index = Vector
function Vector.new(x, y, z) return setmetatable({x = x, y = y, z = z}, Vector) end
function Vector:plus(other) return Vector.new(self.x + other.x, self.y + other.y, self.z + other.z) end
function Vector:times(factor) return Vector.new(self.x * factor, self.y * factor, self.z * factor) end
function Vector:dot(other) return self.x * other.x + self.y * other.y + self.z * other.z end
local function simulate(steps)
  local position, velocity = Vector.new(1, 0, 0), Vector.new(0, 1, 0.5)
  for i = 1, steps do
    local pull = position:times(-1 / (1 + position:dot(position)))
    velocity = velocity:plus(pull:times(0.01))
    position = position:plus(velocity:times(0.01))
  end
  return position
end
local result = simulate(400000)
print(math.floor(result.x * 1000000) .. " " .. math.floor(result.y * 1000000) .. " " .. math.floor(result.z * 1000000))
