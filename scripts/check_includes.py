#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md that a script can check: who includes whom, where CUDA may be
seen, that library code neither prints nor exits, and uses the CUDA driver by kernels/memory/driver_lock.cuh."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Which folders a folder may see, itself aside.
BELOW_BACKEND = {"base", "system", "kmer", "groups", "file", "host", "io", "index", "formats"}
ALLOWED = {
    # The public headers, which all may see, and which see only each other.
    "include": set(),
    # The Python extension, of the public headers.
    "python": set(),
    "base": set(),
    "system": {"base"},
    "kmer": set(),
    "groups": {"base", "kmer"},
    "file": {"base", "system"},
    "host": {"base", "system", "file"},
    "table": {"base", "kmer"},
    "io": {"base", "system", "kmer", "file"},
    "index": {"base", "kmer", "file", "groups"},
    # Other programs' files are read and written with what reads and writes ours.
    "formats": {"base", "kmer", "file", "io", "index"},
    "backend": BELOW_BACKEND | {"table"},
    "mpi": BELOW_BACKEND | {"backend"},
    "serve": BELOW_BACKEND | {"backend"},
    "stats": {"base", "index", "backend"},
    "jobs": BELOW_BACKEND | {"backend", "mpi", "stats"},
    "cpu": BELOW_BACKEND | {"table", "backend", "mpi"},
    "kernels": BELOW_BACKEND | {"table", "backend", "mpi"},
    # The public library, in include/.
    "library": BELOW_BACKEND | {"backend", "mpi", "jobs"},
    "cli": {"base", "system", "file", "host", "io", "index", "formats", "backend", "mpi", "serve", "stats", "jobs"},
}
# Of base, the command line sees errors, warnings, numbers in text, and what its own threads need; nothing of how the
# library works.
CLI_SEES_OF_BASE = {"error", "warning", "number_text", "ordered_stage", "progress", "thread_team"}
# Folders within a folder, the lowest first: each may see those before it. BESIDE is what lies beside them; where the
# list does not have it, it sees them all, and none sees it.
BESIDE = "."
ROOMS = {
    "system": [BESIDE, "linux", "portable"],
    "file": [BESIDE, "output"],
    "index": [BESIDE, "writer", "positions"],
    "backend": [BESIDE, "lookup", "live", "indexes"],
    "formats": ["stream", "text", "table", "arrow", "jellyfish", "fastk"],
    "io": ["blocks", "compress", "text", "fastx", "hts"],
    "cpu": ["simd", "memory", "count", "tables", "lookup", "sets", "positions", "update", "live"],
    "kernels": ["memory", "warps", "text", "count", "freeze", "exchange", "spill", "upload", "session", "update", "lookup",
                "live", "tables"],
    "cli": ["framework", "arguments", "pictures", "output", "personalities", "commands"],
    "cli/personalities": [BESIDE, "kmc", "jellyfish", "fastk", "yak"],
    "mpi": [],
}
LAYERS = set(ALLOWED)
SUFFIXES = {".h", ".cpp", ".cuh", ".cu"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
CUDA = re.compile(r"^(cuda|cub/|thrust/|cooperative_groups|nccl|nvtx|device_launch_parameters)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
PRINTS = re.compile(r"std::(cout|cerr|clog)\b|\bfmt::print\b|\b(f|v|vf)?printf\s*\(|\bputs\s*\(|\bperror\s*\(")
LAUNCH = re.compile(r"<<<.*?>>>(?=\s*\()", re.S)
# With a stream among their arguments, and without.
IN_STREAM = re.compile(
    r"\bcuda(Mem\w+Async|MallocAsync|FreeAsync|EventRecord|StreamWaitEvent|LaunchHostFunc)\([^;]*;"
)
AT_ONCE = re.compile(
    r"\bcuda(Malloc|Free|MallocHost|FreeHost|HostAlloc|HostRegister|HostUnregister|Memcpy|Memset|MemPoolTrimTo"
    r"|MemPoolSetAccess|DeviceEnablePeerAccess|StreamCreate\w*|StreamDestroy|EventCreate\w*|EventDestroy"
    r"|FuncGetAttributes|FuncSetAttribute)\("
)
EXITS = re.compile(r"\b(std::)?(_?exit|quick_exit|abort)\s*\(")


def driver_uses(code):
    """Those that are no DriverLock::Shared."""
    for pattern in (LAUNCH, IN_STREAM):
        for found in pattern.finditer(code):
            if "DriverLock::Shared(" not in found.group(0):
                yield found.group(0)
    for found in AT_ONCE.finditer(code):
        # In the same block, or nearly.
        if "DriverLock::Shared use;" not in code[max(0, found.start() - 1000) : found.start()]:
            yield found.group(0)


def folders_of(path):
    """The folders that a file is in, from that below src/, or beside it, on."""
    parts = path.parts[1:] if path.parts[0] == "src" else path.parts
    return list(parts[:-1])


def upward_room(folders, others):
    """What is wrong with an include from one room to another of the same folder, of rooms within it, too."""
    depth = 0
    while folders[depth : depth + 1] == others[depth : depth + 1] != []:
        depth += 1
    if len(folders) == depth == len(others):
        return None
    above = "/".join(folders[:depth])
    room, other = ((names + [BESIDE])[depth] for names in (folders, others))
    rooms = ROOMS.get(above, [])
    rooms = rooms if BESIDE in rooms else [*rooms, BESIDE]
    if room not in rooms or room == rooms[-1] == BESIDE:
        return None
    seen = rooms[: rooms.index(room)]
    if other in seen:
        return None
    return f"{above}/{room} may see {', '.join(seen) or 'no other folder'} of {above}"


def upward(folders, target):
    """What is wrong with an include of `target` from a file in these folders; None if nothing is."""
    others = folders_of(pathlib.PurePath(target))
    layer, first = folders[0], others[0] if others else ""
    if layer not in ALLOWED or first not in LAYERS:
        return None
    if layer == "cli" and first == "base" and pathlib.PurePath(target).stem not in CLI_SEES_OF_BASE:
        return f"of base, cli may see {', '.join(sorted(CLI_SEES_OF_BASE))}"
    if first != layer:
        if first in ALLOWED[layer]:
            return None
        return f"{layer} may see {', '.join(sorted(ALLOWED[layer])) or 'no other folder'}"
    return upward_room(folders, others)


def check(path, text):
    folders = folders_of(path)
    layer = folders[0]
    is_cuda_place = layer == "kernels" or (path.suffix in {".cu", ".cuh"} and layer in {"tests", "bench"})
    for quote, target in INCLUDE.findall(text):
        if quote == "<":
            if CUDA.match(target) and not is_cuda_place:
                yield f"includes <{target}>: only kernels/ and .cu files see CUDA"
            continue
        if target.endswith(".cuh") and not is_cuda_place:
            yield f'includes "{target}": only kernels/ and .cu files see CUDA'
        if target.split("/")[0] == "..":
            yield f'includes "{target}": write the path from src/'
        if "/" not in target and layer in LAYERS:
            yield f'includes "{target}": write the whole path'
        problem = upward(folders, target)
        if problem:
            yield f'includes "{target}": {problem}'
    # A *_body.h is meant to be included several times, once for each instruction set.
    if path.suffix in {".h", ".cuh"} and not path.stem.endswith("_body") and "#pragma once" not in text:
        yield "has no #pragma once"
    if re.search(r"///<? (What|Whether)\b", text):
        yield "has a comment that begins with What or Whether"
    if re.search(r"utils?|helpers?", path.stem):
        yield "is named after nothing (no utils, no helpers)"
    if layer in LAYERS - {"cli"}:
        code = COMMENT.sub("", text)
        for pattern, what in ((PRINTS, "prints"), (EXITS, "ends the process")):
            found = pattern.search(code)
            if found:
                yield f"{what} ({found.group(0).strip()}): library code throws, cli prints"
    if layer == "kernels":
        for found in driver_uses(COMMENT.sub("", text)):
            yield f"calls {found.splitlines()[0]} while another thread may be starting kernels: use DriverLock::Shared"


def missing_rooms():
    """Rooms that are no folders any more."""
    for above, rooms in ROOMS.items():
        folder = ROOT / above if above.split("/")[0] in {"kernels", "cli"} else ROOT / "src" / above
        yield from (f"{above}/{room}" for room in rooms if not (folder / room).is_dir())


def main():
    files = [
        path
        for folder in ("include", "src", "cli", "kernels", "python", "bench", "examples", "tests")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]
    problems = 0
    for room in missing_rooms():
        print(f"scripts/check_includes.py: there is no folder {room}")
        problems += 1
    for path in files:
        relative = path.relative_to(ROOT)
        for problem in check(relative, path.read_text(encoding="utf-8")):
            print(f"{relative}: {problem}")
            problems += 1
    print(f"{len(files)} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
