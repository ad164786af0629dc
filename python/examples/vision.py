"""A torchvision model on two unequal GPUs: captured without weights, placed module by module, and given to accelerate.

    python vision.py [model] [batch] [samples]     model: a name of torchvision.models
"""

import json
import sys

import torch
import torchvision
from accelerate import dispatch_model
from accelerate.utils import check_device_map

import stowplan
from stowplan import capture

MACHINE = {"devices": [{"name": "big", "kind": "p100", "memory": "6GiB"}, {"name": "small", "kind": "k40", "memory": "4GiB"}],
           "interconnect": "fair", "links": [{"name": "pcie", "ends": ["big", "small"], "bandwidth": "10GB/s", "latency": "10us"}]}

name, batch, samples = (sys.argv[1:] + ["resnet50", "80", "300"][len(sys.argv) - 1:])[:3]
with torch.device("meta"):
    model = torchvision.models.get_model(name, weights=None)
    images = torch.empty(int(batch), 3, 224, 224)
graph = capture.graph(model, (images,), train=True, optimizer="momentum", name=name)
problem = stowplan.Problem(graph, MACHINE, grouper="module")
found = problem.search("portfolio", samples=int(samples))
assert found.placement is not None, "it fits nowhere"

device_map = json.loads(problem.export(found.placement, "device-map"))
check_device_map(model, device_map)  # accelerate: every weight has a device
for number, device in enumerate(problem.device_names):
    print(f"{device}: {', '.join(module or '(all)' for module, where in device_map.items() if where == number)}")
print(f"{found.runtime_us / 1e6:.4f} s a step, at least {problem.bounds().runtime_us / 1e6:.4f} s")

# With weights, one image runs through the modules by that map; where the two GPUs are missing, on the CPU all the same.
model = torchvision.models.get_model(name, weights=None).eval()
image = torch.rand(1, 3, 224, 224)
whole = model(image)
missing = torch.cuda.device_count() < len(problem.device_names)
split = dispatch_model(model, {module: "cpu" if missing else where for module, where in device_map.items()}, force_hooks=True)
torch.testing.assert_close(split(image).cpu(), whole)
print(f"accelerate runs it in {len(device_map)} parts{' on the CPU' if missing else ''}: same result")
