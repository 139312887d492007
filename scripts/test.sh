#!/usr/bin/env bash
# Installs what is missing, builds all that the toolchain can, runs all tests. The last line says how many
# passed; exits non-zero when one failed.
#
#   scripts/test.sh [--sanitizers | --asan | --tsan] [--tidy] [--werror] [--quick-device-code]
#
#   --asan         also build and test with ASan + UBSan
#   --tsan         also build and test with TSan
#   --sanitizers   both
#   --tidy         also clang-tidy on the files changed since WARPMER_TIDY_BASE (scripts/tidy.sh)
#   --werror       warnings are errors
#   --quick-device-code   for a machine without a GPU: device code is compiled, but hardly optimised
#
# With nvcc, CUDA code is compiled for the architectures of the cuda preset, or those that CUDAARCHS names.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=(cpu)
tidy=no
werror=OFF
quick=OFF
for argument in "$@"; do
  case "$argument" in
    --asan) sanitizers=(asan) ;;
    --tsan) sanitizers=(tsan) ;;
    --sanitizers) sanitizers=(asan tsan) ;;
    --tidy) tidy=yes ;;
    --werror) werror=ON ;;
    --quick-device-code) quick=ON ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $argument" >&2; exit 2 ;;
  esac
done
# With nvcc but without a GPU, CUDA code is compiled, and the tests that need a device skip themselves.
if [[ -f kernels/CMakeLists.txt ]] && command -v nvcc >/dev/null; then
  presets=(cuda)
fi
presets+=("${sanitizers[@]+"${sanitizers[@]}"}")

scripts/setup.sh build test hygiene

jobs=$(nproc)
passed=0 failed=0 skipped=0
failures=()

fail() {
  failed=$((failed + 1))
  failures+=("$1")
}

# Numbers of passed, failed and skipped entries of a ctest report, then the names of the failed.
read_report() {
  python3 - "$1" <<'PY'
import sys, xml.etree.ElementTree as tree
passed, skipped, failed = 0, 0, []
for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    status = case.get("status")
    if status == "run":
        passed += 1
    elif status in ("notrun", "disabled"):
        skipped += 1
    else:
        failed.append(case.get("name"))
print(passed, len(failed), skipped, *failed)
PY
}

test_preset() {
  local preset=$1 report log launcher=() settings=("-DWARPMER_WERROR=$werror")
  report=$PWD/build/$preset/ctest.xml
  log=$PWD/build/$preset/build.log
  mkdir -p "build/$preset"
  if [[ $preset == cuda ]]; then
    settings+=("-DWARPMER_QUICK_DEVICE_CODE=$quick")
    if [[ -n ${CUDAARCHS:-} ]]; then settings+=("-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS"); fi
  fi
  echo "== $preset: build"
  if ! { cmake --preset "$preset" "${settings[@]}" && cmake --build --preset "$preset" -j "$jobs"; } \
    >"$log" 2>&1 </dev/null; then
    grep -E -A12 'error|FAILED' "$log" | head -n 120 || tail -n 60 "$log"
    fail "$preset/build"
    return
  fi
  echo "== $preset: test"
  # TSan of this age cannot start where the kernel randomises addresses widely.
  if [[ $preset == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    launcher=(setarch "$(uname -m)" -R)
  fi
  rm -f "$report"
  "${launcher[@]+"${launcher[@]}"}" ctest --preset "$preset" -j "$jobs" --no-tests=error --output-junit "$report" \
    </dev/null || true
  if [[ ! -s $report ]]; then
    fail "$preset/ctest"
    return
  fi
  local counts name
  read -r -a counts <<<"$(read_report "$report")"
  passed=$((passed + counts[0]))
  skipped=$((skipped + counts[2]))
  for name in "${counts[@]:3}"; do
    fail "$preset/$name"
  done
}

for preset in "${presets[@]}"; do
  test_preset "$preset"
done

if [[ $tidy == yes ]]; then
  echo "== clang-tidy on changed files"
  if scripts/tidy.sh; then passed=$((passed + 1)); else fail "house/tidy"; fi
fi

if [[ $failed -gt 0 ]]; then
  echo
  printf 'FAILED: %s\n' "${failures[@]}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
