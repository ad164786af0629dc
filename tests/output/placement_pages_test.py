#!/usr/bin/env python3
"""The pages of placements, made here by the program, as headless Chromium lays them out.

    placement_pages_test.py PROGRAM       exit status 77 where there is no Chromium

Beside what pages_test.py asks of every page: the first screen says the verdict; the timeline is drawn, zooms, and goes
through the ops of a row by keyboard; the graph shows at most 150 boxes, opens a scope, finds an op; a page of 10,000
ops has less than 3 MB.
"""

import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "stowplan"
import pages_test  # noqa: E402  (its tests read the arguments)

# Runs before the probe of pages_test.py, which calls it.
CHECKS = """
<script>
window.ownChecks = [(found) => {
  const one = (selector) => document.querySelector(selector);
  const cards = [...document.querySelectorAll('.cards > div')];
  if (cards.length !== 5) found.push(cards.length + ' cards');
  if (one('.cards').getBoundingClientRect().bottom > innerHeight) found.push('the verdict ends below the first screen');

  const canvas = one('canvas');
  const colours = () => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4 * 7) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return seen.size;
  };
  if (colours() < 8) found.push('the timeline shows ' + colours() + ' colours');
  const range = () => one('[data-view=timeline] output').textContent;
  const whole = range();
  const press = (key, shiftKey) => canvas.dispatchEvent(new KeyboardEvent('keydown', {key, shiftKey, bubbles: true}));
  canvas.focus();
  press('+');
  const half = range();
  if (half === whole) found.push('plus does not zoom');
  press('ArrowRight');
  if (range() === half) found.push('right does not move');
  press('ArrowDown');
  press('ArrowDown');
  const told = one('[data-view=timeline] [aria-live]');
  const row = told.textContent;
  press('ArrowRight', true);
  if (!BINNED && (told.textContent === row || document.getElementById('tip').hidden)) found.push('no op is told by keyboard');
  one('[data-act=whole]').click();
  if (range() !== whole) found.push('the whole step does not come back');

  const boxes = () => [...document.querySelectorAll('.box')];
  const place = () => one('.crumbs').textContent;
  if (boxes().length < 2 || boxes().length > 150) found.push(boxes().length + ' boxes');
  const scope = boxes().find((box) => box.tagName === 'BUTTON');
  if (scope) {
    const before = place();
    scope.click();
    if (place() === before || !one('.crumbs button')) found.push('a scope does not open');
    if (boxes().length < 1 || boxes().length > 150) found.push(boxes().length + ' boxes in a scope');
    if (!boxes().includes(document.activeElement)) found.push('the keyboard is not in the scope that it opened');
    one('.crumbs button').click();
    if (place() !== before) found.push('a scope does not close');
  } else if (SCOPES) {
    found.push('there is no scope to open');
  }
  one('[type=search]').value = WANTED;
  one('form button:not(.crumbs *)').click();
  const hit = one('.box.found');
  if (!hit || !hit.textContent.includes(WANTED.split('/').pop())) found.push('finds nothing called ' + WANTED);
}];
</script>
"""


# ---- ONNX models, written field by field as protobuf does ------------------------------------------------


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def perceptron(layers, width, batch):
    """Names as PyTorch's exporter gives them; the weights' numbers are in another file."""
    floats = field(1, field(1, 1) + field(2, field(1, field(1, batch)) + field(1, field(1, width))))
    graph, last = field(2, "perceptron"), "x"
    for i in range(layers):
        weight, sums, out = f"blocks.{i}.fc.weight", f"/blocks.{i}/fc/sums", f"/blocks.{i}/out"
        graph += field(5, field(1, width) + field(1, width) + field(2, 1) + field(8, weight) + field(14, 1))
        graph += field(1, field(1, last) + field(1, weight) + field(2, sums) + field(3, f"/blocks.{i}/fc/MatMul") +
                       field(4, "MatMul"))
        graph += field(1, field(1, sums) + field(2, out) + field(3, f"/blocks.{i}/act/Relu") + field(4, "Relu"))
        last = out
    graph += field(11, field(1, "x") + field(2, floats)) + field(12, field(1, last) + field(2, floats))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 14))


class PlacementPages(unittest.TestCase):
    maxDiff = None

    def page(self, verb, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            subprocess.run([PROGRAM, verb, *arguments, "--html", path], check=True, capture_output=True, timeout=240)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def check(self, text, wanted, scopes=True, binned=False):
        checks = CHECKS.replace("WANTED", repr(wanted)).replace("SCOPES", str(scopes).lower())
        checks = checks.replace("BINNED", str(binned).lower())
        for screen, dark in pages_test.SHOWN:
            with self.subTest(screen=screen):
                self.assertEqual(pages_test.findings(text.replace("</body>", checks + "</body>"), screen, dark), [])

    def test_simulated_inception(self):
        self.check(self.page("simulate", "--graph", "inception_v3", "--cluster", "k80(gpus=2)", "--placement", "expert"),
                   "mixed_b2/1x7/relu")

    def test_what_does_not_fit(self):
        text = self.page("explain", "--graph", "inception_v3", "--cluster", "k80(gpus=2)", "--placement", "single_gpu",
                         "--memory", "gpu=1GiB")
        self.assertIn("does not fit", text)
        self.check(text, "mixed_b2/1x7/relu")

    def test_placed_nmt_of_ten_thousand_ops(self):
        text = self.page("place", "--agent", "local_search", "--graph", "nmt(layers=4)", "--cluster", "k80(gpus=4)",
                         "--samples", "20")
        self.assertLess(len(text.encode()), 3_000_000)
        self.assertIn("Best so far", text)
        self.check(text, "encoder/layer2/step3/matmul")

    def test_more_ops_than_are_drawn(self):
        text = self.page("simulate", "--graph", "nmt(layers=4,granularity=unfused)", "--cluster", "k80(gpus=2)",
                         "--placement", "expert")
        self.assertIn("are more than can be told apart", text)
        self.check(text, "encoder/words", binned=True)

    def test_imported_onnx_model(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.onnx")
            with open(model, "wb") as file:
                file.write(perceptron(layers=80, width=64, batch=8))
            graph = os.path.join(folder, "graph.json")
            call = [PROGRAM, "graph", "import", model, "--training", "adam", "--out", graph]
            imported = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
            if "without" in imported.stderr and imported.returncode == 2:
                self.skipTest("this build imports no ONNX")
            self.assertEqual(imported.returncode, 0, imported.stderr)
            self.check(self.page("simulate", "--graph", graph, "--cluster", "k80(gpus=2)", "--placement", "round_robin"),
                       "blocks.7/fc/MatMul")

    def test_published_rules(self):
        self.check(self.page("simulate", "--graph", "inception_v3", "--cluster", "k80(gpus=2)", "--placement", "expert",
                             "--rules", "published"), "mixed_b2/1x7/relu")


if __name__ == "__main__":
    if pages_test.CHROMIUM is None:
        print("no Chromium here: pages not opened")
        sys.exit(77)
    unittest.main()
