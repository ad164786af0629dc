#!/usr/bin/env python3
"""Training steps of timm models on an RTX 3090 beside what timm's authors measured (huggingface/pytorch-image-models, results/).

    pip install -r requirements.txt          in an environment of its own; CPU alone
    PYTHONPATH=BUILD/python python timm_steps.py ROWS.csv

ROWS.csv has the columns model, measured_img_s and batch, and peak_GiB_at_that_batch where that is known. AMP in f16, SGD with
momentum. Nothing is fitted to these rows. About 5 minutes for 13 models.
"""

import csv
import itertools
import sys
import warnings

import stowplan

GPU = {"name": "one", "interconnect": "fair", "devices": [{"name": "cpu0", "kind": "cpu-broadwell", "memory": "64GiB"},
                                                          {"name": "gpu0", "kind": "rtx3090", "memory": "24GiB"}],
       "links": [{"name": "pcie", "ends": ["cpu0", "gpu0"], "bandwidth": "12GB/s", "latency": "5us"}]}


def main():
    warnings.simplefilter("ignore")
    import timm
    import torch
    from stowplan import capture

    found = []
    print(f"{'model':<32}{'images/s':>10}{'measured':>10}{'ratio':>7}{'GiB':>7}{'measured':>10}")
    with open(sys.argv[1], encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            with torch.device("meta"):
                model = timm.create_model(row["model"])
                images = torch.zeros(int(row["batch"]), *model.default_cfg["input_size"])
            graph = capture.graph(model, (images,), train=True, optimizer="momentum", autocast="f16", name=row["model"])
            run = stowplan.Problem(graph, GPU).simulate("single_gpu")
            speed, measured = int(row["batch"]) / run.runtime_us * 1e6, float(row["measured_img_s"])
            found.append((speed, measured))
            print(f"{row['model']:<32}{speed:>10.1f}{measured:>10.1f}{speed / measured:>7.2f}{run.device_peak_bytes.max() / 2**30:>7.1f}"
                  f"{row.get('peak_GiB_at_that_batch', ''):>10}", flush=True)
    pairs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in itertools.combinations(found, 2)]
    print(f"at most {max(max(s / m, m / s) for s, m in found):.2f} times off, "
          f"order (Kendall's tau) {(sum(p > 0 for p in pairs) - sum(p < 0 for p in pairs)) / len(pairs):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
