"""Predicts every measured row with default prices, and by the roofline alone.

    python -m cost_models.rows.measured DATA STOWPLAN OUT [--cache FOLDER] [--only SOURCE] [--types]    # in the root of the repository

DATA has measured/, gpu/neusight/ and gpu/traces/tracelens/. Writes OUT/measured.csv (each row as predicted / measured) and OUT/summary.md. Captured
graphs are kept in FOLDER (OUT/graphs), so that another run needs the simulations alone. --types writes OUT/types.csv, which shares of a predicted step
the op types have. Needs torch, torchvision, timm and transformers, and the
package stowplan on PYTHONPATH.
"""
import argparse
import csv
import hashlib
import re
import sys
import tempfile
import time
from pathlib import Path

from . import layouts, llama_cpp, llm_foundry, neusight_models, report, tensorflow_2017, timm_models, traced
from .captures import Captures
from .simulation import Simulator

OPS = Path(__file__).parents[3] / "results/gpu/ops.csv"


def all_cases(data, stowplan):
    for source in (timm_models, llm_foundry, llama_cpp, tensorflow_2017, traced, layouts):
        yield from source.cases(data)
    yield from neusight_models.cases(data, stowplan)


def taught(ops):
    """Whether ops of a case's GPU and type are in the fit of the default prices, or its family's models in that of the law for tensor cores."""
    known = {(row["kind"], row["format"]) for row in ops}

    def tell(case):
        if case.source.startswith("timm inference"):
            family = re.match("(tf_)?([a-z]+)", case.name)[2]
            return "its family" if int(hashlib.md5(family.encode()).hexdigest()[:8], 16) % 2 == 0 else "no"
        if (case.source, case.gpu) == ("traces", "h100"):
            return "some of its ops"
        return "ops of its GPU" if (case.gpu, case.dtype) in known else "no"

    return tell


def main():
    usage, _, text = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=usage, epilog=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "stowplan", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--only", default="", help="sources whose name begins so")
    parser.add_argument("--types", action="store_true", help="write types.csv too")
    options = parser.parse_args()
    stowplan = options.stowplan.resolve()
    predictions, failed, begin = [], [], time.time()
    with tempfile.TemporaryDirectory() as scratch:
        simulator = Simulator(stowplan, Captures(options.cache or options.out / "graphs"), scratch)
        for case in all_cases(options.data, stowplan):
            if not case.source.startswith(options.only):
                continue
            if not (case.build or case.workload or case.simulate):
                failed.append((case, case.left_out))
                continue
            try:
                predictions.append(simulator.predict(case))
            except RuntimeError as error:
                failed.append((case, str(error)))
                print(f"{case.source}: {case.name}: {error}", file=sys.stderr)
        if options.types:
            report.write_types(options.out, [(one.case, simulator.types(one.case)) for one in predictions if not one.case.simulate])
    report.write(options.out, predictions, failed, taught(list(csv.DictReader(OPS.open()))))
    print(f"{len(predictions)} predicted, {len(failed)} not, {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
