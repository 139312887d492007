#!/usr/bin/env bash
# What `cmake --install` puts in place runs from there, alone and as several processes. ctest: release only
set -euo pipefail
build=${WARPMER_BUILD:-build/cpu}
data=${WARPMER_DATA:-data}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/prefix" >"$folder/log"
for file in bin/warpmer share/man/man1/warpmer.1 share/man/man1/warpmer-count.1 share/zsh/site-functions/_warpmer \
  share/bash-completion/completions/warpmer share/fish/vendor_completions.d/warpmer.fish; do
  [[ -f $folder/prefix/$file ]] || { echo "$file is not installed"; exit 1; }
done
warpmer=$folder/prefix/bin/warpmer
"$warpmer" help --man count | cmp - "$folder/prefix/share/man/man1/warpmer-count.1"
"$warpmer" completion bash | cmp - "$folder/prefix/share/bash-completion/completions/warpmer"
"$warpmer" --version | grep -q '^warpmer '
"$warpmer" count -k 31 -o "$folder/one.wmi" "$data/reads_1.fq.gz"
"$warpmer" query "$folder/one.wmi" ACGTACGTACGTACGTACGTACGTACGTACG >"$folder/answer"
grep -q '^ACGT.*	0$' "$folder/answer"

(
  eval "$("$warpmer" names)"
  [[ $(command -v kmc) == "$folder/prefix/libexec/warpmer/kmc" ]]
  kmc -k31 -hp "$data/reads_1.fq.gz" "$folder/kmers" "$folder" >"$folder/summary"
  grep -q 'unique counted' "$folder/summary"
  kmc_dump "$folder/kmers" "$folder/kmers.txt"
  grep -q '^ACGT' "$folder/kmers.txt"
)

if [[ -f $build/warpmer_arrow.so ]]; then
  "$warpmer" dump -o "$folder/one.parquet" "$folder/one.wmi"
  [[ $(head -c 4 "$folder/one.parquet") == PAR1 ]]
fi

if [[ -f $build/warpmer_png.so ]]; then
  "$warpmer" histo -o "$folder/one.png" "$folder/one.wmi"
  [[ $(head -c 4 "$folder/one.png" | tail -c 3) == PNG ]]
fi

if [[ ! -f $build/warpmer_mpi.so ]] || ! command -v mpirun >/dev/null; then exit 0; fi
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_orte_tmpdir_base=$folder
mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 "$warpmer" count -k 31 -o "$folder/two.wmi" "$data/reads_1.fq.gz"
checksum() { "$warpmer" info "$1" | grep 'content checksum'; }
[[ $(checksum "$folder/one.wmi") == "$(checksum "$folder/two.wmi")" ]]
