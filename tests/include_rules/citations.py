#!/usr/bin/env python3
"""Reads every text of the tree and says where it cites what is not in the tree, or an anchor that is not there.

    citations.py ROOT      prints one line for each; exit status 1 if there is one

 1. Names of this workplace: notes that are not part of the project, paths of one machine, machines that were lent.
 2. A page named as docs/NAME.md is there, and so is its anchor in docs/NAME.md#anchor (", #other" and " and #other" go on with the same
    page). An anchor is a heading as GitHub writes it, or <a id="…">.
 3. Links of Markdown pages to files of the tree, with and without an anchor, lead somewhere.
"""

import os
import re
import sys

_SKIPPED = ("build", ".git", ".cache", ".stowplan", "__pycache__")
_VENDORED = re.compile(r"(^|/)(vendor|vendored|third_party)/|\.min\.js$|(^|/)d3[\w.-]*\.js$")
_SELF = ("tests/include_rules/citations.py", "tests/include_rules/citations_test.py")

# Written in capitals, as these names are not here: this file cites them no more than others do.
_NOTES = "design|protocol|papers|peers|gpu-queue|dependencies|style".upper()

WORKPLACE = (
    (rf"\b(?:{_NOTES})\b",
     "is a note outside of the tree; cite docs/protocol.md#…, docs/model.md or the paper with its section"),
    (r"\bfile=/", "is a path of one machine; call the program in the root of the tree, and give the file as it is called there"),
    (r"\b[Ll](?:ease|oan)s?\b", "is no word of the project"),
)

_PAGE = re.compile(r"\bdocs/([\w/.-]+\.md)((?:#[\w-]+)?(?:(?:,| and) #[\w-]+)*)")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^(```|~~~)")


def texts(root):
    """(path from the root, text) of every file that is UTF-8."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            if _VENDORED.search(path) or path in _SELF:
                continue
            try:
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    yield path, file.read()
            except (UnicodeDecodeError, OSError):
                continue


def anchors(markdown):
    """What #… may follow the name of a page."""
    found, seen, fenced = set(re.findall(r'<a id="([\w-]+)">', markdown)), {}, False
    for line in markdown.split("\n"):
        if _FENCE.match(line.strip()):
            fenced = not fenced
        heading = re.match(r"#{1,6} +(.*?) *#*$", line)
        if fenced or not heading:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        seen[anchor] = seen.get(anchor, -1) + 1
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
    return found


class Pages:
    def __init__(self, root):
        self._root, self._anchors = root, {}

    def fault(self, path, anchor):
        """None, or what is wrong with a page of the tree and an anchor of it ("" = none)."""
        full = os.path.join(self._root, path)
        if not os.path.exists(full):
            return f"{path} is not there"
        if not anchor or not path.endswith(".md"):
            return None
        if path not in self._anchors:
            with open(full, encoding="utf-8") as file:
                self._anchors[path] = anchors(file.read())
        return None if anchor in self._anchors[path] else f"{path} has no anchor #{anchor}"


def _workplace(text):
    for pattern, instead in WORKPLACE:
        for match in re.finditer(pattern, text):
            yield text.count("\n", 0, match.start()) + 1, f'"{match[0]}": {instead}'


def _pages(path, text, pages):
    for match in _PAGE.finditer(text):
        cited = [part.strip("#") for part in re.split(r"(?:,| and) ", match[2])] if match[2] else [""]
        for anchor in cited:
            fault = pages.fault("docs/" + match[1], anchor)
            if fault:
                yield text.count("\n", 0, match.start()) + 1, fault


def _links(path, text, pages):
    for match in _LINK.finditer(text):
        target, _, anchor = match[1].partition("#")
        if "://" in target or target.startswith("mailto:") or not (target or anchor):
            continue
        page = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        fault = pages.fault(page.replace(os.sep, "/"), anchor)
        if fault:
            yield text.count("\n", 0, match.start()) + 1, fault


def faults(root):
    pages, found = Pages(root), []
    for path, text in texts(root):
        lines = list(_workplace(text)) + list(_pages(path, text, pages))
        if path.endswith(".md"):
            lines += _links(path, text, pages)
        found += [f"{path}:{line}: {fault}" for line, fault in sorted(set(lines))]
    return found


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    found = faults(sys.argv[1])
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
