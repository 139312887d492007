#!/usr/bin/env bash
# In the folder that gpu-bundle.sh made, on a machine with a GPU: runs the GPU tests, then counts and looks up the
# same reads on the CPU and on the GPU, compares byte for byte, and prints a table. The last line says how many
# checks passed; exits non-zero when one failed, 77 when there is no GPU.
#
#   gpu-check.sh [DEVICE]      default: cuda
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

case "${1:-}" in
  -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
esac
device=${1:-cuda}
export PATH="$here/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

warpmer devices
if [[ $device == cuda* ]] && ! warpmer devices --json | grep -q '"device": "cuda'; then
  echo "gpu-check.sh: skipped, there is no GPU"
  exit 77
fi

passed=0 failed=0
verdict() {
  if [[ $1 == ok ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

if [[ -x $here/bin/warpmer_gpu_tests ]]; then
  echo
  echo "== GPU tests"
  if (cd "$here" && WARPMER_DATA="$here/data" warpmer_gpu_tests); then verdict ok; else verdict failed; fi
fi

if [[ -x $here/bin/warpmer-bench && $device == cuda* ]]; then
  echo
  echo "== tables"
  if warpmer-bench tables --device "$device" --size 20 --load 0.5,0.8,0.9 &&
    warpmer-bench tables --device "$device" --size 20 --load 0.7 --keys uniform,zipf --no-probes &&
    warpmer-bench tables --device "$device" --size 20 --load 0.8 --split --ahead --no-probes &&
    warpmer-bench tables --device "$device" --size 18 --figure slabhash6 &&
    warpmer-bench tables --device "$device" --size 18 --figure slabhash7 &&
    warpmer-bench tables --device "$device" --size 100000 --figure slaballoc; then
    verdict ok
  else
    verdict failed
  fi
  echo
  echo "== tables on all GPUs, and on one that acts as three"
  sides=(--side device,host --pipelines 1,2 --keys unique,uniform,zipf)
  if warpmer-bench distributed --size 22 --batch 18 "${sides[@]}" &&
    warpmer-bench distributed --device 0,0,0 --size 22 --batch 18 "${sides[@]}" &&
    warpmer-bench distributed --device 0,0,0 --size 20 --batch 16 --through-host &&
    warpmer-bench multisplit --size 22; then
    verdict ok
  else
    verdict failed
  fi
fi

# Seconds that a command took, in `seconds`; what it said goes to stderr.log.
timed() {
  local start=$EPOCHREALTIME
  "$@" 2>stderr.log || return
  seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
}

# same_index: the content of two indexes, all but where they come from, is the same bytes.
same_index() {
  local bytes
  bytes=$(warpmer info --json "$1" | sed -n 's/.*"content_bytes": \([0-9]*\).*/\1/p')
  [[ -n $bytes ]] && cmp -n "$bytes" "$1" "$2" >stderr.log 2>&1
}

row() { printf '%-24s %3s %12s %8s %8s  %-8s %s\n' "$@"; }

# check NAME K FILE...: one row of the table.
check() {
  local name=$1 k=$2 kmers=- cpu_seconds=- gpu_seconds=- counts=failed lookups=failed
  shift 2
  rm -f cpu.wmi gpu.wmi cpu.txt gpu.txt
  if timed warpmer count -k "$k" --device cpu "${reading[@]}" -o cpu.wmi "$@"; then
    cpu_seconds=$seconds
    kmers=$(warpmer info --json cpu.wmi | sed -n 's/.*"counted_kmers": \([0-9]*\).*/\1/p')
    if timed warpmer count -k "$k" --device "$device" "${reading[@]}" -o gpu.wmi "$@"; then
      gpu_seconds=$seconds
      if same_index cpu.wmi gpu.wmi; then counts=ok; fi
    fi
    if timed warpmer query --device cpu --profile "${reading[@]}" cpu.wmi --reads "$@" -o cpu.txt &&
      timed warpmer query --device "$device" --profile "${reading[@]}" cpu.wmi --reads "$@" -o gpu.txt &&
      cmp cpu.txt gpu.txt >stderr.log 2>&1; then
      lookups=ok
    fi
  fi
  row "$name" "$k" "$kmers" "$cpu_seconds" "$gpu_seconds" "$counts" "$lookups"
  if [[ $counts$lookups != okok ]]; then sed 's/^/    /' stderr.log; fi
  verdict $counts
  verdict $lookups
}

all_k="1 5 15 31 32 33 55 64"
reading=(--reference "$here/data/genome.fa")  # for CRAM

# A genome with errors, a short one read many times, long sequences, and one k-mer alone.
simulate_reads --genome-length 2M --coverage 10 -o reads.fq
simulate_reads --genome-length 2k --reads 100000 -o deep.fq
simulate_reads --genome-length 2M --mutants 6 --error-rate 0.01 -o genomes.fa
{ echo ">A" && head -c 20000000 /dev/zero | tr '\0' A && echo; } >one_kmer.fa

echo
echo "== CPU against $device"
row input k k-mers "CPU, s" "GPU, s" counts lookups
for k in $all_k; do
  for input in reads.fq deep.fq genomes.fa one_kmer.fa; do
    check "$input" "$k" "$input"
  done
  check "data/reads_*.fq.gz" "$k" "$here"/data/reads_*.fq.gz
done
for file in "$here"/data/*; do
  case "$file" in
    *.list | *.fai) ;;
    *) for k in 5 31 55; do check "data/${file##*/}" "$k" "$file"; done ;;
  esac
done

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
