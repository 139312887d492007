#!/usr/bin/env bash
# Installs what is missing, with apt (Debian 12 packages only). Quick when nothing is.
#
#   scripts/setup.sh [build] [test] [hygiene] [compilers] [aarch64] [python] [viewers] [release] [slurm] [bench] [figures]
#
# Without a group: build.
set -euo pipefail

declare -A packages=(
  [build]="g++ cmake ninja-build ccache pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libhts-dev
           libxxhash-dev libisal-dev libzstd-dev libbz2-dev liblzma-dev libopenmpi-dev librsvg2-dev"
  [test]="doctest-dev python3 python3-xxhash binutils zstd bzip2 xz-utils kmc jellyfish samtools bedtools tabix openmpi-bin"
  [hygiene]="git python3 clang-format clang-tidy"
  [compilers]="g++-11 clang-14 clang-19 libclang-rt-19-dev python3 python3-pip"
  [aarch64]="g++-aarch64-linux-gnu qemu-user"
  [python]="python3 python3-dev python3-pip python3-venv"
  [viewers]="chromium python3-pip python3-venv"
  [release]="debootstrap lintian dpkg-dev file nasm g++-aarch64-linux-gnu qemu-user ruby python3 python3-pip python3-venv"
  [slurm]="python3 slurmctld slurmd slurm-client munge"
  [bench]="python3 time kmc jellyfish isal"
  [figures]="python3 python3-matplotlib"
)

wanted=()
for group in "${@:-build}"; do
  if [[ -z "${packages[$group]:-}" ]]; then
    echo "setup.sh: no group '$group'; there are: ${!packages[*]}" >&2
    exit 2
  fi
  # shellcheck disable=SC2206  # a list of words
  wanted+=(${packages[$group]})
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is not Debian; make sure that these are there, by whatever names: ${wanted[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in $(printf '%s\n' "${wanted[@]}" | sort -u); do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $(id -u) -ne 0 ]]; then
  echo "setup.sh: missing packages, and only root can install them. Run:" >&2
  echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "setup.sh: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
# A source that does not answer matters only if the install then lacks something.
"${apt[@]}" update >"$log" 2>&1 </dev/null || true
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "setup.sh: apt could not install ${missing[*]}" >&2
  exit 1
fi
