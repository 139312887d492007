#!/usr/bin/env python3
"""Checks docs/results.md: that it is short; that every table says when, where, of what commit and how each of its
numbers was measured; that those commits, scripts and programs exist; that links to it in the repository lead
somewhere; that figures are small, and on a page; and that pages link to files and sections that exist."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = pathlib.Path("docs/results.md")
FIGURES = pathlib.Path("docs/figures")
MOST_LINES = 250
MOST_FIGURE_BYTES = 40_000
COLUMNS = ("date", "machine", "commit", "command")
# Other people's, and what starts programs.
KNOWN = {"warpmer", "mpirun"}

LINK = re.compile(r"(?:docs/)?\bresults\.md#([\w-]*)")
TEXT = {".md", ".py", ".sh", ".h", ".cuh", ".cpp", ".cu", ".txt", ".cmake", ""}


def tables(lines):
    """Each table as (number of its first line, rows of cells)."""
    first, rows = 0, []
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("|"):
            first = first if rows else number
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])])
        elif rows:
            yield first, rows
            rows = []


def is_program(name):
    """Programs of bench/ are called as the source of their main, with - for _."""
    return name in KNOWN or any((ROOT / "bench").rglob(f"{name.replace('-', '_')}.c*"))


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


def has_history():
    return shutil.which("git") is not None and git("rev-parse", "--is-shallow-repository").stdout.strip() == "false"


def row_faults(row, known_commit):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]):
        yield f"'{row['date']}' is no date"
    if not row["machine"]:
        yield "names no machine"
    for commit in row["commit"].split(", "):
        if not re.fullmatch("[0-9a-f]{7,40}", commit):
            yield f"'{commit}' is no commit"
        elif not known_commit(commit):
            yield f"there is no commit {commit}"
    command = re.fullmatch("`((?:[A-Z_]+=\\S+ )*)(\\S+).*`", row["command"])
    if not command:
        yield f"'{row['command']}' is no command in backticks"
    elif "/" in command[2] and not (ROOT / command[2]).is_file():
        yield f"there is no script {command[2]}"
    elif "/" not in command[2] and not is_program(command[2]):
        yield f"there is no program {command[2]}"


def page_faults(lines):
    if len(lines) > MOST_LINES:
        yield f"{PAGE}: {len(lines)} lines; {MOST_LINES} at most, so that the newest number can be found"
    with_history, known = has_history(), {}

    def known_commit(commit):
        if commit not in known:
            known[commit] = not with_history or git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0
        return known[commit]

    for first, rows in tables(lines):
        lacking = [name for name in COLUMNS if name not in rows[0]]
        if lacking:
            yield f"{PAGE}:{first}: a table without a column {' or '.join(lacking)}"
            continue
        for number, cells in enumerate(rows[2:], first + 2):
            if len(cells) != len(rows[0]):
                yield f"{PAGE}:{number}: {len(cells)} cells in a table of {len(rows[0])} columns"
                continue
            for fault in row_faults(dict(zip(rows[0], cells)), known_commit):
                yield f"{PAGE}:{number}: {fault}"


def anchors(lines):
    """As GitHub makes them of headings."""
    for line in lines:
        if line.startswith("#"):
            yield re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")


def link_faults(lines):
    known = set(anchors(lines))
    listed = git("ls-files", "--cached", "--others", "--exclude-standard").stdout.splitlines()
    names = listed or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")]
    for name in names:
        path = ROOT / name
        if path.suffix not in TEXT or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for anchor in LINK.findall(line):
                if anchor not in known:
                    yield f"{name}:{number}: {PAGE} has no section #{anchor}"


def figure_faults():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    for path in sorted((ROOT / FIGURES).glob("*")):
        if path.stat().st_size > MOST_FIGURE_BYTES:
            yield f"{FIGURES / path.name}: {path.stat().st_size} bytes; {MOST_FIGURE_BYTES} at most"
        if f"figures/{path.name}" not in pages:
            yield f"{FIGURES / path.name}: no page has it; delete it"


def page_link_faults():
    """Of pages in docs: links to files and to sections of pages, of which docs/architecture.md has many."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if ":" in link or (target.exists() and (not anchor or target.suffix != ".md")):
                continue
            lines = target.read_text(encoding="utf-8").splitlines() if target.exists() else []
            if anchor not in set(anchors(lines)):
                yield f"{page.relative_to(ROOT)}: nothing is at {link}"


def main():
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    faults = [*page_faults(lines), *link_faults(lines), *figure_faults(), *page_link_faults()]
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
