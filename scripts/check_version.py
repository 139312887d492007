#!/usr/bin/env python3
"""Every file that names the version of warpmer names the one in CMakeLists.txt."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# File patterns, and what stands before the version in them.
PLACES = {
    "CITATION.cff": r"^version: ",
    "CHANGELOG.md": r"^## \[(?=\d)",
    "docs/install.md": r"warpmer[-_]",
    "docs/tour.md": r"written by +warpmer ",
    "workflows/**/environment.y*ml": r"warpmer ?=",
    "workflows/**/main.nf": r"warpmer:",
}


def main() -> int:
    project = re.search(r"^project\(warpmer VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    version, wrong = project[1], []
    for pattern, before in PLACES.items():
        for path in sorted(ROOT.glob(pattern)):
            found = re.findall(before + r"([\d.]+\d)", path.read_text(), re.MULTILINE)
            if path.name == "CHANGELOG.md":
                found = found[:1]  # the newest comes first
            if not found:
                wrong.append(f"{path.relative_to(ROOT)} names no version")
            wrong += [f"{path.relative_to(ROOT)} names {other}, CMakeLists.txt {version}" for other in found if other != version]
    print("\n".join(wrong) or f"version {version}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
