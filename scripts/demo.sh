#!/usr/bin/env bash
# From a fresh checkout to k-mer counts: installs what is missing, builds what this machine can run,
# counts the bundled reads, shows a histogram and looks some k-mers up.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build

# CUDA code is built where it can run, nowhere else.
preset=cpu
if [[ -f kernels/CMakeLists.txt ]] && command -v nvcc >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
  preset=cuda
fi
echo "building (preset $preset) ..."
mkdir -p build
log=build/demo.log
if ! { cmake --preset "$preset" -DWARPMER_TESTS=OFF -DWARPMER_BENCH=OFF &&
  cmake --build --preset "$preset" --target warpmer; } >"$log" 2>&1 </dev/null; then
  tail -n 40 "$log" >&2
  echo "demo.sh: the build failed; all of it is in $log" >&2
  exit 1
fi

export PATH="$PWD/build/$preset:$PATH"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run() {
  echo
  echo "\$ $*"
  "$@"
}
run warpmer count -k 31 -o "$out/sample.wmi" data/reads_1.fq.gz data/reads_2.fq.gz
run warpmer stats "$out/sample.wmi"
run warpmer histo "$out/sample.wmi" | sed -n '1,36p'
run warpmer query "$out/sample.wmi" "$(sed -n 20p data/genome.fa | cut -c 1-31)" ACGTACGTACGTACGTACGTACGTACGTACG
run warpmer query "$out/sample.wmi" --reads data/forty.fq | sed -n '1,6p'
echo
echo "The program is build/$preset/warpmer; try: build/$preset/warpmer --help"
