#!/usr/bin/env python3
"""Laws of collectives from made-up times whose law is known.

    collectives_test.py SOURCE_FOLDER
"""
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1])
del sys.argv[1]
spec = importlib.util.spec_from_file_location("laws", SOURCE / "cost_models/rows/collectives.py")
laws = importlib.util.module_from_spec(spec)
spec.loader.exec_module(laws)

SIZES = [1024 * 4**i for i in range(10)]  # to 256 MiB


def rows(kind, us, ranks=(2, 4, 8)):
    return [laws.Row(kind, k, size, us(k, size), True) for k in ranks for size in SIZES]


def ring(k, size):
    """8 us, 1 us a hop, and chunks at 100 GB/s."""
    return 8 + (k - 1) * (1 + size / k * 1e-5)


class Laws(unittest.TestCase):
    def test_least_squares_hold_at_zero_what_would_be_below(self):
        above, below = laws.least_squares([[1.0, 0.0], [0.0, 1.0]], [3.0, -2.0])
        self.assertAlmostEqual(above, 3, places=5)
        self.assertEqual(below, 0)
        found = laws.least_squares([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]], [3.0, 5.0, 7.0])
        self.assertAlmostEqual(found[0], 1, places=5)
        self.assertAlmostEqual(found[1], 2, places=5)

    def test_a_ring_is_found_from_few_ranks_and_goes_on_to_more(self):
        model = laws.Model("a100", rows("all-gather", ring, ranks=(2, 4)))
        for k in (2, 8, 16):
            for size in (4096, 1 << 20, 64 << 20):
                self.assertAlmostEqual(model.us(laws.Row("all-gather", k, size, 1, True)) / ring(k, size), 1, delta=0.03)

    def test_ranks_that_crowd_one_another_are_told_from_those_that_do_not(self):
        def crowded(k, size):
            return 8 + (k - 1) * (1 + (k / 2)**1.5 * size / k * 1e-4)
        self.assertAlmostEqual(laws.Model("l40s", rows("all-gather", crowded)).law.crowding, 1.5)
        self.assertEqual(laws.Model("l40s", rows("all-gather", ring)).law.crowding, 0)
        self.assertEqual(laws.Model("a100", rows("all-gather", crowded)).law.crowding, 0)

    def test_large_sums_of_eight_ranks_may_be_made_in_switches(self):
        def fast(k, size):
            slow = 8 + 2 * (k - 1) * (1 + size / k * 1e-5)
            return min(slow, 50 + (1 + 1 / k) * size * 4e-6) if k == 8 else slow
        model = laws.Model("h100", rows("all-reduce", fast))
        self.assertAlmostEqual(model.in_switch[0], 50, delta=1)
        self.assertAlmostEqual(model.in_switch[1] * 1e6, 4, delta=0.01)
        self.assertIsNone(laws.Model("a100", rows("all-reduce", fast)).in_switch)

    def test_a_fifth_of_the_shapes_is_left_out_by_type_ranks_and_bytes_alone(self):
        folds = [row.fold() for row in rows("all-gather", ring)]
        self.assertEqual(folds, [row.fold() for row in rows("all-gather", lambda k, size: 1)])
        self.assertEqual(set(folds), set(range(5)))

    def test_errors_are_of_what_was_not_fitted(self):
        def bent(k, size):
            return ring(k, size) * (3 if k == 8 else 1)
        line = laws.report("a100", "all-gather", rows("all-gather", bent))
        self.assertEqual(line[:3], ["a100", "all-gather", 30])
        self.assertAlmostEqual(float(line[-1]), 2 / 3, delta=0.02)  # a third of the times of 8 ranks

    def test_sheets_of_deepbench_give_rows_of_one_host_and_a_process_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sheet.csv"
            path.write_text("GEMM,,1,2,,,3,,,NCCL MPI\nAll-Reduce,,Size,chips\n,,1000,2,,,0.5,,1,NCCL 2.0 MPI\n,,1000,16,2,,0.7,,1,NCCL 2.0 MPI\n"
                            ",,1000,4,,,0.6,,1,NCCL 2.0 Single\n,,1000,8,,,,,,NCCL MPI\n")
            found, _ = laws.deepbench(path)
            self.assertEqual([(row.kind, row.ranks, row.size, row.us) for row in found], [("all-reduce", 2, 4000, 500)])

    def test_the_shipped_laws_have_a_line_of_errors_each(self):
        text = (SOURCE / "cost_models/data/collectives.yaml").read_text().partition("\nlaws:\n")[2]
        lines = (SOURCE / "results/gpu/collectives.csv").read_text().splitlines()
        self.assertEqual(text.count("  - gpu: "), len(lines) - 1)


unittest.main()
