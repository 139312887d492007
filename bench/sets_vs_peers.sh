#!/usr/bin/env bash
# Set operations of warpmer, kmc_tools, Jellyfish and meryl on two databases of the size of C. elegans, the genome and
# the genome with 1 % substitutions: same threads, in turn, warm page cache, each writing its database; and
# histogram, dump and info. Prints Markdown: medians of wall and CPU time, peak memory, size of what is written,
# ratios. Fails when the tools disagree on how many k-mers are in a result. A benchmark, not a test: run it on an
# idle machine.
#
#   bench/sets_vs_peers.sh [options]
#
#   -k N               k (31)                    --rounds N      rounds (3)
#   -t N               threads (2)               --warpmer FILE  the program (build/cpu/warpmer)
#   --only A[,B...]    of intersect, union, subtract, histo, dump, dump-sorted, info (all)
#   --tools A[,B...]   of warpmer, kmc, jellyfish (these), and meryl (1.4 has to be on the path; Debian's is of 2015)
#   --dir DIR          keep inputs and databases there for the next run (default: a temporary folder)
set -euo pipefail
cd "$(dirname "$0")/.."

k=31 threads=2 rounds=3 warpmer=build/cpu/warpmer dir=''
only=intersect,union,subtract,histo,dump,dump-sorted,info
tools=warpmer,kmc,jellyfish
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
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "sets_vs_peers.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

genome=${WARPMER_SHARED:-../shared}/data/medium/celegans_ce10_WS220.fa.gz
if [[ ! -e $genome ]]; then
  echo "sets_vs_peers.sh: $genome is not there" >&2
  exit 1
fi
scripts/setup.sh build bench
if [[ $tools == *warpmer* && ! -x $warpmer ]]; then
  cmake --preset cpu >/dev/null </dev/null
  cmake --build --preset cpu --target warpmer >&2 </dev/null
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/sets_vs_peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
[[ -n $dir ]] || dir=$work/data
mkdir -p "$dir"

# Inputs and databases are made once; a half-made one never has its final name.
make() {
  local target=$1
  shift
  [[ -s $target ]] || { "$@" >"$work/log" 2>&1 && sync "$dir"; } || { cat "$work/log" >&2; exit 1; }
}
plain() { gzip -dc "$genome" >"$dir/a.part" && mv "$dir/a.part" "$dir/a.fa"; }
changed() { python3 bench/substitute.py --rate 0.01 --seed 1 <"$dir/a.fa" >"$dir/b.part" && mv "$dir/b.part" "$dir/b.fa"; }
make "$dir/a.fa" plain
make "$dir/b.fa" changed
for name in a b; do
  mkdir -p "$work/tmp"
  [[ $tools != *warpmer* ]] || make "$dir/$name.wmi" "$warpmer" count -k "$k" -t "$threads" -o "$dir/$name.wmi" "$dir/$name.fa"
  [[ $tools != *kmc* ]] || make "$dir/$name.kmc_suf" kmc "-k$k" "-t$threads" -ci1 -cs65535 -fm "$dir/$name.fa" "$dir/$name" "$work/tmp"
  [[ $tools != *jellyfish* ]] || make "$dir/$name.jf" jellyfish count -C -m "$k" -t "$threads" -s 200M -o "$dir/$name.jf" "$dir/$name.fa"
  # A database of meryl is a folder.
  [[ $tools != *meryl* ]] || make "$dir/$name.meryl/merylIndex" meryl count "k=$k" "threads=$threads" "$dir/$name.fa" output "$dir/$name.meryl"
done

field() { sed -n "s/^\s*$1: //p" "$work/time"; }

