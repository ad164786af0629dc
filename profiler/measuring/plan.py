"""What is measured on the GPU's machine, in the order of its worth, and how long each step may take.

A step's limit is a share of the time in all: with fewer seconds than the sum of all limits, each is shortened alike. What a
step leaves goes to the steps marked `spare` at the end, which go on where others were cut off.
"""

import dataclasses

PACKS = ("1-check", "2-links", "3-ops", "4-steps", "5-pytorch", "6-recorder")

# What a check can switch off, as a sentence begins that says so.
PARTS = {
    "gpu": "What needs a GPU is",
    "plugin": "What stowplan-profile measures on the GPU is",
    "steps": "Whole steps are",
    "halves": "The GPU as two devices is",
    "records": "Our recorder is",
    "torch": "What PyTorch measures is",
    "peers": "What needs two GPUs is",
}

LINKS = ("launch", "empty_kernel", "kernel_gap", "copy_h2d_pinned", "copy_d2h_pinned", "streams", "copy_both_pinned",
         "copy_on_device", "graph_node", "copy_h2d_pageable", "copy_d2h_pageable", "allocation")
OPS = ("gemm", "conv2d", "attention", "norm", "softmax", "elementwise", "lstm_cell", "reduction", "optimizer", "embedding")
ROWS = 48  # of each probe of OPS: 297 in all
HOST_ROWS = 8
HOST = ("gemm", "elementwise", "softmax", "norm", "conv2d")
EAGER = (("gpt2_small", "eager"), ("resnet50", "eager"), ("resnet50", "amp"), ("bert_base", "eager"), ("lstm_seq2seq", "eager"),
         ("moe", "eager"))
COMPILED = ("gpt2_small", "bert_base", "moe", "resnet50", "lstm_seq2seq")


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    pack: str
    seconds: float  # its limit
    command: tuple  # words; {…} are filled in by the runner
    needs: tuple = ()  # of PARTS
    keep: tuple = ()  # files that it leaves, the most valuable first
    fresh: tuple = ()  # files that it does not continue
    instead_of: str = ""  # of PARTS: only where that is switched off
    spare: bool = False  # only with time that others left
    goes_on: str = ""  # the step whose files it continues: not where that one had to be killed
    completes: bool = False  # what that one left is all it measures: not where that one is done


def _profile(name, pack, seconds, verb, out, *words, needs=("gpu", "plugin"), **more):
    command = ("{profile}", verb, *words, "--out", out, "--budget", "{budget}")
    return Step(name, pack, seconds, command, needs, (out,), **more)


def _torch(name, pack, seconds, *words, keep, needs=("torch",), **more):
    command = ("{python}", "{torch_program}", *words, "--out", "torch", "--device", "{torch_device}", "{torch_quick}",
               "--revision", "{revision}", "--budget", "{budget}")
    return Step(name, pack, seconds, command, needs, keep, **more)


def _graph(name, workload, cluster, seconds, needs, *more):
    out = f"{workload}.{cluster}.steps.json.zst"
    command = ("{profile}", "graph", f"{{root}}/planned/{workload}/graph.json.zst", f"{{placements:{{root}}/planned/{workload}/{cluster}}}",
               "--cluster", f"{cluster}.yaml", "--workload", f"{{workload:{workload}}}", "--device", "cuda",
               "--cores", "{cores}", "--warm-up", "3", "--steps", "12", "--at-most", "30", "--traced", "1",
               "--again-seconds", "0", "--seed", "1", "{stand_ins}", *more, "--out", out)
    return Step(name, "4-steps", seconds, command, ("gpu", "plugin", "steps", *needs), (out,))


def _check():
    return [
        Step("records", "1-check", 20, ("{profile}", "run", "launch", "kernel_gap", "--quick", "--out", "check.json"),
             keep=("check.json",)),
        Step("self_test", "1-check", 20, ("{root}/bin/self_test", "--gtest_filter=GpuKernels*:GpuSteps*:GpuPartition*",
                                          "--gtest_output=json:self_test.json"), ("gpu", "plugin"), ("self_test.json",),
             ("self_test.json",)),
        Step("torch", "1-check", 25, ("{python}", "-c", "import json, torch; print(json.dumps(dict(torch=torch.__version__, "
                                      "cuda=torch.cuda.is_available())))")),
    ]


