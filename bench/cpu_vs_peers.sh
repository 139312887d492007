#!/usr/bin/env bash
# warpmer against KMC, Jellyfish and meryl on this machine: same reads, same threads, in turn, warm page cache, each
# writing its database. Prints Markdown: medians of wall and CPU time, peak memory, database size, ratios, and
# whether all agree on the k-mers. A benchmark, not a test: run it on an idle machine.
#
#   bench/cpu_vs_peers.sh [options]
#
#   -k N               k (31)                    --rounds N      rounds (3)
#   -t N               threads (2)               --warpmer FILE  the program (build/cpu/warpmer)
#   --only A[,B...]    of reads, reads-gz, genome, genome-gz (all; genome* need ../shared)
#   --tools A[,B...]   of warpmer, kmc, kmc-m4, kmc-ram, jellyfish, floor (these), and meryl (1.4 has to be on the path;
#                      Debian's is of 2015)
#   --dir DIR          keep simulated reads there for the next run (default: a temporary folder)
#   --record           also put the medians into docs/results.md, and those of simulated reads into README.md
set -euo pipefail
cd "$(dirname "$0")/.."

k=31 threads=2 rounds=3 warpmer=build/cpu/warpmer dir='' record=no
only=reads,reads-gz,genome,genome-gz
tools=warpmer,kmc,kmc-m4,kmc-ram,jellyfish,floor
arguments=("$@")
while [[ $# -gt 0 ]]; do
  case "$1" in
    -k) k=$2; shift ;;
    -t) threads=$2; shift ;;
    --rounds) rounds=$2; shift ;;
    --only) only=$2; shift ;;
    --tools) tools=$2; shift ;;
    --warpmer) warpmer=$2; shift ;;
    --dir) dir=$2; shift ;;
    --record) record=yes ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "cpu_vs_peers.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

scripts/setup.sh build bench
# Both are built here only when the caller brings none.
build() {
  cmake --preset cpu >/dev/null </dev/null
  cmake --build --preset cpu --target "$1" >&2 </dev/null
}
simulator=build/cpu/bin/simulate_reads
[[ $tools != *warpmer* || -x $warpmer ]] || build warpmer

work=$(mktemp -d "${TMPDIR:-/tmp}/cpu_vs_peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
[[ -n $dir ]] || dir=$work/data
mkdir -p "$dir"
results=$work/results.tsv

simulated=(--genome-length 4.6M --repeats 0.05 --coverage 100 --read-length 150 --error-rate 0.005 --seed 1)

# Makes an input if it is not there; a half-made one never has the final name.
make_input() {
  local path=$1
  [[ -s $path ]] && return
  if [[ $path == *.fq* && ! -x $simulator ]]; then build simulate_reads; fi
  # Binned qualities are as instruments write them, so that gzip has as much to do as with real reads.
  case "$path" in
    */sim100x.fq) "$simulator" "${simulated[@]}" -o "$path.part" ;;
    */sim100x_binned.fq.gz) "$simulator" "${simulated[@]}" --binned-qualities | gzip -6 >"$path.part" ;;
    */celegans.fa) gzip -dc ../shared/data/medium/celegans_ce10_WS220.fa.gz >"$path.part" ;;
  esac
  mv "$path.part" "$path"
}

field() { sed -n "s/^\s*$1: //p" "$work/time"; }

