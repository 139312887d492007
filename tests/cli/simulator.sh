#!/usr/bin/env bash
# The read simulator's output depends on its seed, and on nothing else.
set -euo pipefail
simulator=${WARPMER_BUILD:-build/cpu}/bin/simulate_reads
if [[ ! -x $simulator ]]; then
  echo "skipped: no $simulator"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
options=(--genome-length 0.05M --coverage 20 --binned-qualities)
"$simulator" "${options[@]}" -t 1 --write-genome "$folder/genome.fa" -o "$folder/one.fq"
"$simulator" "${options[@]}" -t 3 | cmp - "$folder/one.fq"
"$simulator" --genome "$folder/genome.fa" "${options[@]:2}" -t 2 | cmp - "$folder/one.fq"
if "$simulator" "${options[@]}" --seed 8 --reads 6666 | cmp -s - "$folder/one.fq"; then
  echo "another seed gave the same reads"
  exit 1
fi
# Mutants, in blocks of lines.
mutants=(--genome-length 2.5M --mutants 3 --error-rate 0.001 --line-length 61)
"$simulator" "${mutants[@]}" -t 3 -o "$folder/mutants.fa"
"$simulator" "${mutants[@]}" -t 1 | cmp - "$folder/mutants.fa"
[[ $(grep -c '>' "$folder/mutants.fa") -eq 3 && $(grep -v '>' "$folder/mutants.fa" | tr -d '\n' | wc -c) -eq 7500000 ]]
[[ $(wc -l <"$folder/one.fq") -eq $((4 * 6666)) ]]
