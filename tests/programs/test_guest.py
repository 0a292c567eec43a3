"""The programs of bench/guests/ print the same checksum whatever the nursery, and with collections at random places."""
import os
import subprocess
import sys

program, size = sys.argv[1:]
SETTINGS = [{}, {"CRADLE_GC_NURSERY": "32K"}, {"CRADLE_STRESS": "auto"}]
said = [subprocess.run([program, size], env={**os.environ, **settings}, stdout=subprocess.PIPE, check=True).stdout
        for settings in SETTINGS]
if not said[0] or len(set(said)) != 1:
    sys.exit(f"the checksums differ: {said}")
