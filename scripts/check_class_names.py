#!/usr/bin/env python3
"""Checks that no two classes, structs, unions or enumerations of src/, kernels/ and cli/ have one name, in whatever
namespace or class they are. Not counted are forward declarations, specialisations, classes inside of functions, and the
public headers in include/, whose classes wrap others."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "kernels", "cli")
SUFFIXES = {".h", ".cpp", ".cuh", ".cu"}

# Names that stand for the same thing in each class that has one.
SHARED = {
    "Bucket",  # the type that a Tile has to have (table/tile.h)
    "Impl",  # the members of a class that its header does not show
}

# Comments, raw and other strings, characters, and lines of the preprocessor.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M,
)
NAMESPACE = re.compile(r"\bnamespace\b[\s\w:]*$")
# A class's head up to its brace or its bases: the name may be qualified, and what follows makes it a specialisation.
CLASS = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:alignas\s*\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*"
    r"((?:\w+(?:<[^<>]*>)?::)*\w+)\s*(<.*?>)?\s*(?:final\b\s*)?(?:$|:[^:])",
    re.S,
)


def is_open(text):
    """True within brackets: the class is a parameter there."""
    text = text.replace("->", "").replace(">=", "").replace("<=", "")
    return text.count("(") != text.count(")") or text.count("<") != text.count(">")


def class_in(head):
    """Returns the match for the class whose body begins behind `head`; None if none does."""
    if re.search(r"\)\s*(const|noexcept|override|->[^{]*)?\s*$", head):
        return None
    return next((found for found in CLASS.finditer(head) if not is_open(head[: found.start()])), None)


def classes(text):
    """Yields each class outside of functions, with the classes around it, and its line."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)
    around = []  # a name for each brace that is open: None for a function's, "" for a namespace's
    begin = 0
    for mark in re.finditer(r"[{};]", code):
        head = code[begin : mark.start()]
        begin = mark.end()
        if mark.group(0) == "}":
            if around:
                around.pop()
            continue
        if mark.group(0) == ";":
            continue
        if NAMESPACE.search(head.rstrip()):
            around.append("")
            continue
        found = class_in(head.strip())
        if found is None:
            around.append(None)
            continue
        if None not in around and not found.group(2):
            whole = "::".join([name for name in around if name] + [re.sub(r"<[^<>]*>", "", found.group(1))])
            yield whole, code.count("\n", 0, mark.start()) + 1
        around.append(found.group(1))


def main():
    places = collections.defaultdict(dict)  # by name: a place for each class of that name
    number = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            namespace = path.relative_to(ROOT).parts[:-1]
            for whole, line in classes(path.read_text(encoding="utf-8")):
                number += 1
                # The same class of one folder may have a body for each of two libraries.
                places[whole.split("::")[-1]].setdefault((namespace, whole) if "::" in whole else (path, line),
                                                         f"{path.relative_to(ROOT)}:{line}: {whole}")
    problems = [found for name, found in sorted(places.items()) if len(found) > 1 and name not in SHARED]
    for found in problems:
        print("one name for several classes; rename all but one, or all, to what they are:")
        print("".join(f"  {place}\n" for place in found.values()), end="")
    print(f"{number} classes, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
