#!/usr/bin/env bash
# All C++ and CUDA files are as clang-format leaves them; --fix makes them so.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang-format >/dev/null; then
  echo "skipped: no clang-format (scripts/setup.sh hygiene)"
  exit 77
fi
mode=(--dry-run --Werror)
[[ "${1:-}" != --fix ]] || mode=(-i)
# A fresh clone has no empty folders.
mapfile -t folders < <(ls -d include src cli kernels python bench examples tests 2>/dev/null)
find "${folders[@]}" -name '*.h' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' |
  sort | xargs -r clang-format --style=file "${mode[@]}"
