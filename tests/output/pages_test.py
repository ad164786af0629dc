#!/usr/bin/env python3
"""Every committed page as headless Chromium lays it out, on a laptop in light and on a phone in dark.

    pages_test.py ROOT       exit status 77 where there is no Chromium

Nothing is fetched, nothing is wider than the screen but what scrolls by itself, everything that scrolls can be reached
with the keyboard and has a name, every drawing has a text, headings leave out no level, text stands out from what is
behind it (WCAG 2.1, 1.4.3: 4.5 times), and no two labels overlap. What is folded is opened first. On the page of a table
the first screen holds the verdict and its table, nothing of which is cut off; columns can be chosen, rows sorted, and
cells explain themselves to the keyboard.
"""

import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "."
CHROMIUM = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found),
                None)
SCREENS = {"laptop": (1440, 900), "phone": (390, 844)}
SHOWN = (("laptop", False), ("phone", True))  # screen, dark

# Runs in the page when it is laid out and leaves what it finds as JSON in an element that --dump-dom shows.
PROBE = """
<script>
addEventListener('load', () => {
  const found = [];
  // What a reader can do with a table of results; leaves it as it was.
  const behaves = (table) => {
    const values = (column) => [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.v)
        .filter((v) => v !== undefined).map(Number);
    const column = [...table.tHead.rows[0].cells].findIndex((head, i) => !head.hidden && values(i).length > 1);
    const text = () => [...table.tBodies[0].rows].map((row) => row.textContent).join('|');
    const before = text();
    if (column > 0) {
      const button = table.tHead.rows[0].cells[column].querySelector('button');
      const ordered = (sign) => values(column).every((v, i, all) => i === 0 || sign * (v - all[i - 1]) >= 0);
      if (!button) return found.push('cannot be sorted');
      button.click();
      if (!ordered(1)) found.push('is not sorted upward');
      button.click();
      if (!ordered(-1)) found.push('is not sorted downward');
      button.click();
    }
    const choice = table.closest('section').querySelector('.choice');
    for (const box of choice ? choice.querySelectorAll('input') : []) {
      const shown = () => [...table.querySelectorAll('th, td')].filter((e) => e.offsetWidth).length;
      const few = shown();
      box.click();
      if (shown() <= few) found.push('shows no more columns: ' + box.value);
      box.click();
      if (shown() !== few) found.push('does not hide its columns: ' + box.value);
    }
    if (text() !== before) found.push('is not as it was after sorting');
    const cells = [...table.querySelectorAll('td[data-tip]')].filter((cell) => !cell.hidden);
    if (!cells.length) return;
    const tip = document.getElementById('tip');
    cells[0].focus();
    if (tip.hidden || tip.textContent !== cells[0].dataset.tip) found.push('a cell does not explain itself');
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
    if (table.tBodies[0].rows.length > 1 && document.activeElement === cells[0] && cells.length > 1 &&
        table.tBodies[0].rows[1].querySelector('td[data-tip]'))
      found.push('arrows do not move between cells');
    document.activeElement.blur();
    if (!tip.hidden) found.push('an explanation stays');
  };
  for (const check of window.ownChecks || []) check(found);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (e) => (e.getAttribute('aria-label') || '').trim() !== '' || e.hasAttribute('aria-labelledby');
  const short = (e) => e.outerHTML.slice(0, 80);
  const screen = document.documentElement.clientWidth;
  const lead = document.querySelector('.lead');
  const verdict = document.querySelector('table.results');
  if (lead && verdict) {
    const region = verdict.parentElement;
    const at = verdict.getBoundingClientRect();
    if (lead.getBoundingClientRect().bottom > innerHeight) found.push('outcome ends below the first screen');
    if (lead.textContent.split(/[.?!](?:\\s|$)/).length > 6) found.push('outcome has more than five sentences');
    if (screen > 1000 && at.bottom > innerHeight) found.push('verdict ends below the first screen: ' + at.bottom);
    if (at.top > 0.6 * innerHeight) found.push('verdict begins too low: ' + at.top);
    if (region.scrollWidth > region.clientWidth) found.push('verdict is cut off: ' + region.scrollWidth + ' px');
    for (const e of verdict.querySelectorAll('th, td'))
      if (!e.hidden && e.scrollWidth > e.clientWidth + 1) found.push('cell is cut off: ' + short(e));
    behaves(verdict);
  }
  for (const e of all('details')) e.open = true;
  for (const e of document.querySelectorAll('[src], link, object, embed, iframe, image, use'))
    found.push('fetches: ' + short(e));
  for (const e of document.scripts)
    if (e.src || e.type === 'module') found.push('fetches: ' + short(e));
  if (performance.getEntriesByType('resource').length) found.push('fetched something');
  if (document.documentElement.scrollWidth > screen)
    found.push('is ' + document.documentElement.scrollWidth + ' px wide on ' + screen);
  if (!document.documentElement.lang) found.push('names no language');
  if (!document.title) found.push('has no title');
  for (const e of all('body *')) {
    const style = getComputedStyle(e);
    if ((style.overflowX === 'auto' || style.overflowX === 'scroll') && e.scrollWidth > e.clientWidth &&
        (e.tabIndex < 0 || !e.hasAttribute('role') || !named(e)))
      found.push('scrolls without keyboard or name: ' + short(e));
  }
  for (const e of all('svg')) {
    const holder = e.closest('[role=img]');
    if (!e.closest('[aria-hidden=true]') && !(holder && (named(holder) || holder.querySelector('title'))))
      found.push('drawing without a text: ' + short(e));
  }
  for (const e of all('table')) if (!e.caption && !named(e)) found.push('table without a caption: ' + short(e));
  for (const e of all('th')) if (!e.hasAttribute('scope')) found.push('header cell without scope: ' + short(e));
  let level = 0;
  for (const e of all('h1,h2,h3,h4,h5,h6')) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) found.push('heading leaves out a level: ' + short(e));
    level = own;
  }
  if (all('h1').length !== 1) found.push(all('h1').length + ' headings of the first level');

  const light = (c) => {
    const [r, g, b] = c.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)$/.test(c)) return c;
    }
    return 'rgb(255, 255, 255)';
  };
  const seen = new Set();
  for (const e of all('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const ink = e instanceof SVGElement ? style.fill : style.color;
    const paper = behind(e instanceof SVGElement ? e.closest('svg').parentElement : e);
    if (seen.has(ink + paper)) continue;
    seen.add(ink + paper);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push('text hard to read, ' + ink + ' on ' + paper + ': ' + short(e));
  }
  for (const drawing of all('svg')) {
    const boxes = [...drawing.querySelectorAll('text')].map((e) => e.getBoundingClientRect()).filter((r) => r.width);
    // Half a pixel is what rounding leaves.
    const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5 * Math.min(a.height, b.height);
    if (boxes.some((a, i) => boxes.slice(i + 1).some((b) => overlap(a, b))))
      found.push('labels overlap: ' + short(drawing) + ' in ' + (drawing.closest('figure') || drawing).textContent.slice(0, 40));
  }
  const out = document.createElement('pre');
  out.id = 'found';
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  out.textContent = JSON.stringify({found, dark, width: innerWidth});
  top.document.body.append(out);
});
</script>
"""


