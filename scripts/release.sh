#!/usr/bin/env bash
# Makes what a release consists of, of the commit that is checked out, into dist/, and checks each of it.
#
#   scripts/release.sh [--url BASE] [--jobs N] [PART...]      default: all parts
#
#   source     warpmer-VERSION.tar.gz; recipes/ for conda, Homebrew, Spack, Docker and Apptainer, with its checksum
#   portable   warpmer-VERSION-linux-x86_64.tar.gz, which needs glibc 2.28 or newer and nothing else
#   arm64      warpmer-VERSION-linux-aarch64.tar.gz, likewise
#   cuda       warpmer-VERSION-linux-x86_64-cuda.tar.gz, which finds the NVIDIA driver where there is one (needs nvcc)
#   deb        Debian packages of the program, its modules for MPI and PNG, and the library
#   wheels     Python wheels (manylinux_2_28) for 3.12 and later, and for each older Python that is here with its headers
#
# --url says where the release's files will be found, for the recipes. Needs Debian 12, and its packages and PyPI's.
set -euo pipefail
cd "$(dirname "$0")/.."

url=https://warpmer.invalid/releases
jobs=$(nproc)
parts=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --url | --jobs)
      [[ $# -ge 2 ]] || { echo "release.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    source | portable | arm64 | cuda | deb | wheels) parts+=("$1"); shift ;;
    *) echo "release.sh: unknown option or part '$1'" >&2; exit 2 ;;
  esac
done
if [[ ${#parts[@]} -eq 0 ]]; then
  parts=(source portable wheels deb arm64)
  if command -v nvcc >/dev/null; then parts+=(cuda); fi
fi

version=$(sed -n 's/^project(warpmer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
dist=$PWD/dist
build=$PWD/build/dist
source_folder=$build/warpmer-$version
zig=$build/zig
tools=$build/tools
mkdir -p "$dist" "$build"
# Several parts compile the same sources in the same way.
export CCACHE_DIR=$build/ccache CCACHE_BASEDIR=$build CCACHE_NOHASHDIR=1

for part in checks portable wheels deb; do
  # shellcheck source=/dev/null
  source "packaging/parts/$part.sh"
done

# All parts are made of the sources as they are committed.
unpack_source() {
  scripts/setup.sh build test hygiene release </dev/null
  [[ -z "$(git status --porcelain)" ]] || echo "release.sh: what is not committed is left out" >&2
  git archive --prefix="warpmer-$version/" HEAD | gzip -9 -n >"$dist/warpmer-$version.tar.gz"
  rm -rf "$source_folder"
  tar -x -f "$dist/warpmer-$version.tar.gz" -C "$build"
}

make_source() {
  at_most "$dist/warpmer-$version.tar.gz" 20
  local sum recipe
  sum=$(sha256sum "$dist/warpmer-$version.tar.gz" | cut -d ' ' -f 1)
  rm -rf "$dist/recipes"
  cp -r packaging/recipes "$dist/recipes"
  find "$dist/recipes" -type f | while read -r recipe; do
    sed -i -e "s|@VERSION@|$version|g" -e "s|@URL@|$url|g" -e "s|@SHA256@|$sum|g" "$recipe"
  done
  packaging/check_recipes.py "$dist/recipes" "$source_folder/CITATION.cff"
}

unpack_source
for part in "${parts[@]}"; do
  say "$part"
  TIMEFORMAT="$part: %0R s; CPU %0U + %0S s"
  time case "$part" in
    portable) make_portable linux-x86_64 amd64 20; try_portable linux-x86_64 ;;
    *) "make_$part" ;;
  esac
done
(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
say "dist"
ls -l "$dist"
