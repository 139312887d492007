#!/usr/bin/env bash
# Makes what a release consists of, of the commit that is checked out, into dist/, and checks each of it.
#
#   scripts/release.sh [--url BASE] [--jobs N] [PART...]      default: all parts
#
#   source     warpmer-VERSION.tar.gz; recipes/ for conda, Homebrew, Spack, Docker and Apptainer, with its checksum
#   portable   warpmer-VERSION-linux-x86_64.tar.gz, which needs glibc 2.28 or newer and nothing else
#   arm64      warpmer-VERSION-linux-aarch64.tar.gz, likewise
#   cuda       warpmer-VERSION-linux-x86_64-cuda.tar.gz, which finds the NVIDIA driver where there is one (needs nvcc)
#   deb        Debian packages of the program, its MPI module and the library
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
    source | portable | arm64 | cuda | deb) parts+=("$1"); shift ;;
    *) echo "release.sh: unknown option or part '$1'" >&2; exit 2 ;;
  esac
done
if [[ ${#parts[@]} -eq 0 ]]; then
  parts=(source portable arm64 deb)
  if command -v nvcc >/dev/null; then parts+=(cuda); fi
fi

version=$(sed -n 's/^project(warpmer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
dist=$PWD/dist
build=$PWD/build/dist
source_folder=$build/warpmer-$version
zig=$build/zig
mkdir -p "$dist" "$build"

say() { echo "== $*"; }
fail() { echo "release.sh: $*" >&2; exit 1; }

# at_most FILE MEGABYTES
at_most() {
  local bytes
  bytes=$(stat -c %s "$1")
  [[ $bytes -le $(($2 * 1000000)) ]] || fail "$1 has $bytes bytes, more than the $2 MB it may have"
  echo "$(basename "$1"): $bytes bytes"
}

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

# ready ROOT SUITE: a Debian of that age, without compilers, with a shell and Python to run the pages in.
ready() {
  [[ ! -e $1/complete ]] || return 0
  rm -rf "$1"
  debootstrap --variant=minbase --include=python3 "$2" "$1" >"$build/debootstrap.log" 2>&1 \
    || { tail -n 20 "$build/debootstrap.log" >&2; fail "debootstrap could not make a $2"; }
  touch "$1/complete"
}

# tour ROOT PROGRAM: README and tour print in the system in ROOT what they show.
tour() {
  rm -rf "$1/source"
  mkdir "$1/source"
  cp -r "$source_folder"/{README.md,docs,data,tests} "$1/source"
  chroot "$1" env WARPMER="$2" WARPMER_SOURCE=/source WARPMER_DATA=/source/data WARPMER_TIER=full \
    PYTHONDONTWRITEBYTECODE=1 python3 /source/tests/cli/pages.py >"$build/tour.log" 2>&1 \
    || { tail -n 40 "$build/tour.log" >&2; fail "the README does not hold in $1"; }
}

# needs_old_glibc FILE: it asks for no symbol of glibc newer than 2.28, and for no other library.
needs_old_glibc() {
  local newest others
  newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
  [[ $(printf '%s\n' GLIBC_2.28 "$newest" | sort -V | tail -n 1) == GLIBC_2.28 ]] || fail "$1 needs $newest"
  others=$(objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | grep -v -E '^(lib(c|m|pthread|dl|rt)\.so\.|ld-linux)' || true)
  [[ -z $others ]] || fail "$1 needs $others"
}

# make_portable NAME ARCHITECTURE MEGABYTES CMAKE_ARGUMENT...: dist/warpmer-VERSION-NAME.tar.gz
make_portable() {
  local name=$1 architecture=$2 megabytes=$3 folder=$build/$1 tree file
  local libraries=$build/libraries/$architecture
  shift 3
  packaging/portable/libraries.sh "$architecture" "$libraries"
  [[ -d $zig/ziglang ]] || python3 -m pip install --quiet --root-user-action=ignore --target "$zig" ziglang==0.17.1
  cmake -G Ninja -S "$source_folder" -B "$folder" "-DCMAKE_TOOLCHAIN_FILE=$source_folder/packaging/portable/toolchain.cmake" \
    "-DPORTABLE_LIBRARIES=$libraries" "-DPORTABLE_ZIG=$zig" -DCMAKE_INSTALL_LIBDIR=lib "$@" >"$folder.log"
  cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 || { tail -n 40 "$folder.log" >&2; fail "$name does not build"; }
  tree=$build/tree/warpmer-$version-$name
  rm -rf "$tree"
  cmake --install "$folder" --strip --prefix "$tree" >>"$folder.log"
  mkdir -p "$tree/share/doc/warpmer"
  cp "$source_folder"/{LICENSE,README.md,CHANGELOG.md,CITATION.cff} "$tree/share/doc/warpmer"
  cp -r "$libraries/licenses" "$tree/share/doc/warpmer"
  for file in "$tree/bin/warpmer" "$tree"/lib/libwarpmer.so.*.*.*; do
    [[ ! -e $file ]] || needs_old_glibc "$file"
  done
  tar -C "$build/tree" --owner=0 --group=0 --numeric-owner --sort=name --mtime="@$(git show -s --format=%ct)" \
    -c "warpmer-$version-$name" | gzip -9 -n >"$dist/warpmer-$version-$name.tar.gz"
  at_most "$dist/warpmer-$version-$name.tar.gz" "$megabytes"
}

# try_portable NAME: unpacked in an older and in a newer system, and taken away again.
try_portable() {
  local suite root
  for suite in bullseye bookworm; do
    root=$build/root-$suite
    ready "$root" "$suite"
    tar -x -f "$dist/warpmer-$version-$1.tar.gz" -C "$root/opt"
    tour "$root" "/opt/warpmer-$version-$1/bin/warpmer"
    rm -r "$root/opt/warpmer-$version-$1"
    echo "$1: README and tour hold in $suite"
  done
}

content() { "$build/tree/warpmer-$version-linux-x86_64/bin/warpmer" info "$1" | grep checksum; }

make_arm64() {
  local tree=$build/tree/warpmer-$version-linux-aarch64
  make_portable linux-aarch64 arm64 20
  [[ -x $build/tree/warpmer-$version-linux-x86_64/bin/warpmer ]] || fail "arm64 is compared with portable: make that before"
  # README and tour would take an emulator long: it counts once.
  cd "$source_folder"
  "$build/tree/warpmer-$version-linux-x86_64/bin/warpmer" count -k 31 -q -o "$build/x86_64.wmi" data/reads_1.fq.gz
  qemu-aarch64 -L "$build/libraries/arm64/system" "$tree/bin/warpmer" count -k 31 -q -o "$build/aarch64.wmi" data/reads_1.fq.gz
  [[ $(content "$build/x86_64.wmi") == $(content "$build/aarch64.wmi") ]] || fail "linux-aarch64 does not count as linux-x86_64 does"
  cd - >/dev/null
  echo "linux-aarch64: counts as linux-x86_64 does"
}

make_cuda() {
  make_portable linux-x86_64-cuda amd64 45 -DWARPMER_CUDA=ON -DWARPMER_SMALL_DEVICE_CODE=ON -DWARPMER_LIBRARY=OFF \
    "-DCMAKE_CUDA_ARCHITECTURES=80-real;90"
  try_portable linux-x86_64-cuda
}

make_deb() {
  local folder=$build/deb root=$build/root-bookworm
  cmake -G Ninja -S "$source_folder" -B "$folder" -DCMAKE_INSTALL_PREFIX=/usr >"$folder.log"
  cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 || { tail -n 40 "$folder.log" >&2; fail "deb does not build"; }
  rm -f "$folder"/*.deb "$dist"/*.deb
  (cd "$folder" && cpack -G DEB) >>"$folder.log" 2>&1 || { tail -n 40 "$folder.log" >&2; fail "cpack failed"; }
  mv "$folder"/*.deb "$dist"
  # There is no public address yet.
  lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$dist"/*.deb \
    || fail "lintian reports errors"
  ready "$root" bookworm
  cp "$dist"/*.deb "$root/tmp"
  chroot "$root" sh -c 'apt-get -qq update && find / -xdev -path /proc -prune -o -path /tmp -prune -o -print | sort >/tmp/before'
  chroot "$root" sh -c 'apt-get -qq -y --no-install-recommends install /tmp/warpmer_*.deb >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }'
  tour "$root" /usr/bin/warpmer
  chroot "$root" sh -c 'apt-get -qq -y --purge autoremove warpmer >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
    ! find / -xdev -path /proc -prune -o -path /source -prune -o -name "*warpmer*" -print | grep -v -e ^/tmp' \
    || fail "the Debian package leaves something behind"
  rm "$root"/tmp/*.deb
  echo "deb: installed, README and tour hold, removed"
}

unpack_source
for part in "${parts[@]}"; do
  say "$part"
  case "$part" in
    portable) make_portable linux-x86_64 amd64 20; try_portable linux-x86_64 ;;
    *) "make_$part" ;;
  esac
done
(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
say "dist"
ls -l "$dist"
