"""Collectives without PyTorch."""

import json
import sys

with open(sys.argv[sys.argv.index("--out") + 1], "w", encoding="utf-8") as file:
    json.dump({"format": "stowplan.trace", "version": 1, "parts": {}}, file)
