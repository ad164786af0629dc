"""A block of a transformer as torch.export gives it: where its training step spends its time, and what splitting it over two GPUs gains.

    python gpt_block.py [width] [sequence]
"""

import sys

import torch
from transformer import Block

import stowplan
from stowplan import capture

width, sequence = (int(number) for number in (sys.argv[1:] + ["1024", "1024"][len(sys.argv) - 1:])[:2])
with torch.device("meta"):
    block = Block(width, heads=width // 64, kv_heads=width // 64, hidden=4 * width)
    inputs = (torch.empty(4, sequence, width), torch.empty(sequence, 32))
program = torch.export.export(block, inputs)
graph = capture.graph(program, train=True, name="gpt_block")

flops = {}
for op in graph.to_dict()["ops"]:
    module = op["attributes"]["module"] or "(the block itself)"
    flops[module] = flops.get(module, 0) + op.get("flops", 0)
for module, count in sorted(flops.items(), key=lambda entry: -entry[1]):
    if count:
        print(f"{module:20} {count / 1e9:8.1f} GFLOP")

problem = stowplan.Problem(graph, "v100(gpus=2)", devices="gpu", grouper="neighbour(groups=32)")
one = problem.simulate("single_gpu").runtime_us
best = problem.search("local_search", samples=300).runtime_us
print(f"one GPU {one / 1e3:.3f} ms, two {best / 1e3:.3f} ms, at least {problem.bounds().runtime_us / 1e3:.3f} ms")
