#!/usr/bin/env python3
"""Every page of a table as headless Chromium lays it out, on a laptop in light and on a phone in dark.

    pages_test.py            exit status 77 where there is no Chromium. STOWPLAN_CELLS: the folder of which the pages are made

Nothing is fetched, nothing is wider than the screen but what scrolls by itself, everything that scrolls can be reached
with the keyboard and has a name, every drawing has a text, headings leave out no level, text stands out from what is
behind it (WCAG 2.1, 1.4.3: 4.5 times), and no two labels overlap. What is folded is opened first. The first screen holds the
finding and its plot.
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

CHROMIUM = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found),
                None)
SCREENS = {"laptop": (1440, 900), "phone": (390, 844)}
SHOWN = (("laptop", False), ("phone", True))  # screen, dark

# Runs in the page when it is laid out and leaves what it finds as JSON in an element that --dump-dom shows.
PROBE = """
<script>
addEventListener('load', () => {
  const found = [];
  for (const check of window.ownChecks || []) check(found);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (e) => (e.getAttribute('aria-label') || '').trim() !== '' || e.hasAttribute('aria-labelledby');
  const short = (e) => e.outerHTML.slice(0, 80);
  const screen = document.documentElement.clientWidth;
  const lead = document.querySelector('.lead');
  const plot = document.querySelector('main figure svg');
  if (lead && plot && document.querySelector('.first')) {
    if (lead.getBoundingClientRect().bottom > innerHeight) found.push('the finding ends below the first screen');
    if (lead.textContent.split(/[.?!](?:\\s|$)/).length > 8) found.push('the finding has more than seven sentences');
    if (plot.getBoundingClientRect().top > 0.6 * innerHeight) found.push('the plot begins too low: ' + plot.getBoundingClientRect().top);
    if (screen > 1000 && plot.getBoundingClientRect().bottom > innerHeight) found.push('the plot ends below the first screen');
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

    def test_pages_of_tables(self):
        with tempfile.TemporaryDirectory() as site:
            subprocess.run([sys.executable, "-m", "stowplan.report", "--results", os.environ["STOWPLAN_CELLS"], "--out", site],
                           check=True, stdout=subprocess.DEVNULL)
            pages = sorted(glob.glob(os.path.join(site, "**", "*.html"), recursive=True))
            self.assertGreater(len(pages), 17)
            for page in pages:
                with open(page, encoding="utf-8") as file:
                    text = file.read()
                for screen, dark in SHOWN:
                    with self.subTest(page=os.path.relpath(page, site), screen=screen):
                        self.assertEqual(findings(text, screen, dark), [])


if __name__ == "__main__":
    if CHROMIUM is None:
        print("no Chromium here: pages not opened")
        sys.exit(77)
    unittest.main()
