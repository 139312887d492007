#!/usr/bin/env python3
"""That packagers' compilers and libraries take the program: its sources, read by each but not compiled.

    scripts/check_compilers.py [NAME...]      default: all of them; --list names them

Compilers and the oldest libraries are Debian's (scripts/setup.sh compilers); newer and older libraries are headers out
of packages from PyPI. CMake is configured with the oldest and the newest that PyPI has. Exits non-zero, with what the
compiler said, when one does not take it.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/compilers"
OLDEST_CMAKE = "cmake==3.22.6"
NEWEST_CMAKE = "cmake"
# The newest fmt that PyPI has is in a package of another library's headers.
NEWEST_FMT = "tokenspeed-spdlog"
OLDEST_HTSLIB = "pysam==0.17.0"  # 1.13; it has no wheel for newer Pythons, and only its headers are wanted
NEWEST_HTSLIB = "pysam"


def wheel(requirement: str, *options: str) -> pathlib.Path:
    """The files of a package from PyPI, in a folder."""
    folder = BUILD / "pypi" / re.sub(r"\W+", "-", requirement)
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary=:all:", *options, "-d", folder, requirement], check=True)
        (archive,) = folder.glob("*.whl")
        zipfile.ZipFile(archive).extractall(folder)
        archive.unlink()
        (folder / "complete").touch()
    return folder


def newest_fmt() -> list[str]:
    """fmt's headers alone, under the name that they have where fmt is installed, and to be used without a library."""
    bundled = wheel(NEWEST_FMT) / "tokenspeed_spdlog/include/spdlog/fmt/bundled"
    include = BUILD / "newest-fmt"
    include.mkdir(parents=True, exist_ok=True)
    (include / "fmt").unlink(missing_ok=True)
    (include / "fmt").symlink_to(bundled)
    return ["-isystem", str(include), "-DFMT_HEADER_ONLY"]


def htslib(requirement: str, *options: str) -> list[str]:
    return ["-isystem", str(wheel(requirement, *options) / "pysam/include/htslib")]


def oldest_htslib() -> list[str]:
    return htslib(OLDEST_HTSLIB, "--python-version", "3.9", "--platform", "manylinux1_x86_64")


# Name: compiler, what comes before its other options, and which sources it reads.
EVERYTHING = r""
WITH_FMT = r"/(src|cli)/"
WITH_HTSLIB = r"/io/"
CASES = {
    "oldest-gcc": ("g++-11", list, EVERYTHING),
    "oldest-clang": ("clang++-14", list, EVERYTHING),
    "newest-clang": ("clang++-19", list, EVERYTHING),
    "newest-fmt": ("g++", newest_fmt, WITH_FMT),
    "oldest-htslib": ("g++", oldest_htslib, WITH_HTSLIB),
    "newest-htslib": ("g++", lambda: htslib(NEWEST_HTSLIB), WITH_HTSLIB),
}


def configure(cmake: str, folder: pathlib.Path) -> None:
    """As a packager does: no preset, no tests, no benches."""
    if folder.exists():
        shutil.rmtree(folder)
    done = subprocess.run([cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"check_compilers.py: {cmake} does not configure it:\n{done.stdout}{done.stderr}")


def cmake_of(requirement: str) -> str:
    program = wheel(requirement) / "cmake/data/bin/cmake"
    program.chmod(0o755)
    return str(program)


def read_source(compiler: str, options: list[str], command: dict) -> str:
    """What the compiler has to say of a source."""
    words = shlex.split(command["command"])
    # What comes before the first option are the compiler and what launches it.
    first = next(i for i, word in enumerate(words) if i > 0 and words[i - 1].endswith("c++"))
    words = words[first:]
    output = words.index("-o")
    del words[output:output + 2]
    words.remove("-c")
    # Warnings are for the compiler of the release: packagers' have others, and do not stop at them.
    done = subprocess.run([compiler, "-fsyntax-only", "-w", *options, *words], cwd=command["directory"],
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if done.returncode == 0:
        return ""
    return f"{command['file']}\n{done.stderr[:4000]}"


def main() -> int:
    names = sys.argv[1:] or list(CASES)
    if names == ["--list"]:
        print("\n".join(CASES))
        return 0
    configure(cmake_of(NEWEST_CMAKE), BUILD / "newest-cmake")
    configure(cmake_of(OLDEST_CMAKE), BUILD / "oldest-cmake")
    commands = json.loads((BUILD / "oldest-cmake/compile_commands.json").read_text())
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            compiler, options_of, wanted = CASES[name]
            options = options_of()
            chosen = [c for c in commands if re.search(wanted, c["file"][len(str(ROOT)):])]
            said = [s for s in pool.map(lambda c: read_source(compiler, options, c), chosen) if s]
            print(f"{name}: {compiler}, {len(chosen)} sources, {len(said)} not taken", flush=True)
            for text in said[:3]:
                print(text)
            failed += bool(said) or not chosen
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
