#!/usr/bin/env python3
"""Curves of links from made-up sends, receives and all-reduces whose law is known.

    links_test.py SOURCE_FOLDER
"""
import csv
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1])
del sys.argv[1]
SCRIPT = SOURCE / "cost_models/rows/links.py"
spec = importlib.util.spec_from_file_location("links", SCRIPT)
links = importlib.util.module_from_spec(spec)
spec.loader.exec_module(links)

SIZES = [int(1024 * 1.15**i) for i in range(80)]  # to 64 MB


def bent(size):
    """10 us up to 1 MB, then 100 GB/s: no latency and bandwidth say that."""
    return 10 + max(0, size - 1e6) * 1e-5


class Links(unittest.TestCase):
    def test_latency_and_bandwidth_of_a_straight_law_are_found(self):
        alpha, beta = links.latency_and_bandwidth([(size, 5 + size * 2e-5) for size in SIZES])
        self.assertAlmostEqual(alpha, 5)
        self.assertAlmostEqual(beta, 2e-5)

    def test_a_curve_bends_where_the_law_does_and_begins_at_no_bytes(self):
        rows = [(size, bent(size)) for size in SIZES]
        knots = links.curve(rows[::2])
        self.assertEqual(knots[0], (0, 10))
        self.assertLessEqual(len(knots), links.KNOTS)
        self.assertEqual(sorted(knots), knots)
        self.assertTrue(all(low <= high for (_, low), (_, high) in zip(knots, knots[1:])))
        for size, us in rows[1::2]:
            self.assertLess(abs(links.at(knots, size) / us - 1), 0.06, size)

    def test_a_curve_goes_on_with_its_last_slope(self):
        self.assertEqual(links.at([(0, 1), (10, 2), (20, 4)], 40), 8)

    def test_a_time_of_a_ring_is_cut_into_its_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "times"
            path.write_text("size,a,b,ns\n8000,0,0,140000\n4000,0,0,70000\n")
            # Of 8 ranks: 14 steps with an eighth of the bytes each.
            self.assertEqual(links.ring_steps(path, 8), [(500, 5.0), (1000, 10.0)])

    def test_errors_are_of_the_sizes_that_were_not_fitted_and_of_boards_that_were_not(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in {case[1] for case in links.CASES}:
                with (root / f"{name}.csv").open("w", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow(["size", "devices_per_node", "time_stats.send_recv.median"])
                    slower = 2 if "pairwise" in name else 1
                    for size in SIZES:
                        for devices in (1, 2):
                            writer.writerow([size, devices, slower * bent(size) / 1e3])
            for _, name, ranks, _, _ in links.RINGS:
                (root / name).write_text("".join(
                    f"{size * ranks},0,0,{bent(size) * 2 * (ranks - 1) * 1e3}\n" for size in SIZES))
            subprocess.run([sys.executable, SCRIPT, root, root, root], check=True, stdout=subprocess.DEVNULL)
            with (root / "links.csv").open() as file:
                rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), len(links.CASES) + len(links.RINGS))
        by_board = {row["measured_on"]: row for row in rows}
        fitted, other = by_board["H100, DGX"], by_board["H100, pairs by NVLink"]
        self.assertEqual((fitted["in_fit"], fitted["sizes"]), ("half of the sizes", "40"))
        self.assertLess(float(fitted["curve_worst"]), 0.06)
        self.assertGreater(float(fitted["line_worst"]), 0.1)
        self.assertEqual((other["in_fit"], other["sizes"]), ("no", "80"))
        self.assertAlmostEqual(float(other["curve_median"]), 0.5, delta=0.02)  # half of a time twice as long


if __name__ == "__main__":
    unittest.main()
