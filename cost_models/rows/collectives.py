#!/usr/bin/env python3
"""Laws of collectives inside one host from times that others measured with NCCL (AIConfigurator: ai-dynamo/aiconfigurator@095f58a,
Apache-2.0; DeepBench: baidu-research/DeepBench@da81ba7, Apache-2.0).

    python3 cost_models/rows/collectives.py DATA OUT    # DATA/aiconfigurator/GPU.nccl.csv.zst, DATA/deepbench/P100_Results_FP32.csv

Of b bytes on k ranks each rank sends chunks of c = b / k in n steps, so that the time is

    start(c) + hops(k) hop + n(k) (k / 2)^crowding step(c)

with n = k - 1, twice that for an all-reduce; as many hops, but log2 k for an all-to-all, whose sends begin together. `start` and `step`
are straight between knots, and more bytes never take less. `crowding` is 0 where each GPU has links of its own to a switch. Where NVSwitches add up (in f16, not in 8
bits), an all-reduce may also take in_switch: start + (1 + 1/k) b / rate, and takes the faster one.

Rewrites the laws of cost_models/data/collectives.yaml, fitted to all rows, and writes OUT/collectives.csv: errors on a fifth of the shapes
that a fit has not seen, each fifth in turn, and on 8 ranks when fitted to 2 and 4.
"""
import csv
import io
import math
import statistics
import subprocess
import sys
import zlib
from pathlib import Path

LAWS = Path(__file__).parent.parent / "data/collectives.yaml"
#: GPU kind of the catalogue: name of the rows, link kind of each GPU.
MACHINES = {"a100": ("a100_sxm", "nvswitch-a100"), "h100": ("h100_sxm", "nvswitch-h100"), "h200": ("h200_sxm", "nvswitch-h200"),
            "b200": ("b200_sxm", "nvswitch-b200"), "l40s": ("l40s", "pcie4-x16")}
DEEPBENCH = ("p100-sxm2", "P100_Results_FP32.csv", "pcie3-x16")
ADDING = ("h100", "h200", "b200")  # their switches add up (SHARP)
CROWDED = ("l40s",)  # copies of GPUs that reach one another through the hosts' memory
TYPES = {"all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "alltoall": "all-to-all"}
KNOTS = [2**exponent for exponent in range(9, 29, 2)]  # [bytes of a chunk]
SMOOTH = 0.5  # weight of a bend beside a row's relative error
IN_SWITCH_FROM = 64 << 20  # bytes, on 8 ranks: there half precision takes less than 8 bits of as many bytes
CROWDING = [step / 10 for step in range(25)]
SMALL = 64 << 10  # bytes


class Row:
    def __init__(self, kind, ranks, size, us, half):
        self.kind, self.ranks, self.size, self.us, self.half = kind, ranks, size, us, half

    def is_in_switch(self):
        return self.half and self.kind == "all-reduce" and self.ranks == 8 and self.size >= IN_SWITCH_FROM

    def fold(self):
        return zlib.crc32(f"{self.kind} {self.ranks} {self.size}".encode()) % 5


def aiconfigurator(path):
    """Half-precision rows; of 8 bits those of collectives that do not add, and the large all-reduces that no switch adds up."""
    text = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout
    source, _, table = text.partition("\n")
    rows = []
    for one in csv.DictReader(io.StringIO(table)):
        kind, half, ranks = TYPES[one["op_name"]], one["nccl_dtype"] == "half", int(one["num_gpus"])
        row = Row(kind, ranks, int(one["message_size"]) * (2 if half else 1), float(one["us"]), half)
        if half or kind in ("all-gather", "all-to-all") or (kind == "all-reduce" and ranks == 8 and row.size >= IN_SWITCH_FROM):
            rows.append(row)
    return rows, "measured: " + source.split(",")[2].split(";")[0].strip() + ", ai-dynamo/aiconfigurator@095f58a, Apache-2.0"


def deepbench(path):
    rows, inside = [], False
    with path.open(newline="") as file:
        for cells in csv.reader(file):
            inside = inside or cells[0] == "All-Reduce"
            # One host, a process for each GPU as in frameworks: one for all was a fifth slower.
            if inside and cells[2].isdigit() and cells[6] and not cells[4] and "NCCL" in cells[9] and "MPI" in cells[9]:
                rows.append(Row("all-reduce", int(cells[3]), 4 * int(cells[2]), 1e3 * float(cells[6]), False))
    return rows, "measured: NCCL 2.0, P100 on PCI Express, baidu-research/DeepBench@da81ba7, Apache-2.0"


def steps(kind, ranks):
    return (2 if kind == "all-reduce" else 1) * (ranks - 1)


def hops(kind, ranks):
    return math.log2(ranks) if kind == "all-to-all" else steps(kind, ranks)


def weights(chunk):
    """Of the knots, at a chunk: straight between them, flat before the first, the last slope beyond."""
    found = [0.0] * len(KNOTS)
    if chunk <= KNOTS[0]:
        found[0] = 1.0
        return found
    left = min(max(i for i, knot in enumerate(KNOTS) if knot <= chunk), len(KNOTS) - 2)
    share = (chunk - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    found[left], found[left + 1] = 1 - share, share
    return found


def terms(row, crowding):
    """What the unknowns are multiplied with: starts at the knots, hop, steps at the knots but the first, where they are 0."""
    at = weights(row.size / row.ranks)
    crowd = steps(row.kind, row.ranks) * (row.ranks / 2)**crowding
    return [*at, hops(row.kind, row.ranks), *(crowd * weight for weight in at[1:])]


def solve(matrix, right):
    """Gauss with the largest pivot; rows whose pivot vanishes stay 0."""
    n = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right)]
    for column in range(n):
        best = max(range(column, n), key=lambda i: abs(rows[i][column]))
        rows[column], rows[best] = rows[best], rows[column]
        for i in range(column + 1, n):
            factor = rows[i][column] / rows[column][column]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column])]
    found = [0.0] * n
    for i in reversed(range(n)):
        found[i] = (rows[i][n] - sum(rows[i][j] * found[j] for j in range(i + 1, n))) / rows[i][i]
    return found


