#!/usr/bin/env bash
# Objects compiled for AVX2 or AVX-512 must define no weak functions: of an inline function or a template
# that several objects define, the linker keeps one, and if it keeps the AVX-512 one, the program dies on
# every older machine, in code that has nothing to do with SIMD.
#
#   scripts/check_isa.sh [BUILD_DIR]
set -euo pipefail
build=${1:-build/cpu}
mapfile -t objects < <(find "$build" -path '*tests*' -prune -o \( -name '*avx2*.o' -o -name '*avx512*.o' \) -print)
if [[ ${#objects[@]} -eq 0 ]]; then
  echo "skipped: no objects for AVX2 or AVX-512 in $build"
  exit 77
fi
status=0
for object in "${objects[@]}"; do
  # Columns: number, value, size, type, binding, visibility, section, name.
  weak=$(readelf -sW "$object" | awk '$4 == "FUNC" && $5 == "WEAK" && $7 != "UND" {print $8}' | c++filt)
  if [[ -n $weak ]]; then
    echo "$object defines weak functions (mark them always_inline, or put them in an unnamed namespace):"
    echo "  ${weak//$'\n'/$'\n'  }"
    status=1
  fi
done
[[ $status -ne 0 ]] || echo "${#objects[@]} objects, no weak functions"
exit $status
