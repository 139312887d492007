#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md that a script can check: who includes whom, where CUDA may be
seen, that library code neither prints nor exits, and uses the CUDA driver by kernels/driver_use.cuh."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

BELOW_ENGINE = {"core", "table", "io", "index", "formats"}
ALLOWED = {
    "core": {"core"},
    "table": {"core", "table"},
    "io": {"core", "io"},
    "index": {"core", "index"},
    # Other programs' files are read and written with what reads and writes ours.
    "formats": {"core", "io", "index", "formats"},
    "engine": BELOW_ENGINE | {"engine"},
    "cpu": BELOW_ENGINE | {"engine", "comm", "cpu"},
    # The exchange carries what backends cut: below them. Between ranks it implements what the engine asks for.
    "comm": {"core", "engine", "comm"},
    "kernels": BELOW_ENGINE | {"engine", "comm", "kernels"},
    "cli": {"io", "index", "formats", "engine", "cli"},
}
# Of core, the command line sees the error types, warnings, and the stage that puts its answers in order.
CLI_MAY_ALSO = {"core/error.h", "core/warning.h", "core/ordered_stage.h"}
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


def layer_of(path):
    parts = path.parts
    if parts[0] == "src":
        return parts[1]
    return parts[0]


def check(path, text):
    layer = layer_of(path)
    is_cuda_place = layer == "kernels" or (path.suffix in {".cu", ".cuh"} and layer in {"tests", "bench"})
    for quote, target in INCLUDE.findall(text):
        if quote == "<":
            if CUDA.match(target) and not is_cuda_place:
                yield f"includes <{target}>: only kernels/ and .cu files see CUDA"
            continue
        if target.endswith(".cuh") and not is_cuda_place:
            yield f'includes "{target}": only kernels/ and .cu files see CUDA'
        first = target.split("/")[0] if "/" in target else layer
        if first == "..":
            yield f'includes "{target}": write the path from src/'
        if layer not in ALLOWED or first not in LAYERS:
            continue
        if first not in ALLOWED[layer] and not (layer == "cli" and target in CLI_MAY_ALSO):
            yield f'includes "{target}": {layer} may see {", ".join(sorted(ALLOWED[layer]))}'
    # A *_body.h is meant to be included several times, once for each instruction set.
    if path.suffix in {".h", ".cuh"} and not path.stem.endswith("_body") and "#pragma once" not in text:
        yield "has no #pragma once"
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


def main():
    files = [
        path
        for folder in ("src", "cli", "kernels", "bench", "tests")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]
    problems = 0
    for path in files:
        relative = path.relative_to(ROOT)
        for problem in check(relative, path.read_text(encoding="utf-8")):
            print(f"{relative}: {problem}")
            problems += 1
    print(f"{len(files)} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
