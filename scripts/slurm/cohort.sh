#!/usr/bin/env bash
# Counts all samples of a cohort, an array task each, and puts them into a matrix when all are done.
#   scripts/slurm/cohort.sh SAMPLES FOLDER [COUNT OPTIONS]
# SAMPLES has a line for each: a name, a tab, and files with tabs between them. FOLDER gets NAME.wmi of each and
# matrix.tsv.gz. Prints the number of the last job.
set -euo pipefail
here=$(dirname "$0")
samples=${1:?which list of samples?}
folder=${2:?which folder for indexes and matrix?}
tasks=$(grep -c '' "$samples")
mkdir -p "$folder"
array=$(sbatch --parsable --array="1-$tasks" "$here/cpu_array.sbatch" "$@")
sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes "$here/matrix.sbatch" "$samples" "$folder"
