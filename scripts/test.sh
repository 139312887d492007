#!/usr/bin/env bash
# Installs what is missing, builds all that the toolchain can, runs all tests. The last line says how many
# passed; exits non-zero when one failed.
#
#   scripts/test.sh [OPTION...]
#
#   --asan         also build and test with ASan + UBSan
#   --tsan         also build and test with TSan
#   --sanitizers   both
#   --asan-clang   also build and run the unit tests with clang's ASan + UBSan, as a portable build (WARPMER_PORTABLE);
#                  what is Linux's own is under GCC's with --asan
#   --aarch64      also cross-compile the unit tests for 64-bit ARM, and run them in qemu-user
#   --compilers    also let the oldest and the newest compilers and libraries, and macOS's, read the sources
#                  (scripts/check_compilers.py)
#   --no-cuda      leave CUDA out though there is nvcc
#   --gpu-bundle   CUDA is built as it is for GPU nodes, tests use that build, and the bundle is made of it
#                  (scripts/gpu-bundle.sh)
#   --python       also build the Python module with pip, in build/python, and run its tests (tests/python); and in the
#                  release build the module for Apache Arrow, which is that of pyarrow, in build/pyarrow
#   --viewers      also install what tests open reports with: Chromium, and MultiQC in build/multiqc
#   --full         all tests of a release build there are (this is so unless told otherwise)
#   --sample       a few cases of each kind, as with sanitizers
#   --tidy         also clang-tidy on the files changed since WARPMER_TIDY_BASE (scripts/tidy.sh)
#   --werror       warnings are errors
#
# With nvcc, CUDA code is compiled for the architectures of the cuda preset, or those that CUDAARCHS names.
set -euo pipefail
cd "$(dirname "$0")/.."

release=cpu
# With nvcc but without a GPU, CUDA code is compiled, and the tests that need a device skip themselves.
if command -v nvcc >/dev/null; then release=cuda; fi
others=()
groups=(build test hygiene)
compilers=no
python=no
viewers=no
tidy=no
tier=full
werror=OFF
for argument in "$@"; do
  case "$argument" in
    --asan) others+=(asan) ;;
    --tsan) others+=(tsan) ;;
    --sanitizers) others+=(asan tsan) ;;
    --asan-clang) others+=(asan-clang) groups+=(compilers) ;;
    --aarch64) others+=(aarch64) groups+=(aarch64) ;;
    --compilers) compilers=yes groups+=(compilers) ;;
    --no-cuda) release=cpu ;;
    --gpu-bundle) release=gpu-bundle ;;
    --python) python=yes groups+=(python) ;;
    --viewers) viewers=yes groups+=(viewers) ;;
    --full | --sample) tier=${argument#--} ;;
    --tidy) tidy=yes ;;
    --werror) werror=ON ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $argument" >&2; exit 2 ;;
  esac
done

scripts/setup.sh "${groups[@]}"

jobs=$(nproc)
# Some tests wait for a clock, and others of one thread for what they read and write.
tests_at_once=$((jobs + 1))
passed=0 failed=0 skipped=0
failures=()

# Says what begins, and how many seconds after this script.
begin() { echo "== $*, at $SECONDS s"; }

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

# new_venv FOLDER PACKAGE: a Python environment with the package, made anew; FOLDER.log is shown if that fails.
new_venv() {
  mkdir -p build
  python3 -m venv --clear "$1" && "$1/bin/pip" install "$2" >"$1.log" 2>&1 || { tail -n 60 "$1.log"; return 1; }
}

# Apache Arrow for C++, of which Debian has no package; sets `pyarrow`. Kept from one run to the next.
install_pyarrow() {
  local environment=$PWD/build/pyarrow where='import pyarrow; print(pyarrow.get_library_dirs()[0])'
  if ! pyarrow=$("$environment/bin/python" -c "$where" 2>/dev/null); then
    new_venv "$environment" pyarrow || return 1
    pyarrow=$("$environment/bin/python" -c "$where")
  fi
}

# MultiQC, of which Debian has no package; its own folder of programs, so that Python stays what it is.
install_viewers() {
  local environment=$PWD/build/multiqc folder=$PWD/build/viewers
  "$environment/bin/multiqc" --version >/dev/null 2>&1 || new_venv "$environment" multiqc || return 1
  mkdir -p "$folder"
  ln -sf ../multiqc/bin/multiqc "$folder/multiqc"
  PATH=$folder:$PATH
}

test_preset() {
  local preset=$1 report log launcher=() settings=("-DWARPMER_WERROR=$werror" "-DWARPMER_TEST_TIER=$tier")
  # CI reads warnings where all of it is built, with the compiler of the release.
  if [[ $preset == asan-clang || $preset == aarch64 ]]; then settings=(); fi
  report=$PWD/build/$preset/ctest.xml
  log=$PWD/build/$preset/build.log
  mkdir -p "build/$preset"
  if [[ $python == yes && $preset == "$release" ]]; then
    if ! install_pyarrow; then
      fail "$preset/pyarrow"
      return
    fi
    settings+=("-DWARPMER_PYARROW=$pyarrow")
  fi
  if [[ $preset == cuda && -n ${CUDAARCHS:-} ]]; then settings+=("-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS"); fi
  if [[ $preset == aarch64 ]] && ! scripts/sysroot.sh arm64 build/sysroot-arm64; then
    fail "$preset/sysroot"
    return
  fi
  begin "$preset: build"
  if ! { cmake --preset "$preset" "${settings[@]}" && cmake --build --preset "$preset" -j "$jobs"; } \
    >"$log" 2>&1 </dev/null; then
    grep -E -A12 'error|FAILED' "$log" | head -n 120 || tail -n 60 "$log"
    fail "$preset/build"
    return
  fi
  begin "$preset: test"
  # TSan of this age cannot start where the kernel randomises addresses widely.
  if [[ $preset == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    launcher=(setarch "$(uname -m)" -R)
  fi
  rm -f "$report"
  ${launcher[@]+"${launcher[@]}"} ctest --preset "$preset" -j "$tests_at_once" --no-tests=error --output-junit "$report" \
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

# check NAME COMMAND...: a check that is no test of a build.
check() {
  local name=$1
  shift
  begin "$name"
  if "$@" </dev/null; then passed=$((passed + 1)); else fail "$name"; fi
}

# The module as a user installs it. The compiler has the name, and the flags, that it has in the release build, so that
# what ccache keeps of it serves here, too.
test_python() {
  local environment=$PWD/build/python
  CXX=${CXX:-c++} CMAKE_ARGS="-DWARPMER_WERROR=$werror" new_venv "$environment" "${PWD}[arrow]" || return 1
  (cd tests/python && "$environment/bin/python" -W error -m unittest)
}

if [[ $viewers == yes ]] && ! install_viewers; then fail viewers; fi
for preset in "$release" ${others[@]+"${others[@]}"}; do
  test_preset "$preset"
done
if [[ $release == gpu-bundle ]]; then check house/gpu_bundle scripts/gpu-bundle.sh "-DWARPMER_WERROR=$werror"; fi
if [[ $compilers == yes ]]; then check house/compilers scripts/check_compilers.py; fi

if [[ $python == yes ]]; then check python test_python; fi

if [[ $tidy == yes ]]; then check house/tidy scripts/tidy.sh; fi

begin end
if [[ $failed -gt 0 ]]; then
  echo
  printf 'FAILED: %s\n' "${failures[@]}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
