"""Captured graphs, kept in a folder: made again where the capture or the module that builds the model has changed."""
import hashlib
import inspect
import re
from pathlib import Path


class Captures:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.made = {}  # module: digest of what a graph of it depends on

    def path(self, case):
        """Of the case's graph, which is captured if it is not there. What cannot be captured raises RuntimeError, also the next time."""
        path = self.folder / f"{re.sub('[^A-Za-z0-9_.-]', '_', case.key)}.{self._digest(case.build)}.json.zst"
        refused = path.with_suffix(".refused")
        if refused.exists():
            raise RuntimeError(refused.read_text())
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                graph = case.build()
            except ImportError:
                raise
            except Exception as error:  # any model may fail in its own way: it is reported, the others go on
                refused.write_text(f"{type(error).__name__}: {error}".splitlines()[0][:200])
                raise RuntimeError(refused.read_text()) from error
            part = path.with_name("part.json.zst")
            graph.save(str(part))
            part.rename(path)
        return path

    def _digest(self, build):
        file = inspect.getfile(getattr(build, "func", build))
        if file not in self.made:
            import stowplan
            import torch
            sources = [*sorted(Path(stowplan.__file__).parent.glob("*.py")), Path(file), *sorted(Path(__file__).parent.glob("decoder*.py"))]
            text = torch.__version__.encode() + b"".join(path.read_bytes() for path in sources)
            self.made[file] = hashlib.sha256(text).hexdigest()[:10]
        return self.made[file]
