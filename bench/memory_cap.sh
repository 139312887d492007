#!/usr/bin/env bash
# Counting reads that do not fit in memory, warpmer against KMC with the same caps: same reads, same threads, in
# turn, each writing its database to the same disk. Prints Markdown: wall and CPU time, peak memory, temporary bytes
# per k-mer, and whether all agree on the k-mers. A benchmark, not a test: run it on an idle machine.
#
#   bench/memory_cap.sh [options]
#
#   --bases N        bases of reads, with K, M or G (3G)   --genome FILE    FASTA, plain or gzip (the C. elegans
#   --caps A[,B...]  gigabytes (8,4,2,1,0.5)                                genome of ../shared)
#   -k N             k (31)                                --genome-length N  a genome of so many random bases instead
#   -t N             threads (2)                           --warpmer FILE   the program (build/cpu/warpmer)
#   --tools A[,B]    of warpmer, kmc (both)                --dir DIR        reads, databases and temporary files go
#                                                                           there (default: a temporary folder)
#
# KMC runs as `kmc -sm -mN`, N in whole gigabytes and at least 2, as it wants them. Its temporary bytes are those its
# summary names; warpmer's are in --stats.
set -euo pipefail
cd "$(dirname "$0")/.."

k=31 threads=2 warpmer=build/cpu/warpmer dir='' bases=3G caps=8,4,2,1,0.5 tools=warpmer,kmc
genome=../shared/data/medium/celegans_ce10_WS220.fa.gz genome_length=''
while [[ $# -gt 0 ]]; do
  case "$1" in
    --bases) bases=$2; shift ;;
    --caps) caps=$2; shift ;;
    -k) k=$2; shift ;;
    -t) threads=$2; shift ;;
    --tools) tools=$2; shift ;;
    --genome) genome=$2; shift ;;
    --genome-length) genome_length=$2; shift ;;
    --warpmer) warpmer=$2; shift ;;
    --dir) dir=$2; shift ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "memory_cap.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

scripts/setup.sh build bench
build() {
  cmake --preset cpu >/dev/null </dev/null
  cmake --build --preset cpu --target "$1" >&2 </dev/null
}
simulator=build/cpu/bin/simulate_reads
[[ $tools != *warpmer* || -x $warpmer ]] || build warpmer
[[ -x $simulator ]] || build simulate_reads

work=$(mktemp -d "${dir:-${TMPDIR:-/tmp}}/memory_cap.XXXXXX")
trap 'rm -rf "$work"' EXIT
[[ -n $dir ]] || dir=$work
bytes=$(python3 -c 'import sys; n = sys.argv[1]; print(int(float(n.rstrip("KMG")) * {"K": 1e3, "M": 1e6, "G": 1e9}.get(n[-1], 1)))' "$bases")
read_length=150
simulated=(--read-length "$read_length" --reads "$((bytes / read_length))" --error-rate 0.005 --seed 1)

source=(--genome-length "$genome_length")
if [[ -z $genome_length ]]; then
  source=(--genome "$genome")
  if [[ $genome == *.gz ]]; then
    gzip -dc "$genome" >"$work/genome.fa"
    source=(--genome "$work/genome.fa")
  fi
fi
reads=$dir/memory_cap_${genome_length:-$(basename "$genome")}_$bases.fq
if [[ ! -s $reads ]]; then
  "$simulator" "${source[@]}" "${simulated[@]}" -o "$reads.part"
  mv "$reads.part" "$reads"
fi

field() { sed -n "s/^\s*$1: //p" "$work/time"; }

# Runs one tool with one cap and notes: cap, tool, wall, CPU, peak KB, temporary bytes, k-mers, distinct.
measure() {
  local cap=$1 tool=$2 out=$work/out total distinct temporary
  rm -rf "$out" "$work/tmp"
  mkdir "$out" "$work/tmp"
  sync "$work" 2>/dev/null || true
  case "$tool" in
    warpmer)
      local megabytes
      megabytes=$(awk "BEGIN {printf \"%d\", $cap * 1024}")
      command=("$warpmer" count -k "$k" -t "$threads" -m "${megabytes}M" --device cpu --tmp-dir "$work/tmp"
        --stats "$work/stats.json" -o "$out/db.wmi" "$reads")
      ;;
    kmc)
      local gigabytes
      gigabytes=$(awk "BEGIN {n = int($cap + 0.999); print n < 2 ? 2 : n}")
      command=(kmc "-k$k" "-t$threads" -sm "-m$gigabytes" -ci1 -cs65535 -fq "$reads" "$out/db" "$work/tmp")
      ;;
    *) echo "memory_cap.sh: no tool $tool" >&2; exit 2 ;;
  esac
  /usr/bin/time -v -o "$work/time" "${command[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  if [[ $tool == warpmer ]]; then
    read -r temporary total distinct < <(python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
print(s["spilled"]["written_bytes"], s["totals"]["counted_kmers"], s["totals"]["counted_distinct"])' "$work/stats.json")
  else
    temporary=$(awk '/^Tmp total/ {gsub("MB", "", $NF); print $NF * 1e6}' "$work/log")
    total=$(sed -n 's/.*Total no. of k-mers *: *//p' "$work/log")
    distinct=$(sed -n 's/.*No. of unique k-mers *: *//p' "$work/log")
  fi
  local wall cpu
  wall=$(field 'Elapsed (wall clock) time (h:mm:ss or m:ss)' | awk -F: '{s = 0; for (i = 1; i <= NF; ++i) s = 60 * s + $i; print s}')
  cpu=$(awk "BEGIN {print $(field 'User time (seconds)') + $(field 'System time (seconds)')}")
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$cap" "$tool" "$wall" "$cpu" \
    "$(field 'Maximum resident set size (kbytes)')" "${temporary:-0}" "$total" "$distinct" >>"$work/results.tsv"
  printf '%s GB %-8s %8s s wall %8s s CPU\n' "$cap" "$tool" "$wall" "$cpu" >&2
  rm -rf "$out" "$work/tmp"
}

for cap in ${caps//,/ }; do
  for tool in ${tools//,/ }; do measure "$cap" "$tool"; done
done

echo "### $(date -u +%F), commit $(git describe --always --dirty --abbrev=10 --exclude '*')"
echo
echo "$(nproc) cores, load before the report $(cut -d' ' -f1 /proc/loadavg). \`simulate_reads ${source[*]//$work\//} ${simulated[*]}\`, k = $k, $threads threads."
echo
python3 - "$work/results.tsv" <<'PY'
import sys

rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
kmers = {(row[6], row[7]) for row in rows}
if len(kmers) != 1:
    sys.exit(f"memory_cap.sh: the tools do not agree on the k-mers: {kmers}")
total, distinct = (int(n) for n in kmers.pop())
print("| cap, GB | | wall, s | CPU, s | peak, GB | temporary bytes per k-mer | wall / warpmer |")
print("|---|---|---|---|---|---|---|")
walls = {row[0]: float(row[2]) for row in rows if row[1] == "warpmer"}
for cap, tool, wall, cpu, peak, temporary, _, _ in rows:
    ratio = f"{float(wall) / walls[cap]:.2f}" if cap in walls else ""
    # GB as -m has them, which are binary.
    print(f"| {cap} | {tool} | {float(wall):.1f} | {float(cpu):.1f} | {int(peak) / 2**20:.2f} | "
          f"{float(temporary) / total:.2f} | {ratio} |")
print(f"\n{total:,} k-mers, {distinct:,} distinct; all runs agree.")
PY
