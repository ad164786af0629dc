"""Rows that no GPU alone can answer: they are listed, and count in no error here.

SimuMax on B200 and Megatron on A100 (tensor, pipeline and expert parallel), torchtitan and Sailor (several hosts), all-reduces of vidur.
"""
import csv

from .case import Case

#: File: source, GPU, type, the columns that name a row.
FILES = {"simumax_b200.csv": ("SimuMax", "b200", "bf16", ["case"]), "torchtitan_h100.csv": ("torchtitan", "h100", "bf16", ["model", "gpus", "techniques"]),
         "megatron_a100_2021.csv": ("Megatron-LM", "a100", "f16", ["model", "gpus"]), "sailor.csv": ("Sailor", "", "f16", ["file"]),
         "all_reduce_vidur.csv": ("all-reduce", "", "", ["set", "gpus", "bytes"])}


def cases(data):
    for file, (source, gpu, dtype, columns) in FILES.items():
        with (data / "measured" / file).open(newline="") as rows:
            for row in csv.DictReader(rows):
                name = " ".join(row[column] for column in columns)
                yield Case(source, gpu, dtype, row[columns[0]].split("_l")[0], name, 0, left_out="needs collectives")
