#!/usr/bin/env python3
"""Measured ops of DeepBench (baidu-research/DeepBench@da81ba7, Apache-2.0) as tables that `stowplan calibrate` reads.

    python3 cost_models/rows/deepbench.py FOLDER OUT    # FOLDER/GPU_Results_PRECISION.csv, as published

Writes OUT/KIND.FORMAT.csv. The P100's sheets name heights first, the others' widths. Sums in f16 are in f32.
"""
import csv
import sys
from pathlib import Path

SHEETS = {"P100_Results_FP32": ("p100-sxm2", "f32", "CUDA 8, cuDNN 6"), "V100_Results_FP32": ("v100", "f32", "CUDA 10, cuDNN 7.6"),
          "V100_Results_FP16_ip_Mixed_math": ("v100", "f16", "CUDA 10, cuDNN 7.6"), "T4_Results_FP32": ("t4", "f32", "CUDA 10, cuDNN 7.6"),
          "T4_Results_FP16_ip_Mixed_math": ("t4", "f16", "CUDA 10, cuDNN 7.6")}
COLUMNS = ["op", "name", "dtype", "batch", "rows", "columns", "depth", "steps", "in_channels", "out_channels", "kernel", "kernel_height", "side",
           "height", "stride", "stride_height", "padding", "padding_height", "us"]
#: NeuSight has forty times as many of these.
ELSEWHERE = {("t4", "f32", "linear")}
CELLS = {"vanilla": "rnn", "lstm": "lstm", "gru": "gru"}


def milliseconds(text):
    """Nothing where a cell says why there is no number."""
    try:
        return float(text)
    except ValueError:
        return None


def convolution(cells, heights_first):
    names = ["side", "height", "in_channels", "batch", "out_channels"]
    pairs = [("kernel", "kernel_height"), ("padding", "padding_height"), ("stride", "stride_height")]
    for pair in pairs:
        names += reversed(pair) if heights_first else pair
    return dict(zip(names, cells))


def rows_of(path, heights_first):
    section = ""
    for cells in csv.reader(path.open()):
        if cells[0].startswith(("Dense", "Conv", "Recurrent", "All-Reduce")):
            section = cells[0].strip()
        elif not cells[2].strip().isdigit() or section.startswith("All-Reduce"):
            continue
        elif section.startswith("Dense"):
            yield {"op": "linear", "rows": cells[3], "columns": cells[2], "depth": cells[4]}, cells[8]
        elif section.startswith("Conv"):
            shape = convolution(cells[2:13], heights_first)
            for name, at in (("", 13), ("image", 14), ("filter", 15)):
                yield {"op": "conv2d", "name": name, **shape}, cells[at]
        else:
            cell = CELLS[section.split("- ")[1].lower()]
            for name, at in (("", 6), ("_image", 7), ("_filter", 8)):
                yield {"op": "recurrent", "name": cell + name, "columns": cells[2], "rows": cells[3], "steps": cells[4]}, cells[at]


def main(folder, out):
    Path(out).mkdir(parents=True, exist_ok=True)
    for sheet, (kind, dtype, library) in SHEETS.items():
        with (Path(out) / f"{kind}.{dtype}.csv").open("w", newline="") as file:
            file.write(f"# machine: {sheet.split('_')[0]}\n# device: {kind}\n# library: {library}\n# time: device\n# date: 2026-11-28\n"
                       "# source: baidu-research/DeepBench@da81ba7\n# licence: Apache-2.0\n")
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for row, ms in rows_of(Path(folder) / f"{sheet}.csv", sheet.startswith("P100")):
                if milliseconds(ms) and (kind, dtype, row["op"]) not in ELSEWHERE:
                    writer.writerow({"dtype": dtype, **row, "us": round(1000 * milliseconds(ms), 3)})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
