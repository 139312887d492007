#!/usr/bin/env bash
# Counts all samples of a cohort, an array task each, and puts them into a matrix when all are done.
#   scripts/slurm/cohort.sh SAMPLES FOLDER [COUNT OPTIONS]
# SAMPLES has a line for each: a name, a tab, and files with tabs between them; blank lines are skipped. FOLDER gets
# NAME.wmi of each and matrix.tsv.gz. Prints the number of the last job.
set -euo pipefail
here=$(dirname "$0")
samples=${1:?which list of samples?}
folder=${2:?which folder for indexes and matrix?}
mapfile -t lines <"$samples"

refuse() {
  echo "cohort.sh: $place: $1" >&2
  exit 2
}

declare -A line_of=()
number=0
for line in "${lines[@]}"; do
  number=$((number + 1)) place="$samples, line $number"
  [[ $line =~ [^[:space:]] ]] || continue
  IFS=$'\t' read -r -a sample <<<"${line%$'\r'}"
  name=${sample[0]:-}
  [[ -n $name ]] || refuse "the line begins with a tab: a sample has a name"
  [[ ${#sample[@]} -gt 1 ]] || refuse "sample $name has no files; write them behind it, with tabs between them"
  [[ -z ${line_of[$name]:-} ]] ||
    refuse "sample $name is on line ${line_of[$name]}, too; all files of a sample go on one line, with tabs between them"
  line_of[$name]=$number
  for file in "${sample[@]:1}"; do
    [[ $file == *://* || -e ${file#@} ]] || refuse "there is no file $file"
  done
done
place=$samples
[[ ${#line_of[@]} -gt 0 ]] || refuse "it names no sample"

mkdir -p "$folder"
array=$(sbatch --parsable --array="1-$number" "$here/cpu_array.sbatch" "$@")
sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes "$here/matrix.sbatch" "$samples" "$folder"