def least_squares(lines, rights):
    """None below 0: Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23)."""
    n = len(lines[0])
    units = [math.sqrt(sum(line[i] ** 2 for line in lines)) or 1.0 for i in range(n)]
    lines = [[value / unit for value, unit in zip(line, units)] for line in lines]
    matrix = [[sum(line[i] * line[j] for line in lines) + (1e-9 if i == j else 0) for j in range(n)] for i in range(n)]
    right = [sum(line[i] * value for line, value in zip(lines, rights)) for i in range(n)]
    found, free = [0.0] * n, []
    for _ in range(10 * n):
        slopes = {i: right[i] - sum(a * b for a, b in zip(matrix[i], found)) for i in range(n) if i not in free}
        best = max(slopes, key=slopes.get, default=None)
        if best is None or slopes[best] <= 1e-9:
            break
        free.append(best)
        while True:
            wanted = dict(zip(free, solve([[matrix[i][j] for j in free] for i in free], [right[i] for i in free])))
            below = [i for i in free if wanted[i] <= 0]
            share = min((found[i] / (found[i] - wanted[i]) for i in below), default=1)
            found = [value + share * (wanted.get(i, 0.0) - value) for i, value in enumerate(found)]
            if not below:
                break
            free = [i for i in free if found[i] > 1e-12 and not (i in below and found[i] <= 1e-9)]
            found = [value if i in free else 0.0 for i, value in enumerate(found)]
    return [value / unit for value, unit in zip(found, units)]


def bends(rows, crowding):
    """Where a start or step leaves the straight line between its neighbours, beside the time of the nearest rows."""
    count, lines = len(KNOTS), []
    mean = statistics.fmean(steps(row.kind, row.ranks) * (row.ranks / 2)**crowding for row in rows)
    for j in range(1, count - 1):
        near = sorted(rows, key=lambda row: abs(math.log(row.size / row.ranks / KNOTS[j])))[:3]
        unit = math.sqrt(SMOOTH) / statistics.geometric_mean(row.us for row in near)
        share = (KNOTS[j] - KNOTS[j - 1]) / (KNOTS[j + 1] - KNOTS[j - 1])
        for first, scale in ((0, unit), (count, unit * mean)):
            line = [0.0] * (2 * count)
            line[first + j], line[first + j + 1] = scale, -share * scale
            if first + j - 1 != count:  # the hop stands where the first step would
                line[first + j - 1] = -(1 - share) * scale
            lines.append(line)
    return lines


