"""stowplan-profile as tests call it: TEST.py PROGRAM [FOLDER OF THE MADE-UP GPU]."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
GPU = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else None

GRAPH = {
    "format": "stowplan.graph", "version": 1, "name": "products", "ops": [
        {"name": "w", "type": "Variable", "persistent_bytes": 4096,
         "outputs": [{"bytes": 4096, "dtype": "f32", "shape": [32, 32]}]},
        {"name": "x", "type": "Placeholder", "outputs": [{"bytes": 4096, "dtype": "f32", "shape": [32, 32]}]},
        {"name": "a", "type": "MatMul", "inputs": ["x", "w"], "flops": 65536,
         "outputs": [{"bytes": 4096, "dtype": "f32", "shape": [32, 32]}]},
        {"name": "b", "type": "Whatever", "inputs": ["a"], "outputs": [{"bytes": 8192, "dtype": "f32", "shape": [64, 32]}]},
        {"name": "c", "type": "Relu", "inputs": ["b"], "outputs": [{"bytes": 8192, "dtype": "f32", "shape": [64, 32]}]}]}


def without_gpu(**environment):
    return os.environ | {"CUDA_VISIBLE_DEVICES": ""} | environment


def with_gpu(**environment):
    return os.environ | {"LD_LIBRARY_PATH": GPU, "STOWPLAN_CUDA_PLUGIN": os.path.join(GPU, "libstowplan_cuda.so")} | environment


def run(*arguments, environment=None, cwd=None, **more):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd,
                          env=(without_gpu() if environment is None else environment) | more)


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.graph = self.write("products.json", json.dumps(GRAPH))

    def path(self, *names):
        return os.path.join(self._folder.name, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
