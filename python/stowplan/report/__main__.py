"""Writes the pages of tables: see stowplan/report/__init__.py."""

import argparse
import sys
from pathlib import Path
from typing import Any, List, NoReturn

from .._core import InputError

try:
    import jinja2
    import yaml
except ImportError as missing:
    print(f"stowplan.report: {missing}; the distribution's packages python3-jinja2 and python3-yaml have it.", file=sys.stderr)
    sys.exit(2)

from . import derived, pages
from .gate import Gate
from .table import FILES


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; `python3 -m stowplan.report --help` says what there is.")


def _arguments() -> Any:
    parser = Parser(prog="stowplan.report", description="Writes a page for each table, and an index of them.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a table of the papers, or the file of one's own; all that were run without it")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where NAME/cells.csv and NAME/rows.csv are (default: results)")
    parser.add_argument("--out", type=Path, default=Path("site"), help="where NAME/index.html goes (default: site)")
    parser.add_argument("--write-md", action="store_true", help="also RESULTS/NAME/table.md")
    parser.add_argument("--tex", action="store_true", help="also OUT/NAME/table.tex")
    parser.add_argument("--csv", action="store_true", help="also OUT/NAME/table.csv")
    return parser.parse_args()


def _all(results: Path) -> List[str]:
    names = sorted(path.parent.name for path in results.glob("*/cells.csv") if (FILES / f"{path.parent.name}.yaml").is_file())
    if names:
        names += [name for name in derived.DERIVED if derived.can(name, results)]
    if not names:
        raise InputError(f"{results} has no table; `stowplan table show NAME` writes cells.csv there.")
    return names


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(path)


def main() -> None:
    at = _arguments()
    gate = Gate(at.results)
    made = []
    for name in at.names or _all(at.results):
        page = pages.of(name, at.results, gate)
        _write(at.out / page.name / "index.html", pages.render("table.html", page=page))
        if at.write_md:
            _write(at.results / page.name / "table.md", pages.render("table.md", page=page))
        if at.tex and page.results:
            _write(at.out / page.name / "table.tex", pages.render("table.tex", page=page))
        if at.csv and page.table:
            _write(at.out / page.name / "table.csv", pages.as_csv(page.table))
        made.append(page)
    if not at.names or not (at.out / "index.html").is_file():  # some tables are no list of all
        _write(at.out / "index.html", pages.render("index.html", pages=made))


try:
    main()
except (InputError, OSError, jinja2.TemplateError, yaml.YAMLError) as error:
    where = f"{error.name}, line {error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
    print(f"stowplan.report: {where}{' '.join(str(error).split())}", file=sys.stderr)
    sys.exit(2)
