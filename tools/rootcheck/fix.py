def run(*a): raise SystemExit(3)
