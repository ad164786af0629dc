#!/usr/bin/env python3
"""Draws the README's picture from results/placeto/rows.csv: the best step time found against the placements sampled.

    tables/studies/picture.py [ROWS] [OUT]     default: results/placeto/rows.csv, docs/picture.svg

Inception-V3 on two K80, native rules; lines are medians over the seeds of a cell. The same rows give the same bytes.
"""

import csv
import math
import os
import re
import statistics
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BLOCK, ROW = "native", "inception_v3_2"
PUBLISHED = os.path.join(ROOT, "tables", "papers", "placeto.yaml")
LINES = [  # column, label, colour
    ("random_group", "random groups", "#8a8f98"),
    ("placeto", "Placeto", "#c2571a"),
    ("pilot", "pilot", "#8250df"),
    ("factored_copy", "copying control", "#0a7d4f"),
    ("local_search", "local search", "#0969da"),
]
WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 40, 44
LOW, HIGH = 0.7, 1.9  # seconds
FIRST, LAST = 1, 20_000  # samples


def x_of(sample):
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(sample / FIRST) / math.log(LAST / FIRST)


def y_of(seconds):
    seconds = min(max(seconds, LOW), HIGH)
    return TOP + (HEIGHT - TOP - BOTTOM) * (HIGH - seconds) / (HIGH - LOW)


def curves(rows, column):
    found = []
    for row in rows:
        if (row["block"], row["row"], row["column"]) == (BLOCK, ROW, column) and row["curve"]:
            points = [point.split(":") for point in row["curve"].split(" ")]
            found.append([(int(sample), float(micros) / 1e6) for sample, micros in points])
    if not found:
        sys.exit(f"picture.py: no curve of {BLOCK}:{ROW}/{column} in the rows")
    return found


def best_after(curve, sample):
    best = math.inf
    for at, seconds in curve:
        if at > sample:
            break
        best = seconds
    return best


def path_of(found):
    samples = sorted({sample for curve in found for sample, _ in curve} | {LAST})
    steps, last = [], None
    for sample in samples:
        value = statistics.median(best_after(curve, sample) for curve in found)
        if not math.isfinite(value) or (value == last and sample != LAST):
            continue
        if last is None:
            steps.append(f"M{x_of(sample):.1f} {y_of(value):.1f}")
        else:
            steps.append(f"H{x_of(sample):.1f}V{y_of(value):.1f}")
        last = value
    return "".join(steps), last


def runtime(rows, column):
    for row in rows:
        if (row["block"], row["row"], row["column"]) == (BLOCK, ROW, column) and row["runtime_us"]:
            return float(row["runtime_us"]) / 1e6
    sys.exit(f"picture.py: no runtime of {BLOCK}:{ROW}/{column} in the rows")


def spread(labels, gap):
    """Moves labels apart that would overlap: [(y, …)] sorted by y, none nearer than gap."""
    placed = []
    for y, *rest in sorted(labels):
        placed.append([max(y, placed[-1][0] + gap) if placed else y, *rest])
    return placed


def draw(rows, published):
    bound = float(next(r["lower_bound_us"] for r in rows if (r["block"], r["row"], r["column"]) == (BLOCK, ROW, "local_search"))) / 1e6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" font-size="12" role="img" '
        'aria-label="Best step time found against placements sampled, Inception-V3 on two K80">',
        "<style>text{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}"
        ".grid{stroke:#3d444d}.card{fill:#0d1117}}</style>",
        f'<rect class="card" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="600">Inception-V3 on two GPUs: seconds per training step of the best placement so far</text>',
    ]
    for tenth in range(8, 20, 2):
        y = y_of(tenth / 10)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f} s</text>')
    for sample in (1, 10, 100, 1_000, 10_000):
        x = x_of(sample)
        out.append(f'<text class="soft" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{sample:,}</text>')
    out.append(f'<text class="soft" x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">placements sampled</text>')
    for seconds, label in ((runtime(rows, "single_gpu"), "one GPU"), (runtime(rows, "expert"), "human expert"), (bound, "no placement is faster (proven)")):
        y = y_of(seconds)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#59636e" stroke-dasharray="4 4"/>')
        out.append(f'<text class="soft" x="{LEFT + 6}" y="{y - 5:.1f}">{label}, {seconds:.2f} s</text>')
    labels = []
    for column, label, colour in LINES:
        path, last = path_of(curves(rows, column))
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        labels.append((y_of(last), f"{label} {last:.2f}", colour))
    for y, label, colour in spread(labels, 15):
        out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4:.1f}" style="fill:{colour}" font-weight="600">{label}</text>')
    x, y = x_of(published["samples"]), y_of(published["seconds"])
    out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="none" stroke="#c2571a" stroke-width="2"/>')
    out.append(f'<text x="{x - 8:.1f}" y="{y + 18:.1f}" text-anchor="end" style="fill:#c2571a">published Placeto, {published["seconds"]:.2f} s</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    rows_path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "results", "placeto", "rows.csv")
    out_path = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "docs", "picture.svg")
    csv.field_size_limit(1 << 30)
    with open(rows_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(PUBLISHED, newline="", encoding="utf-8") as file:
        row = re.search(rf"key: {ROW},.*?published: {{.*?placeto: ([\d.]+)s.*?published_samples: {{.*?placeto: (\d+)", file.read(), re.S)
    published = {"seconds": float(row[1]), "samples": int(row[2])}
    picture = draw(rows, published)
    with open(out_path, "w", encoding="utf-8") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
