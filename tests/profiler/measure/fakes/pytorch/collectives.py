"""Collectives without PyTorch."""

import json
import sys

with open(sys.argv[sys.argv.index("--out") + 1], "w", encoding="utf-8") as file:
    rows = [{"op": "all_reduce", "bytes": 4096, "ranks": 2, "host": {"median_us": 21.5}}]
    json.dump({"format": "stowplan.trace", "version": 1, "parts": {"collectives": {"result": {"rows": rows}}}}, file)