# The command of one tool for one operation; empty when it has none.
command_of() {
  local a=$dir/a b=$dir/b out=$work/out/db
  case "$2/$1" in
    warpmer/intersect | warpmer/union | warpmer/subtract)
      echo "$warpmer $1 -t $threads -o $out.wmi $a.wmi $b.wmi" ;;
    warpmer/histo) echo "$warpmer histo -o $out.txt $a.wmi" ;;
    warpmer/dump) echo "$warpmer dump -t $threads -o $out.txt $a.wmi" ;;
    warpmer/dump-sorted) echo "$warpmer dump --sort -t $threads -o $out.txt $a.wmi" ;;
    warpmer/info) echo "$warpmer info $a.wmi" ;;
    kmc/intersect | kmc/union) echo "kmc_tools -hp -t$threads simple $a $b $1 $out" ;;
    kmc/subtract) echo "kmc_tools -hp -t$threads simple $a $b kmers_subtract $out" ;;
    kmc/histo) echo "kmc_tools -hp -t$threads transform $a histogram $out.txt" ;;
    kmc/dump) echo "kmc_tools -hp -t$threads transform $a dump $out.txt" ;;
    kmc/dump-sorted) echo "kmc_tools -hp -t$threads transform $a dump -s $out.txt" ;;
    jellyfish/union) echo "jellyfish merge -o $out.jf $a.jf $b.jf" ;;
    jellyfish/histo) echo "jellyfish histo -t $threads -o $out.txt $a.jf" ;;
    jellyfish/dump) echo "jellyfish dump -c -t -o $out.txt $a.jf" ;;
    jellyfish/info) echo "jellyfish info $a.jf" ;;
    meryl/intersect) echo "meryl threads=$threads intersect-min $a.meryl $b.meryl output $out.meryl" ;;
    meryl/union) echo "meryl threads=$threads union-sum $a.meryl $b.meryl output $out.meryl" ;;
    meryl/subtract) echo "meryl threads=$threads difference $a.meryl $b.meryl output $out.meryl" ;;
    meryl/histo) echo "meryl threads=$threads histogram $a.meryl" ;;
    meryl/dump-sorted) echo "meryl threads=$threads print $a.meryl" ;;
  esac
}

# Distinct k-mers of a result, where that is quick to find out.
distinct_of() {
  case "$1" in
    warpmer) "$warpmer" stats --json "$work/out/db.wmi" | python3 -c 'import json, sys; print(json.load(sys.stdin)["stored_distinct"])' ;;
    kmc) python3 bench/kmc_distinct.py "$work/out/db.kmc_pre" ;;
    meryl) meryl statistics "$work/out/db.meryl" 2>/dev/null | awk '$1 == "distinct" && d == "" {d = $2} END {print d}' ;;
  esac
}

measure() {
  local operation=$1 tool=$2 round=$3 wall cpu distinct=''
  local command
  command=$(command_of "$operation" "$tool")
  [[ -n $command ]] || return 0
  rm -rf "$work/out"
  mkdir "$work/out"
  cat "$dir"/[ab].{wmi,kmc_suf,jf} "$dir"/[ab].meryl/* >/dev/null 2>&1 || true
  sync "$dir" "$work"
  # shellcheck disable=SC2086 # words are words
  /usr/bin/time -v -o "$work/time" $command >"$work/out/text" 2>"$work/log" || { tail -n 10 "$work/out/text" "$work/log" >&2; exit 1; }
  case "$operation" in
    intersect | union | subtract) distinct=$(distinct_of "$tool") ;;
  esac
  wall=$(field 'Elapsed (wall clock) time (h:mm:ss or m:ss)' | awk -F: '{s = 0; for (i = 1; i <= NF; ++i) s = 60 * s + $i; print s}')
  cpu=$(awk "BEGIN {print $(field 'User time (seconds)') + $(field 'System time (seconds)')}")
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$operation" "$tool" "$wall" "$cpu" \
    "$(field 'Maximum resident set size (kbytes)')" "$(du -sb --apparent-size "$work/out" | cut -f1)" "$distinct" >>"$work/results.tsv"
  printf '%-10s %-10s round %s: %8s s wall %8s s CPU\n' "$operation" "$tool" "$round" "$wall" "$cpu" >&2
  rm -rf "$work/out"
}

for operation in ${only//,/ }; do
  for round in $(seq "$rounds"); do
    for tool in ${tools//,/ }; do measure "$operation" "$tool" "$round"; done
  done
done
sizes=$(cd "$dir" && du -cb --apparent-size a.wmi a.kmc_pre a.kmc_suf a.jf 2>/dev/null | grep -v total || true)
commit=$(git describe --always --dirty --abbrev=10 --exclude '*')
python3 bench/sets_vs_peers_report.py "$work/results.tsv" --commit "$commit" --sizes "$sizes" \
  --call "bench/sets_vs_peers.sh ${arguments[*]}"
