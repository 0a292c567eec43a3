#!/usr/bin/env python3
"""Stands for a test that cannot be built for this system: says why, and is counted as skipped."""

import sys

print(" ".join(sys.argv[1:]))
sys.exit(77)
