#!/usr/bin/env python3
"""The parts of profiler/pytorch/record.py that need no torch: statistics, files, resuming, traces."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "profiler", "pytorch", "record.py")
sys.path.insert(0, os.path.dirname(PROGRAM))

import kineto  # noqa: E402
import machine  # noqa: E402
import recording  # noqa: E402

HEADER = {"kind": "pytorch.copies", "device": "cpu", "machine": {"cpu": "one", "cores": 2}}


class Statistics(unittest.TestCase):
    def test_quantiles_interpolate_between_order_statistics(self):
        samples = [40.0, 10.0, 30.0, 20.0]  # ordered 10 20 30 40; place of q is 3q
        self.assertEqual(recording.quantile(samples, 0.5), 25.0)
        self.assertEqual(recording.quantile(samples, 0.0), 10.0)
        self.assertEqual(recording.quantile(samples, 1.0), 40.0)
        self.assertAlmostEqual(recording.quantile(samples, 0.05), 11.5)
        self.assertEqual(recording.quantile([7.0], 0.95), 7.0)

    def test_an_outlier_moves_neither_median_nor_spread(self):
        # Median 12; distances 2 1 0 1 988, their median 1.
        found = recording.summarise([10.0, 11.0, 12.0, 13.0, 1000.0])
        self.assertEqual((found["count"], found["median_us"], found["mad_us"], found["min_us"]), (5, 12.0, 1.0, 10.0))

    def test_two_samples_have_no_spread(self):
        self.assertIsNone(recording.summarise([1.0, 2.0])["mad_us"])


class Files(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.addCleanup(self._folder.cleanup)

    def test_a_failed_write_leaves_the_old_file_and_no_other(self):
        path = os.path.join(self.folder, "a")
        recording.write_atomically(path, b"old")
        with self.assertRaises(TypeError):
            recording.write_atomically(path, "text, not bytes")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"old")
        self.assertEqual(os.listdir(self.folder), ["a"])

    def test_each_codec_here_gives_back_what_it_took(self):
        data = bytes(range(256)) * 999
        for suffix in {".gz", recording.compressed_suffix()}:
            packed = recording.compress(data, suffix)
            self.assertLess(len(packed), len(data) // 10)
            self.assertEqual(recording.decompress(packed), data)
        self.assertEqual(recording.decompress(b"plain"), b"plain")

    def test_frames_one_behind_the_other_are_read_to_the_end(self):
        pieces = [b"first" * 999, b"", b"last"]
        for suffix in {".gz", recording.compressed_suffix()}:
            packed = b"".join(recording.compress(piece, suffix) for piece in pieces)
            self.assertEqual(recording.decompress(packed), b"".join(pieces))
        if recording.compressed_suffix() == ".zst":
            packed = b"".join(recording.compress(piece, ".zst") for piece in pieces)
            for damaged in (packed[:-3], packed + b"more"):
                with self.assertRaisesRegex(recording.RecordingError, "damaged or was cut"):
                    recording.decompress(damaged)

    def test_finished_parts_are_not_measured_again(self):
        calls = []

        def measure():
            calls.append(1)
            return {"rows": [len(calls)]}

        for _ in range(2):
            target = recording.Recording(self.folder, "copies", HEADER)
            recording.measure_part(target, "pinned_h2d", measure, dict)
        self.assertEqual(len(calls), 1)
        document = recording.read_document(recording.find_compressed(os.path.join(self.folder, "copies.json")))
        self.assertEqual(document["parts"]["pinned_h2d"]["result"], {"rows": [1]})
        self.assertEqual((document["format"], document["version"]), ("stowplan.trace", 1))

    def test_outcomes_and_what_is_tried_again(self):
        def unavailable():
            raise recording.Unavailable("no such engine")

        def broken():
            raise RuntimeError("out of memory")

        target = recording.Recording(self.folder, "copies", HEADER)
        recording.measure_part(target, "a", unavailable, dict)
        recording.measure_part(target, "b", broken, dict)
        target = recording.Recording(self.folder, "copies", HEADER)
        self.assertEqual(target.outcomes(), {"a": "skipped", "b": "failed"})
        self.assertTrue(target.done("a"))
        self.assertFalse(target.done("b"))
        self.assertEqual(recording.measure_part(target, "b", lambda: 1, dict), "measured")

    def test_a_spent_budget_records_nothing_of_the_part(self):
        def interrupted():
            raise recording.BudgetSpent("stopped")

        target = recording.Recording(self.folder, "copies", HEADER)
        with self.assertRaises(recording.BudgetSpent):
            recording.measure_part(target, "a", interrupted, dict)
        self.assertIsNone(recording.find_compressed(target.stem))

    def test_another_machine_is_refused(self):
        target = recording.Recording(self.folder, "copies", HEADER)
        target.put("a", {"outcome": "measured"})
        with self.assertRaisesRegex(recording.RecordingError, "'machine'"):
            recording.Recording(self.folder, "copies", {**HEADER, "machine": {"cpu": "two", "cores": 2}})

    def test_not_a_number_is_never_written(self):
        target = recording.Recording(self.folder, "copies", HEADER)
        with self.assertRaises(ValueError):
            target.put("a", {"outcome": "measured", "result": float("nan")})
        self.assertIsNone(recording.find_compressed(target.stem))

    def test_broken_files_are_refused_with_their_name(self):
        cases = {
            "truncated.json.gz": recording.compress(b'{"format": "stowplan.trace"}' * 99, ".gz")[:-20],
            "text.json": b"not json",
            "other.json": json.dumps({"format": "stowplan.graph", "version": 1}).encode(),
            "newer.json": json.dumps({"format": "stowplan.trace", "version": 2}).encode(),
            "list.json": b"[]",
        }
        for name, content in cases.items():
            path = os.path.join(self.folder, name)
            recording.write_atomically(path, content)
            with self.assertRaisesRegex(recording.RecordingError, name):
                recording.read_document(path)


class Budgets(unittest.TestCase):
    def test_ends_at_its_seconds_and_when_stopped(self):
        time = [100.0]
        budget = recording.Budget(5, clock=lambda: time[0])
        budget.check()
        time[0] = 104.9
        budget.check()
        time[0] = 105.0
        with self.assertRaises(recording.BudgetSpent):
            budget.check()
        endless = recording.Budget(None)
        endless.check()
        endless.stop()
        with self.assertRaises(recording.BudgetSpent):
            endless.check()


def _kernel(ts, dur, correlation, stream=7):
    return {"ph": "X", "cat": "kernel", "name": "k", "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": stream, "correlation": correlation}}


def _launch(ts, correlation):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": ts, "dur": 4.0,
            "args": {"correlation": correlation}}


class Kineto(unittest.TestCase):
    def test_gaps_and_latencies(self):
        # Stream 7: 10-12, 15-16, so a gap of 3; stream 9 alone has none. Launches at 5, 6, 7.
        events = [_launch(5, 1), _launch(6, 2), _launch(7, 3), _kernel(15, 1, 2), _kernel(10, 2, 1), _kernel(11, 1, 3, 9)]
        self.assertEqual(kineto.gaps_us(kineto.kernels(events)), [3])
        self.assertEqual(sorted(kineto.launch_latencies_us(events)), [4, 5, 9])

    def test_summary_counts_the_known_faults(self):
        # The kernel of launch 2 starts before its launch and inside kernel 1; a third has no time stamp.
        events = [_launch(0, 1), _launch(20, 2), _kernel(10, 5, 1), _kernel(12, 1, 2), _kernel(0, 1, 9),
                  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "ts": 1, "dur": 2.0,
                   "args": {"bytes": 64}},
                  {"ph": "s", "cat": "ac2g", "name": "flow", "ts": 1}]
        found = kineto.summary(events)
        self.assertEqual([found[key] for key in ("kernels", "launches", "copies", "zero_stamps", "overlaps",
                                                 "before_launch", "kernel_us")], [3, 2, 1, 1, 1, 1, 7])
        self.assertEqual(kineto.copies_us(events), {("Memcpy HtoD (Pinned -> Device)", 64): [2.0]})

    def test_events_without_a_frame_are_a_trace_too(self):
        self.assertEqual(kineto.parse('[{"name": "aten::mm", "ph": "X"}]'), [{"name": "aten::mm", "ph": "X"}])

    def test_bulk_is_dropped_and_nothing_else(self):
        # stowplan reads an op's values, a collective's name and the number that an execution trace has too.
        read = {"Input Dims": [[2, 2]], "Concrete Inputs": ["", "[1, 1]"], "Collective name": "allreduce", "Record function id": 7}
        event = {"name": "aten::mm", "args": {**read, "Input Strides": [[2, 1]], "Ev Idx": 3}}
        slim = json.loads(kineto.without_bulk(json.dumps({"traceEvents": [event], "schemaVersion": 1})))
        self.assertEqual(slim, {"traceEvents": [{"name": "aten::mm", "args": read}], "schemaVersion": 1})


class CommandLine(unittest.TestCase):
    def _call(self, *arguments):
        return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True)


class Machine(unittest.TestCase):
    def test_describes_this_one_and_keeps_a_given_revision(self):
        found = machine.describe()
        self.assertGreaterEqual(found["cores"], 1)
        self.assertGreater(found["memory_bytes"], 1 << 20)
        self.assertEqual(machine.revision("abc", ROOT), "abc")
        self.assertEqual(machine.revision(None, os.sep), "unknown")


if __name__ == "__main__":
    unittest.main()
