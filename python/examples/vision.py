"""A torchvision model on two unequal GPUs: captured without weights, placed, and told module by module.

    python vision.py [model] [batch] [samples]     model: a name of torchvision.models
"""

import sys

import torch
import torchvision

import berth
from berth import capture

MACHINE = {"devices": [{"name": "big", "kind": "p100", "memory": "6GiB"}, {"name": "small", "kind": "k40", "memory": "4GiB"}],
           "interconnect": "fair", "links": [{"name": "pcie", "ends": ["big", "small"], "bandwidth": "10GB/s", "latency": "10us"}]}

name, batch, samples = (sys.argv[1:] + ["resnet50", "64", "300"][len(sys.argv) - 1:])[:3]
with torch.device("meta"):
    model = torchvision.models.get_model(name, weights=None)
    images = torch.empty(int(batch), 3, 224, 224)
graph = capture.graph(model, (images,), train=True, optimizer="momentum", name=name)
problem = berth.Problem(graph, MACHINE, grouper="neighbour(groups=64)")
found = problem.search("local_search", samples=int(samples))
assert found.placement is not None, "it fits nowhere"
run = problem.simulate(found.placement)

modules = {}  # the devices of each module's weights: what a device map says
for op, device in zip(graph.to_dict()["ops"], run.op_device):
    if op["type"] == "Variable":
        modules.setdefault(op["attributes"]["module"], set()).add(problem.device_names[device])
for device in problem.device_names:
    print(f"{device}: {sum(devices == {device} for devices in modules.values())} of {len(modules)} modules")
print(f"{run.runtime_us / 1e6:.4f} s a step, at least {problem.bounds().runtime_us / 1e6:.4f} s")