def _links():
    return [
        _profile("links", "2-links", 25, "run", "links.json.zst", *LINKS),
        _profile("peers", "2-links", 20, "run", "peers.json.zst", "copy_peer_there", "copy_peer_back", "copy_both_peer",
                 needs=("gpu", "plugin", "peers")),
        Step("collectives", "2-links", 30, ("{python}", "{root}/pytorch/collectives.py", "--out", "collectives.json", "--budget",
                                            "{budget}", "{torch_quick}"), ("torch", "peers"), ("collectives.json",)),
    ]


def _ops():
    return [
        _profile("ops", "3-ops", 80, "run", "ops.json.zst", *OPS, "--rows", str(ROWS)),
        _torch("torch_ops", "3-ops", 20, "run", "--only", "ops", "--part", "device_attention", "--part", "device_norms",
               keep=("torch/ops.json.*",)),
    ]


def _instead():
    """What PyTorch can tell of copies, launches and ops, where our plug-in cannot use the GPU."""
    return [_torch("torch_links", "2-links", 30, "run", "--only", "launch", "--only", "copies", instead_of="plugin",
                   keep=("torch/launch.json.*", "torch/copies.json.*")),
            _torch("torch_all_ops", "3-ops", 120, "run", "--only", "ops", keep=("torch/ops.json.*",), instead_of="plugin")]


def _host_ops(workload, seconds, rest="", **more):
    return _profile(f"{workload}.host_ops{rest}", "4-steps", seconds, "run", f"{workload}.host_ops.json.zst", "--graph",
                    f"{{root}}/planned/{workload}/graph.json.zst", "--device", "cpu", "--cores", "{cores}", needs=(), **more)


def _steps(workloads, host, host_rows):
    steps = [_profile("host", "4-steps", 10, "run", "host.json.zst", *host, "--device", "cpu", "--cores", "{cores}",
                      "--rows", str(host_rows), needs=())]
    for name in workloads:
        graph = f"{{root}}/planned/{name}/graph.json.zst"
        steps += [
            _profile(f"{name}.ops", "4-steps", 6, "run", f"{name}.ops.json.zst", "--graph", graph),
            _host_ops(name, 4),
            _graph(f"{name}.host", name, "host", 15, ())]
    return steps + [_graph(f"{name}.halves", name, "halves", 10, ("halves",), "--sm-share", "gpu0=0.5", "--sm-share", "gpu1=0.5")
                    for name in workloads]


def _network(network, way, seconds, **more):
    return _torch(f"{network}.{way}", "5-pytorch", seconds, "run", "--only", network, "--part", way,
                  keep=(f"torch/{network}.json.*", f"torch/{network}-{way}.kineto.json.*", f"torch/{network}-{way}.et.json.*"), **more)


def _pytorch():
    return [_network(network, way, 12) for network, way in EAGER] + [_network(network, "compiled", 24) for network in COMPILED[:2]]


def _recorder():
    network, way = EAGER[0]
    command = ("{profile}", "record", "--out", "recorder.json.zst", "--", "{python}", "{torch_program}", "run", "--only", network,
               "--part", way, "--marked", "--out", "marked", "--device", "{torch_device}", "{torch_quick}",
               "--revision", "{revision}")
    return [Step("recorder", "6-recorder", 30, command, ("gpu", "plugin", "records", "torch"), ("recorder.json.zst",),
                 ("recorder.json.zst",))]


def _spare(workloads):
    return [_host_ops(name, 15, "_rest", spare=True, goes_on=f"{name}.host_ops", completes=True) for name in workloads] + [
        _network(network, "compiled", 60, spare=True) for network in COMPILED[2:]] + [
        _profile("links_rest", "2-links", 60, "run", "links.json.zst", *LINKS, spare=True, goes_on="links"),
        _profile("ops_rest", "3-ops", 200, "run", "ops.json.zst", *OPS, spare=True, goes_on="ops")]


def steps(chosen):
    """All steps, in their order. `chosen` is what `prepare` wrote: the workloads and, where they differ from those above, the
    probes of the host's CPU, the rows of each, and the limits of steps.
    """
    workloads = list(chosen["workloads"])
    whole = _steps(workloads, chosen.get("host", HOST), chosen.get("host_rows", HOST_ROWS))
    made = _check() + _links() + _ops() + _instead() + whole + _pytorch() + _recorder() + _spare(workloads)
    limits = chosen.get("limits", {})
    return [dataclasses.replace(step, seconds=limits.get(step.name, step.seconds)) for step in made]
