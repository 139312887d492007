#!/usr/bin/env python3
"""That packagers' compilers and libraries, and macOS's headers, take the program: its sources, read by each but not compiled.

    scripts/check_compilers.py [NAME...]      default: all of them; --list names them

Compilers and the oldest libraries are Debian's (scripts/setup.sh compilers); newer and older libraries are headers out
of packages from PyPI. Zig, from there, is a clang with the headers of macOS: it reads a portable build (WARPMER_PORTABLE).
CMake is configured with the oldest and the newest that PyPI has. Exits non-zero, with what the compiler said, when one does
not take it.
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
ZIG = "ziglang==0.17.1"
# Headers of libraries, which are the same everywhere; those of the C library beside them are Linux's.
LIBRARIES = ("CLI", "nlohmann", "htslib", "isa-l", "isa-l.h", "zlib.h", "zconf.h", "zstd.h", "zstd_errors.h", "bzlib.h", "lzma",
             "lzma.h", "xxhash.h", "xxh3.h", "xxh_x86dispatch.h")
# Zig's libc++ has these in place of a header __config_site.
LIBCXX = {
    "ABI_NAMESPACE": "__1", "ABI_VERSION": "1", "HAS_THREADS": "1", "HAS_FILESYSTEM": "1", "HAS_LOCALIZATION": "1",
    "HAS_MONOTONIC_CLOCK": "1", "HAS_MUSL_LIBC": "0", "HAS_RANDOM_DEVICE": "1", "HAS_TERMINAL": "1",
    "HAS_TIME_ZONE_DATABASE": "1", "HAS_UNICODE": "1", "HAS_VENDOR_AVAILABILITY_ANNOTATIONS": "0",
    "HAS_WIDE_CHARACTERS": "1", "HARDENING_MODE": "_LIBCPP_HARDENING_MODE_NONE",
    "ASSERTION_SEMANTIC_DEFAULT": "_LIBCPP_ASSERTION_SEMANTIC_IGNORE", "PSTL_BACKEND_SERIAL": "1",
}


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


def zig() -> pathlib.Path:
    return wheel(ZIG) / "ziglang"


def macos(machine: str) -> list[str]:
    """Zig's clang, with macOS's headers and libc++'s, and without those of this system."""
    (zig() / "zig").chmod(0o755)
    include = BUILD / "libraries"
    include.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        (include / name).unlink(missing_ok=True)
        (include / name).symlink_to(pathlib.Path("/usr/include") / name)
    lib = zig() / "lib"
    folders = (lib / "libcxx/include", lib / "libcxxabi/include", lib / "include", lib / "libc/include/any-darwin-any", include)
    return [f"--target={machine}-apple-macosx13.0", "-nostdinc", "-nostdinc++", *newest_fmt(),
            *(f"-isystem{folder}" for folder in folders), *(f"-D_LIBCPP_{name}={value}" for name, value in LIBCXX.items())]


# Name: compiler, what comes before its other options, which sources it reads, and as which build.
EVERYTHING = r""
WITH_FMT = r"/(src|cli)/"
WITH_HTSLIB = r"/io/"
WITHOUT_MPI = r"^(?!.*mpi_link)"  # whose headers come with no package for macOS
CASES = {
    "oldest-gcc": ("g++-11", list, EVERYTHING, "oldest-cmake"),
    "oldest-clang": ("clang++-14", list, EVERYTHING, "oldest-cmake"),
    "newest-clang": ("clang++-19", list, EVERYTHING, "oldest-cmake"),
    "newest-fmt": ("g++", newest_fmt, WITH_FMT, "oldest-cmake"),
    "oldest-htslib": ("g++", oldest_htslib, WITH_HTSLIB, "oldest-cmake"),
    "newest-htslib": ("g++", lambda: htslib(NEWEST_HTSLIB), WITH_HTSLIB, "oldest-cmake"),
    "macos-arm64": ("zig", lambda: macos("arm64"), WITHOUT_MPI, "portable"),
    "macos-x86_64": ("zig", lambda: macos("x86_64"), WITHOUT_MPI, "portable"),
}


def configure(cmake: str, folder: pathlib.Path, *settings: str) -> None:
    """As a packager does: no preset, no tests, no benches."""
    if folder.exists():
        shutil.rmtree(folder)
    done = subprocess.run([cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *settings],
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
    program = [str(zig() / "zig"), "clang"] if compiler == "zig" else [compiler]
    if any("arm64" in option for option in options):  # commands are those of this machine
        words = [word for word in words if not re.match(r"-march=x86|-DWARPMER_X86_KERNELS", word)]
    # Warnings are for the compiler of the release: packagers' have others, and do not stop at them.
    done = subprocess.run([*program, "-fsyntax-only", "-w", *options, *words], cwd=command["directory"],
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
    configure(cmake_of(OLDEST_CMAKE), BUILD / "portable", "-DWARPMER_PORTABLE=ON")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            compiler, options_of, wanted, build = CASES[name]
            options = options_of()
            commands = json.loads((BUILD / build / "compile_commands.json").read_text())
            chosen = [c for c in commands if re.search(wanted, c["file"][len(str(ROOT)):])]
            if "arm64" in name:
                chosen = [c for c in chosen if not re.search(r"-march=x86-64-v[34]", c["command"])]
            said = [s for s in pool.map(lambda c: read_source(compiler, options, c), chosen) if s]
            print(f"{name}: {compiler}, {len(chosen)} sources, {len(said)} not taken", flush=True)
            for text in said[:3]:
                print(text)
            failed += bool(said) or not chosen
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
