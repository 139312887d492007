#!/usr/bin/env bash
# clang-tidy on the C++ sources changed since a commit (default: WARPMER_TIDY_BASE, else where this branch
# left origin/main, else the last commit; --all: every source), with the cpu preset's compile commands.
#
#   scripts/tidy.sh [BASE|--all]
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:-${WARPMER_TIDY_BASE:-}}
if [[ -z $base ]]; then
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [[ -z $base || $base == $(git rev-parse HEAD) ]]; then
    base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
  fi
fi
if [[ $base == --all ]]; then
  files=$(git ls-files '*.cpp')
else
  # Changed in commits or in the working tree, and still there.
  files=$(git diff --name-only --diff-filter=d "$base" -- '*.cpp')
fi

# Configured, not built: with a command for each file.
build=build/tidy
cmake --preset cpu -B "$build" -DWARPMER_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null </dev/null
# Only what is compiled has flags to be checked with.
known=$(python3 -c 'import json, os, sys
print("\n".join(os.path.relpath(c["file"]) for c in json.load(open(sys.argv[1]))))' "$build/compile_commands.json")
mapfile -t checked < <(comm -12 <(sort -u <<<"$files") <(sort -u <<<"$known") | sed '/^$/d')
echo "clang-tidy: ${#checked[@]} file(s) changed since ${base:0:12}"
[[ ${#checked[@]} -gt 0 ]] || exit 0
printf '%s\0' "${checked[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option
