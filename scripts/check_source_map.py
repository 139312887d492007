#!/usr/bin/env python3
"""Checks that docs/source-map.md names every source file of src/, cli/, kernels/ and bench/, each once, and no file
that is not there. On the page a section is a directory, and a line is "- `name`, `name` - what it is". A name without
a suffix stands for all C++ and CUDA files of that name: a header with its source."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = pathlib.Path("docs/source-map.md")

# Every file of these is on the page; of the other sections' directories, those that a reader looks for.
COMPLETE = ("src", "cli", "kernels", "bench")
CODE = {".h", ".cpp", ".cuh", ".cu"}
IGNORED = {"CMakeLists.txt"}

SECTION = re.compile(r"## (\S+)$")
ENTRY = re.compile(r"- ((?:`[^`]+`, )*`[^`]+`) - \S")


def names_on_page(text):
    """Path from the root as the page has it, and the number of its line."""
    directory = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            section = SECTION.match(line)
            directory = pathlib.Path(section.group(1)) if section and (ROOT / section.group(1)).is_dir() else None
        entry = ENTRY.match(line)
        if entry and directory:
            for name in re.findall(r"`([^`]+)`", entry.group(1)):
                yield directory / name, number


def names_of_files():
    """Path of each source file as the page should have it."""
    for top in COMPLETE:
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and path.name not in IGNORED and "__pycache__" not in path.parts:
                relative = path.relative_to(ROOT)
                yield relative.with_suffix("") if path.suffix in CODE else relative


def is_there(name):
    return (ROOT / name).exists() or any((ROOT / f"{name}{suffix}").is_file() for suffix in CODE)


def check(text):
    lines = {}
    for name, number in names_on_page(text):
        if name in lines:
            yield f"{PAGE}:{number}: {name} is on line {lines[name]} already; leave one of the two"
        elif not is_there(name):
            yield f"{PAGE}:{number}: there is no {name}; take the line away, or mend the name"
        lines.setdefault(name, number)
    for name in sorted(set(names_of_files()) - lines.keys()):
        yield f"{name}: not in {PAGE}; add a line to the section of its directory"


def main():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    problems = list(check(text))
    for problem in problems:
        print(problem)
    print(f"{len(list(names_on_page(text)))} names, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
