"""All of it without a GPU: the real programs and packing, with a made-up GPU, driver, CUPTI and, unless asked otherwise, PyTorch."""

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time

from measuring import finish, plan, prepare

# Smaller than those of plan and prepare: a made-up GPU computes on the CPU.
WORKLOADS = {"rnnlm": "rnnlm(batch=4,hidden=64,steps=3,vocabulary=200)", "nmt": "nmt(batch=2,hidden=32,steps=3,vocabulary=100)"}
PLACEMENTS = 4
HOST_ROWS = 2


@dataclasses.dataclass(frozen=True)
class Fakes:
    scripts: str  # tests/profiler/measure/fakes
    plugin: str  # the CUDA plug-in of the made-up GPU
    driver: str  # folder of the made-up libcuda
    cupti: str  # folder of the made-up CUPTI
    injection: str  # the real library that records

    def put_into(self, session, with_torch):
        """Into a prepared folder. Returns the environment in which `measure run` finds a GPU."""
        folder = os.path.join(session, "fakes")
        shutil.copytree(self.scripts, folder)
        shutil.copy(os.path.join(folder, "self_test"), os.path.join(session, "bin", "self_test"))
        for source in (self.plugin, self.injection):
            shutil.copy(source, os.path.join(folder, os.path.basename(source)))
        if not with_torch:
            shutil.copytree(os.path.join(folder, "pytorch"), os.path.join(session, "pytorch"), dirs_exist_ok=True)
        return os.environ | {
            "PATH": folder + ":" + os.environ["PATH"], "LD_LIBRARY_PATH": self.cupti + ":" + self.driver,
            "STOWPLAN_CUDA_PLUGIN": os.path.join(folder, os.path.basename(self.plugin)),
            "PYTHONPATH": "" if with_torch else os.path.join(folder, "python")}


def _built(repository):
    folder = prepare.build(repository, fakes=True)
    programs = os.path.join(folder, "stowplan-portable")
    tests = os.path.join(folder, "tests")
    return programs, Fakes(os.path.join(repository, "tests", "profiler", "measure", "fakes"),
                           os.path.join(tests, "made_up_gpu", "libstowplan_cuda.so"), os.path.join(tests, "made_up_gpu"),
                           os.path.join(tests, "fake_cupti"), os.path.join(programs, "libstowplan_injection.so"))


def rehearse(repository, out=None, with_torch=False):
    """prepare, run and finish. Returns an exit status."""
    start = time.monotonic()
    programs, fakes = _built(repository)
    limits = {name + part: seconds for name in WORKLOADS for part, seconds in ((".host_ops", 10), (".host_ops_rest", 3))}
    if with_torch:  # on a CPU, which takes minutes to compile a network
        limits |= {f"{network}.{way}": 60 for network, way in plan.EAGER} | {network + ".compiled": 120 for network in plan.COMPILED}
    seconds = 900 if with_torch else 200
    with tempfile.TemporaryDirectory() as scratch:
        session, back = os.path.join(scratch, "session"), os.path.join(scratch, "back")
        prepare.prepare(repository, session, programs, os.path.join(fakes.scripts, "self_test"), WORKLOADS, PLACEMENTS,
                        host_rows=HOST_ROWS, limits=limits)
        environment = fakes.put_into(session, with_torch)
        status = subprocess.run([sys.executable, os.path.join(session, "measure"), "run", "--seconds", str(seconds), "--out", back,
                                 *(["--rehearsal"] if with_torch else [])], env=environment).returncode
        made = os.path.join(scratch, "made")
        finished = finish.finish(back, made, os.path.join(session, "bin", "stowplan"))
        if out:
            os.makedirs(out, exist_ok=True)
            for folder in (back, made):
                shutil.copytree(folder, os.path.join(out, os.path.basename(folder)), dirs_exist_ok=True)
    print(f"The rehearsal took {time.monotonic() - start:.0f} s.")
    return max(status, finished)