class Law:
    """Fitted to relative errors; a row that is far off counts less, as times of NCCL jump where it changes its protocol."""

    def __init__(self, rows, crowding):
        self.kind, self.crowding = rows[0].kind, crowding
        lines = [[term / row.us for term in terms(row, crowding)] for row in rows]
        smooth, counts = bends(rows, crowding), [1.0] * len(rows)
        for _ in range(12):
            scaled = [[value * math.sqrt(count) for value in line] for line, count in zip(lines, counts)]
            self.unknowns = least_squares(scaled + smooth, [math.sqrt(count) for count in counts] + [0.0] * len(smooth))
            errors = [abs(sum(a * b for a, b in zip(line, self.unknowns)) - 1) for line in lines]
            counts = [0.05 / max(error, 0.02) for error in errors]
        self.loss = statistics.fmean(min(error, 0.5) for error in errors)

    def us(self, row):
        """Fewer bytes take no longer."""
        smaller = [Row(row.kind, row.ranks, knot * row.ranks, 1, row.half) for knot in KNOTS if knot * row.ranks < row.size]
        return max(sum(term * value for term, value in zip(terms(one, self.crowding), self.unknowns)) for one in [row, *smaller])


def in_switch(rows):
    """(start [us], us a byte) of large all-reduces."""
    lines = [[1 / row.us, row.size * (1 + 1 / row.ranks) / row.us] for row in rows]
    return least_squares(lines, [1.0] * len(lines))


class Model:
    """Of one GPU and type."""

    def __init__(self, gpu, rows):
        switched = [row for row in rows if row.is_in_switch()] if gpu in ADDING else []
        self.in_switch = in_switch(switched) if len(switched) > 1 else None
        plain = [row for row in rows if row not in switched]
        self.law = min((Law(plain, crowding) for crowding in (CROWDING if gpu in CROWDED else [0])), key=lambda law: law.loss)

    def us(self, row):
        ring = self.law.us(row)
        if self.in_switch is None:
            return ring
        return min(ring, self.in_switch[0] + self.in_switch[1] * row.size * (1 + 1 / row.ranks))


def off(model, row):
    return row.size, abs(model.us(row) / row.us - 1)


def medians(errors):
    parts = [[error for size, error in errors if (size < SMALL) == small] for small in (True, False)]
    return [f"{statistics.median(part):.3f}" if part else "" for part in parts]


def report(gpu, kind, rows):
    """A line of OUT/collectives.csv."""
    asked = [row for row in rows if row.half or kind != "all-reduce" or gpu == DEEPBENCH[0]]
    unseen = []
    for fold in range(5):
        model = Model(gpu, [row for row in rows if row.fold() != fold])
        unseen += [off(model, row) for row in asked if row.fold() == fold]
    few = Model(gpu, [row for row in rows if row.ranks != 8])
    return [gpu, kind, len(rows), *medians(unseen), f"{max(error for _, error in unseen):.3f}",
            *medians([off(few, row) for row in asked if row.ranks == 8])]


def number(value):
    return f"{value:.4g}"


def printed(gpu, link, source, model):
    count, values = len(KNOTS), model.law.unknowns
    knots = ", ".join(f"[{knot}B, {number(start)}, {number(step)}]"
                      for knot, start, step in zip(KNOTS, values[:count], [0.0, *values[count + 1:]]))
    switch = ""
    if model.in_switch is not None:
        switch = f"\n    in_switch: {{start: {number(model.in_switch[0])}, us_per_mib: {number(model.in_switch[1] * 2**20)}}}"
    return (f"  - gpu: {gpu}\n    type: {model.law.kind}\n    link: {link}\n    hop: {number(values[count])}\n"
            f"    crowding: {model.law.crowding:g}\n    knots: [{knots}]{switch}\n    source: \"{source}\"\n")


def main(data, out):
    laws, lines = [], []
    sheets = [(gpu, link, *aiconfigurator(data / f"aiconfigurator/{name}.nccl.csv.zst")) for gpu, (name, link) in MACHINES.items()]
    gpu, name, link = DEEPBENCH
    sheets.append((gpu, link, *deepbench(data / "deepbench" / name)))
    for gpu, link, rows, source in sheets:
        for kind in TYPES.values():
            some = [row for row in rows if row.kind == kind]
            if some:
                lines.append(report(gpu, kind, some))
                laws.append(printed(gpu, link, source, Model(gpu, some)))
    head = LAWS.read_text().partition("\nlaws:\n")[0]
    LAWS.write_text(head + "\nlaws:\n" + "".join(laws))
    with (out / "collectives.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["gpu", "type", "rows", "unseen_small", "unseen_large", "unseen_worst", "ranks8_small", "ranks8_large"])
        writer.writerows(lines)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*(Path(one) for one in sys.argv[1:]))