def findings(text, screen, dark):
    """What is wrong with a page, given as its text, on a screen."""
    assert "</body>" in text
    width, height = SCREENS[screen]
    # In a frame, since Chromium's own windows are not as narrow as phones.
    framed = html.escape(text.replace("</body>", PROBE + "</body>"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<!DOCTYPE html><iframe srcdoc="{framed}" style="width:{width}px;height:{height}px"></iframe>')
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                   "--window-size=1400,900", "--dump-dom", "file://" + path]
        if dark:
            command.insert(1, "--blink-settings=preferredColorScheme=0")
        result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    left = re.search(r'<pre id="found">(.*?)</pre>', result.stdout, re.DOTALL)
    assert left, "the probe left nothing: " + result.stderr[-2000:]
    page = json.loads(html.unescape(left.group(1)))
    assert (page["width"], page["dark"]) == (width, dark), page
    # What a browser may fetch later, when a style comes into force.
    return page["found"] + re.findall(r"url\(|@import", text)


class Pages(unittest.TestCase):
    maxDiff = None

    def test_probe_finds_what_is_wrong(self):
        page = """<!DOCTYPE html><html><head><title>x</title></head><body style="margin:0"><h1>a</h1><h3>b</h3>
            <div style="overflow-x:auto;width:90px"><div style="width:200px">wide</div></div>
            <svg width="9" height="9"></svg><table><tr><th>n</th></tr></table>
            <p style="color:#999">pale</p><div style="width:1500px">too wide</div><img src="nothing.png">
            <script src="nothing.js"></script>
            <svg role="img" aria-label="two"><text y="20">one</text><text y="22">two</text></svg>
            <details><summary>more</summary><div style="width:2500px">folded</div></details>
            <p style="background:url(nothing.png)">painted</p></body></html>"""
        for screen, dark in SHOWN:
            found = " | ".join(findings(page, screen, dark))
            for fault in ("fetches: &lt;img", "fetches: &lt;script", "is 2500 px wide on", "names no language", "url(",
                          "scrolls without keyboard", "drawing without", "table without", "without scope",
                          "leaves out a level", "hard to read", "labels overlap: &lt;svg"):
                self.assertIn(fault, found.replace("<", "&lt;"))
        clean = """<!DOCTYPE html><html lang="en"><head><title>x</title></head><body><h1>a</h1></body></html>"""
        self.assertEqual(findings(clean, "laptop", False), [])

    def test_committed_pages(self):
        pages = sorted(glob.glob(os.path.join(ROOT, "results", "**", "*.html"), recursive=True))
        self.assertGreater(len(pages), 5)
        for page in pages:
            with open(page, encoding="utf-8") as file:
                text = file.read()
            for screen, dark in SHOWN:
                with self.subTest(page=os.path.relpath(page, ROOT), screen=screen):
                    self.assertEqual(findings(text, screen, dark), [])


if __name__ == "__main__":
    if CHROMIUM is None:
        print("no Chromium here: pages not opened")
        sys.exit(77)
    unittest.main()
