#!/usr/bin/env python3
"""Captures the models of models.py, forwards and for training, and writes what CI reads: rows.json and graphs/*.json.zst.

    pip install -r requirements.txt          in an environment of its own; CPU alone
    PYTHONPATH=BUILD/python python capture_models.py [NAME...]

A few minutes. rows.json has of each model its weights, the FLOPs of a forward pass and of a training step as captured, those that
counter.py counted apart. graphs/ has the training step where it is small enough, else the forward
pass where that is.
"""

import json
import pathlib
import sys
import time
import warnings

import zstandard

HERE = pathlib.Path(__file__).parent
MOST = 32_000  # bytes of a graph that is kept


def main():
    warnings.simplefilter("ignore")
    import torch
    from counter import Counted
    from models import MODELS
    from stowplan import capture

    rows = json.loads((HERE / "rows.json").read_text()) if (HERE / "rows.json").exists() else {}
    for function in MODELS:
        name = function.__name__
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        begin, kept = time.monotonic(), None
        row = {"torch": torch.__version__}
        for old in (HERE / "graphs").glob(f"{name}.*"):
            old.unlink()
        for train in (False, True):
            model, args, kwargs = capture.given_by(function, name)
            graph = capture.graph(model, args, kwargs, train=train, optimizer="adam", name=name)
            told = graph.to_dict()
            kind = "step" if train else "forward"
            row["parameters"] = told["attributes"]["parameters"]
            row[kind + "_flops"] = sum(op.get("flops", 0) for op in told["ops"])
            row[kind + "_ops"] = len(told["ops"])
            if told["attributes"].get("unknown_ops"):
                row["unknown_ops"] = told["attributes"]["unknown_ops"]
            model, args, kwargs = capture.given_by(function, name)
            capture.graph(Counted(model), args, kwargs, train=train)
            counted = Counted.latest
            packed = zstandard.ZstdCompressor(level=19).compress(json.dumps(told, separators=(",", ":")).encode())
            if len(packed) <= MOST:
                kept = (HERE / "graphs" / f"{name}.{kind}.json.zst", packed)
            row["counted_" + kind + "_flops"] = counted.forward_flops + (counted.backward_flops if train else 0)
        if kept is not None:
            kept[0].write_bytes(kept[1])
        rows[name] = row
        print(f"{name:24} {time.monotonic() - begin:5.1f} s  {row['step_ops']:6} ops {len(packed):7} bytes  {row['parameters']:14,}"
              f"  forward {row['forward_flops'] / max(row['counted_forward_flops'], 1):.4f}  step {row['step_flops'] / max(row['counted_step_flops'], 1):.4f}",
              row.get("unknown_ops", ""), flush=True)
    (HERE / "rows.json").write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
