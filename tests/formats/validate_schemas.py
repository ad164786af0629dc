#!/usr/bin/python3
"""Holds docs/schema/*.json against the documents that the readers' tests use.

    validate_schemas.py ROOT          ROOT: the folder with docs/ and tests/

Documents of tests/formats/samples and tests/profiler/samples and excerpts of docs/formats.md must satisfy the schema of
their format, those of samples/refused must not (those of refused/beyond_schema are wrong in ways that no schema can say,
and must satisfy it). So must the tables of tables/papers and examples/. Says "skipped" with status 77 where the packages python3-jsonschema and python3-yaml are missing.
"""

import json
import pathlib
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error}; install python3-jsonschema and python3-yaml")
    sys.exit(77)


def load(path):
    text = path.read_text(encoding="utf-8")
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)


def validator(root, format_name):
    schema = load(root / "docs" / "schema" / f"{format_name}.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def documents(folder):
    return sorted(path for path in folder.glob("*") if path.suffix in (".json", ".yaml"))


def format_of(path, formats):
    """The schema's name: of what the file says it is, else of the start of its name (graph.no_format.json)."""
    stem = path.name.split(".")[0]
    if stem in formats:
        return stem
    return load(path)["format"].removeprefix("stowplan.")


def main():
    root = pathlib.Path(sys.argv[1])
    formats = {path.stem for path in (root / "docs" / "schema").glob("*.json")}
    wrong, seen = [], set()

    def check(path, name, document, wanted):
        seen.add(name)
        errors = list(validator(root, name).iter_errors(document))
        if wanted and errors:
            wrong.append(f"{path}: {errors[0].json_path}: {errors[0].message}")
        if not wanted and not errors:
            wrong.append(f"{path}: satisfies the schema, but must not")

    count = 0
    for samples in (root / "tests" / "formats" / "samples", root / "tests" / "profiler" / "samples"):
        for folder, wanted in (("", True), ("refused", False), ("refused/beyond_schema", True)):
            for path in documents(samples / folder):
                check(path, format_of(path, formats), load(path), wanted)
                count += 1
    shipped = [path for path in documents(root / "tables" / "papers") if path.stem not in ("columns", "gate")]
    for path in [*shipped, root / "examples" / "table.yaml"]:
        check(path, "experiment", load(path), True)
        count += 1
    page = root / "docs" / "formats.md"
    for language, text in re.findall(r"```(json|yaml)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        document = json.loads(text) if language == "json" else yaml.safe_load(text)
        check(page, document["format"].removeprefix("stowplan."), document, True)
        count += 1
    for name in sorted(formats - seen):
        wrong.append(f"docs/schema/{name}.json: no sample shows it")
    for line in wrong:
        print(line)
    print(f"{count} documents, {len(formats)} schemas, {len(wrong)} wrong")
    sys.exit(1 if wrong or count < 40 else 0)


if __name__ == "__main__":
    main()
