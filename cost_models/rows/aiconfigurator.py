#!/usr/bin/env python3
"""Device times of AIConfigurator (ai-dynamo/aiconfigurator@095f58a, Apache-2.0) as tables that `stowplan calibrate` reads.

    python3 cost_models/rows/aiconfigurator.py FOLDER OUT    # FOLDER/GPU.KIND.csv.zst, GPU of KINDS, KIND of OPS

Writes OUT/GPU.KIND.csv, and OUT/GPU.KIND.events.csv of what was launched without a CUDA graph, so that the host bounds small ops (products
whose scales stand for blocks). Attention over a cache (`generation`) has one query a sequence. Of experts that are split, a row holds
what one GPU does: its columns, its experts, and its share of the choices.
"""
import csv
import subprocess
import sys
from pathlib import Path

KINDS = {"a100_sxm": "a100", "h100_sxm": "h100", "h200_sxm": "h200", "b200_sxm": "b200", "l40s": "l40s"}
FORMATS = {"bfloat16": "bf16", "fp8": "f8", "fp8_block": "f8_block", "nvfp4": "f4", "int4_wo": "bf16_i4", "w4a16_mxfp4": "bf16_f4",
           "w4a8_mxfp4_mxfp8": "f8_f4"}
#: Exponent of the power law by which tokens choose experts.
SKEW = {"balanced": 0, "power_law_1.01": 1.01, "power_law_1.2": 1.2}


def attention(row, queries, causal):
    cache = FORMATS[row.get("kv_cache_dtype", "bfloat16")]
    return {"op": "attention", "dtype": "bf16" if cache == "bf16" else f"bf16_{cache}", "batch": row["batch_size"], "heads": row["num_heads"],
            "key_heads": row.get("num_key_value_heads", row["num_heads"]), "queries": queries, "keys": row.get("isl") or int(row["step"]) + 1,
            "size": row["head_dim"], "causal": causal, "window": row.get("window_size", 0)}


def experts(row):
    split = int(row["moe_ep_size"])
    return {"op": "experts", "dtype": FORMATS[row["moe_dtype"]], "rows": row["num_tokens"], "depth": row["hidden_size"],
            "columns": int(row["inter_size"]) / int(row["moe_tp_size"]), "choices": row["topk"],
            "experts": int(row["num_experts"]) / split, "all_experts": row["num_experts"], "skew": SKEW[row["distribution"]]}


OPS = {"gemm": lambda row: {"op": "linear", "dtype": FORMATS[row["gemm_dtype"]], "rows": row["m"], "columns": row["n"], "depth": row["k"]},
       "context_attention": lambda row: attention(row, row["isl"], 1),
       "generation_attention": lambda row: attention(row, 1, 0),
       "encoder_attention": lambda row: attention(row, row["isl"], 0),
       "moe": experts}


def write(path, rows, facts):
    with path.open("w", newline="") as file:
        file.writelines(f"# {fact}\n" for fact in facts)
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(folder, out):
    Path(out).mkdir(parents=True, exist_ok=True)
    for gpu, kind in KINDS.items():
        for name, convert in OPS.items():
            path = Path(folder) / f"{gpu}.{name}.csv.zst"
            if not path.exists():
                continue
            source, *lines = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout.splitlines()
            rows = [{**convert(row), "us": row["us"]} for row in csv.DictReader(lines)]
            for time, suffix in (("device", ""), ("events", ".events")):
                part = [row for row in rows if (name == "gemm" and row["dtype"] == "f8_block") == (time == "events")]
                if part:
                    write(Path(out) / f"{gpu}.{name}{suffix}.csv", part, [
                        f"machine: {gpu}", f"device: {kind}", f"library: {source.split(',')[2].split(';')[0].strip()}", f"time: {time}",
                        "date: 2026-11-28", "source: ai-dynamo/aiconfigurator@095f58a", "licence: Apache-2.0"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
