#!/usr/bin/env python3
"""Times of link kinds from measured sends and receives (microsoft/vidur@7d47513, MIT) and all-reduces
(VIA-Research/vTrain@f8dda84, MIT): curves and how far they are off.

    python3 cost_models/rows/links.py VIDUR VTRAIN OUT    # VIDUR/send_recv_{a100_dgx,h100_dgx,h100_pairwise_nvlink}.csv,
                                                    # VTRAIN/a100_AR_GPU{2,8}_1M_1024M_LUT

Prints curves as cost_models/data/links.yaml has them, and the best latency and bandwidth, fitted to every other size, and
writes OUT/links.csv: the errors of both for the other sizes. links.yaml says which of the two it has.
"""
import csv
import math
import statistics
import sys
from pathlib import Path

KNOTS = 8
# Link kind, file, devices of the two in one box, what it was measured on, in the fit.
CASES = [("nvlink-a100", "send_recv_a100_dgx", 2, "A100, DGX", True),
         ("nvlink-h100", "send_recv_h100_dgx", 2, "H100, DGX", True),
         ("nvlink-h100", "send_recv_h100_pairwise_nvlink", 2, "H100, pairs by NVLink", False),
         ("infiniband-ndr", "send_recv_h100_dgx", 1, "H100, two DGX", True)]
# Link kind, file, ranks, what it was measured on, in the fit.
RINGS = [("nvlink-a100-ring", "a100_AR_GPU8_1M_1024M_LUT", 8, "A100, DGX, all-reduce of 8", True),
         ("nvlink-a100-ring", "a100_AR_GPU2_1M_1024M_LUT", 2, "A100, DGX, all-reduce of 2", False)]


def samples(path, devices):
    """[(bytes, us)] by size."""
    with path.open() as file:
        rows = [(int(row["size"]), float(row["time_stats.send_recv.median"]) * 1e3) for row in csv.DictReader(file)
                if int(row["devices_per_node"]) == devices]
    return sorted(rows)


def ring_steps(path, ranks):
    """[(bytes, us)] of a step of the ring: of b bytes on k ranks there are 2 (k - 1), each with b / k."""
    with path.open() as file:
        rows = [row.split(",") for row in file if row[0].isdigit()]
    return sorted((int(row[0]) // ranks, float(row[3]) / 1e3 / (2 * (ranks - 1))) for row in rows)


def medians(rows, count=64):
    """Of groups of sizes that are equally wide in logarithms, so that single times do not decide."""
    low, high = math.log(rows[0][0]), math.log(rows[-1][0])
    groups = {}
    for size, us in rows:
        groups.setdefault(int((math.log(size) - low) / (high - low) * count), []).append((size, us))
    points = []
    for _, group in sorted(groups.items()):
        size = statistics.median_low([one[0] for one in group])
        near = [us * (size / other if size > 4e6 else 1) for other, us in group]  # large ones grow with the size
        points.append((size, max(statistics.median(near), points[-1][1] if points else 0)))
    return points


def at(knots, size):
    for (left, low), (right, high) in zip(knots, knots[1:]):
        if size <= right or (right, high) == knots[-1]:
            return low + (high - low) * (size - left) / (right - left)
    raise ValueError(size)


def choose(points, count):
    """The points, first and last among them, between which relative squares are least."""
    n = len(points)
    best = [[math.inf] * n for _ in range(count)]
    back = [[0] * n for _ in range(count)]
    best[0][0] = 0
    for right in range(1, n):
        for left in range(right):
            loss = sum((at([points[left], points[right]], size) / us - 1) ** 2 for size, us in points[left + 1:right])
            for k in range(1, count):
                if best[k - 1][left] + loss < best[k][right]:
                    best[k][right], back[k][right] = best[k - 1][left] + loss, left
    chosen, where = [], n - 1
    for k in range(count - 1, 0, -1):
        chosen.append(points[where])
        where = back[k][where]
    return [points[0], *reversed(chosen)]


def curve(rows):
    """From 0 bytes on, where the smallest copies' time is taken."""
    knots = choose(medians(rows), KNOTS)
    return [(0, round(knots[0][1], 1)), *((size, round(us, 1)) for size, us in knots[1:])]


def latency_and_bandwidth(rows):
    """Least squares of relative errors."""
    ones = cross = squares = left = right = 0
    for size, us in rows:
        a, b = 1 / us, size / us
        ones, cross, squares, left, right = ones + a * a, cross + a * b, squares + b * b, left + a, right + b
    determinant = ones * squares - cross * cross
    return (left * squares - right * cross) / determinant, (ones * right - cross * left) / determinant


def error_cells(rows, predict):
    errors = sorted(abs(predict(size) / us - 1) for size, us in rows)
    return [f"{statistics.median(errors):.4f}", f"{errors[-1]:.4f}"]


def main(vidur, vtrain, out):
    fitted = {}
    cases = [(kind, samples(vidur / f"{name}.csv", devices), board, in_fit) for kind, name, devices, board, in_fit in CASES]
    cases += [(kind, ring_steps(vtrain / name, ranks), board, in_fit) for kind, name, ranks, board, in_fit in RINGS]
    with (out / "links.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["link", "measured_on", "in_fit", "sizes", "curve_median", "curve_worst", "line_median",
                         "line_worst"])
        for kind, rows, board, in_fit in cases:
            if in_fit:
                fitted[kind] = curve(rows[::2]), latency_and_bandwidth(rows[::2])
                knots, (alpha, beta) = fitted[kind]
                print(f"{kind}: [{', '.join(f'[{size}B, {us}us]' for size, us in knots)}], or {alpha:.1f} us and "
                      f"{1e-3 / beta:.0f} GB/s")
            knots, (alpha, beta) = fitted[kind]
            held = rows[1::2] if in_fit else rows
            writer.writerow([kind, board, "half of the sizes" if in_fit else "no", len(held),
                             *error_cells(held, lambda size: at(knots, size)),
                             *error_cells(held, lambda size: alpha + beta * size)])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*(Path(one) for one in sys.argv[1:]))