# Runs one tool on one input and notes: input, tool, round, wall, CPU, peak MB, database bytes, total, distinct.
measure() {
  local input=$1 tool=$2 round=$3 path=$4 out=$work/out total='' distinct=''
  local format='-fq' command
  [[ $input != genome* ]] || format='-fm'
  rm -rf "$out"
  mkdir "$out"
  case "$tool" in
    warpmer) command=("$warpmer" count -k "$k" -t "$threads" -o "$out/db.wmi" "$path") ;;
    kmc) command=(kmc "-k$k" "-t$threads" -ci1 -cs65535 "$format" "$path" "$out/db" "$work/tmp") ;;
    kmc-m4) command=(kmc "-k$k" "-t$threads" -m4 -ci1 -cs65535 "$format" "$path" "$out/db" "$work/tmp") ;;
    kmc-ram) command=(kmc "-k$k" "-t$threads" -r -ci1 -cs65535 "$format" "$path" "$out/db" "$work/tmp") ;;
    jellyfish) command=(jellyfish count -C -m "$k" -t "$threads" -s 100M -o "$out/db.jf" "$path") ;;
    meryl) command=(meryl count "k=$k" "threads=$threads" "$path" output "$out/db.meryl") ;;
    floor) command=(igzip -dc "$path") ;;
  esac
  # Jellyfish reads no gzip, and only gzip has a floor.
  case "$tool/$input" in
    jellyfish/*-gz | floor/reads | floor/genome) return 0 ;;
  esac
  mkdir -p "$work/tmp"
  cat "$path" >/dev/null
  # The database is part of the work: writing ends when the kernel has taken it; what earlier runs left
  # to be written back must not be paid for by this one.
  sync "$dir" "$work" 2>/dev/null || true
  local log=$work/log
  if [[ $tool == floor ]]; then
    /usr/bin/time -v -o "$work/time" "${command[@]}" >/dev/null
  else
    /usr/bin/time -v -o "$work/time" "${command[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  fi
  case "$tool" in
    warpmer)
      read -r total distinct < <("$warpmer" stats --json "$out/db.wmi" |
        python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["counted_kmers"], s["counted_distinct"])')
      ;;
    kmc*)
      total=$(sed -n 's/.*Total no. of k-mers *: *//p' "$log")
      distinct=$(sed -n 's/.*No. of unique k-mers *: *//p' "$log")
      ;;
    jellyfish)
      read -r total distinct < <(jellyfish stats "$out/db.jf" |
        awk '/^Distinct/ {d = $2} /^Total/ {t = $2} END {print t, d}')
      ;;
    meryl)
      read -r total distinct < <(meryl statistics "$out/db.meryl" 2>/dev/null |
        awk '$1 == "distinct" && d == "" {d = $2} $1 == "present" {t = $2} END {print t, d}')
      ;;
  esac
  local wall cpu
  wall=$(field 'Elapsed (wall clock) time (h:mm:ss or m:ss)' | awk -F: '{s = 0; for (i = 1; i <= NF; ++i) s = 60 * s + $i; print s}')
  cpu=$(awk "BEGIN {print $(field 'User time (seconds)') + $(field 'System time (seconds)')}")
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$input" "$tool" "$round" "$wall" "$cpu" \
    "$(field 'Maximum resident set size (kbytes)')" "$(du -sb --apparent-size "$out" | cut -f1)" \
    "${total:-}" "${distinct:-}" "${command[*]}" >>"$results"
  printf '%-10s %-10s round %s: %8s s wall %8s s CPU\n' "$input" "$tool" "$round" "$wall" "$cpu" >&2
  rm -rf "$out" "$work/tmp"
}

for input in ${only//,/ }; do
  case "$input" in
    reads) path=$dir/sim100x.fq ;;
    reads-gz) path=$dir/sim100x_binned.fq.gz ;;
    genome) path=$dir/celegans.fa ;;
    genome-gz) path=$(realpath ../shared/data/medium/celegans_ce10_WS220.fa.gz 2>/dev/null || true) ;;
    *) echo "cpu_vs_peers.sh: no input $input" >&2; exit 2 ;;
  esac
  if [[ $input == genome* && ! -e ../shared/data/medium/celegans_ce10_WS220.fa.gz ]]; then
    echo "$input: skipped, ../shared is not there" >&2
    continue
  fi
  make_input "$path"
  for round in $(seq "$rounds"); do
    for tool in ${tools//,/ }; do
      measure "$input" "$tool" "$round" "$path"
    done
  done
done

if [[ ! -s $results ]]; then
  echo "cpu_vs_peers.sh: nothing was measured" >&2
  exit 1
fi
commit=$(git describe --always --dirty --abbrev=10 --exclude '*')
python3 bench/cpu_vs_peers_report.py "$results" --commit "$commit" --simulated "${simulated[*]}" \
  --call "bench/cpu_vs_peers.sh ${arguments[*]}" --short "$work/short.md" --rows "$work/rows.md" --hide "$work" --hide "$dir"
if [[ $record == yes ]]; then
  python3 - "$work/rows.md" "$work/short.md" <<'PY'
import pathlib, re, sys
rows, short = (pathlib.Path(name).read_text() for name in sys.argv[1:])

def put(name, table_from):
    page, between = pathlib.Path(name), re.compile("(<!-- cpu_vs_peers: begin.*?-->\n)(.*?)(<!-- cpu_vs_peers: end -->)", re.S)
    text, places = between.subn(lambda found: found[1] + table_from(found[2]) + found[3], page.read_text())
    if places != 1:
        sys.exit(f"cpu_vs_peers.sh: {name} has no place between <!-- cpu_vs_peers: begin --> and end")
    page.write_text(text)

# An input and a program have one row, the newest.
by_case = lambda table: {tuple(line.split("|")[1:3]): line for line in table.splitlines(keepends=True)}
put("docs/results.md", lambda old: "".join((by_case(old) | by_case(rows)).values()))
put("README.md", lambda old: short or old)
PY
fi
