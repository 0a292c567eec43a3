# Read by tools/setup, quickstart, check and manual, in the tree's root: where they put what they make. made is "", for the tree
# itself, or the path of a folder in the user's cache where the tree cannot be written; what they make is named "${made}build".
# venv is the folder of Python tools: the tree's own, if it is complete.
made=
if ! [ -w . ]; then
  cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/cradle
  made=$cache/$(basename "$PWD")-$(printf %s "$PWD" | cksum | cut -d ' ' -f 1)/
  if ! mkdir -p "$made" 2>/dev/null || ! [ -w "$made" ]; then
    echo "$PWD cannot be written, and neither can $cache: set XDG_CACHE_HOME to a folder that can be." >&2
    exit 1
  fi
  [ -n "${place_is_told-}" ] || echo "$PWD cannot be written: this goes to $made"
  export place_is_told=yes
fi
venv=.venv
cmp -s tools/python-tools.txt .venv/made-from || venv=${made}.venv
