# The portable programs; scripts/release.sh reads this.

# needs_old_glibc FILE: it asks for no symbol of glibc newer than 2.28, and for no other library.
needs_old_glibc() {
  local newest others
  newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
  [[ $(printf '%s\n' GLIBC_2.28 "$newest" | sort -V | tail -n 1) == GLIBC_2.28 ]] || fail "$1 needs $newest"
  others=$(objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | grep -v -E '^(lib(c|m|pthread|dl|rt)\.so\.|ld-linux)' || true)
  [[ -z $others ]] || fail "$1 needs $others"
}

# portable_tools ARCHITECTURE: libraries to link with, what links, and one CMake for programs and wheels: another has
# other command lines, so ccache would know nothing again. Wheels need 3.26 or newer.
portable_tools() {
  packaging/portable/libraries.sh "$1" "$build/libraries/$1"
  [[ -x $tools/bin/cmake ]] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet 'cmake==3.30.*'; }
  [[ -d $zig/ziglang ]] || python3 -m pip install --quiet --root-user-action=ignore --target "$zig" ziglang==0.17.1
}

# build_portable NAME ARCHITECTURE CMAKE_ARGUMENT...: in $build/NAME
build_portable() {
  local name=$1 architecture=$2 folder=$build/$1
  local libraries=$build/libraries/$architecture log=$build/$1.log file
  shift 2
  portable_tools "$architecture"
  : >"$log"
  logged "$log" "$name cannot be configured" "$tools/bin/cmake" -G Ninja -S "$source_folder" -B "$folder" \
    "-DCMAKE_TOOLCHAIN_FILE=$source_folder/packaging/portable/toolchain.cmake" \
    "-DPORTABLE_LIBRARIES=$libraries" "-DPORTABLE_ZIG=$zig" -DCMAKE_INSTALL_LIBDIR=lib "$@"
  logged "$log" "$name does not build" "$tools/bin/cmake" --build "$folder" -j "$jobs"
  for file in "$folder/warpmer" "$folder"/libwarpmer.so.*.*.*; do
    [[ ! -e $file ]] || needs_old_glibc "$file"
  done
}

# make_portable NAME ARCHITECTURE MEGABYTES CMAKE_ARGUMENT...: dist/warpmer-VERSION-NAME.tar.gz
make_portable() {
  local name=$1 architecture=$2 megabytes=$3 folder=$build/$1 tree
  local libraries=$build/libraries/$architecture log=$build/$1.log
  shift 3
  build_portable "$name" "$architecture" "$@"
  tree=$build/tree/warpmer-$version-$name
  rm -rf "$tree"
  logged "$log" "$name cannot be installed" "$tools/bin/cmake" --install "$folder" --strip --prefix "$tree"
  mkdir -p "$tree/share/doc/warpmer"
  cp "$source_folder"/{LICENSE,README.md,CHANGELOG.md,CITATION.cff} "$tree/share/doc/warpmer"
  cp -r "$libraries/licenses" "$tree/share/doc/warpmer"
  tar -C "$build/tree" --owner=0 --group=0 --numeric-owner --sort=name --mtime="@$(git show -s --format=%ct)" \
    -c "warpmer-$version-$name" | gzip -9 -n >"$dist/warpmer-$version-$name.tar.gz"
  at_most "$dist/warpmer-$version-$name.tar.gz" "$megabytes"
}

# try_portable NAME [COMMAND]: unpacked in older and in newer systems, and taken away again. COMMAND ROOT PROGRAM
# looks at it before.
try_portable() {
  local suite root program=/opt/warpmer-$version-$1/bin/warpmer
  for suite in bullseye jammy bookworm; do
    root=$build/root-$suite
    ready "$suite"
    remember "$root"
    tar -x -f "$dist/warpmer-$version-$1.tar.gz" -C "$root/opt"
    tour "$root" "$program"
    "${2:-true}" "$root" "$program"
    rm -r "$root/opt/warpmer-$version-$1"
    no_trace "$root" "warpmer-$version-$1"
    put_back "$suite"
    echo "$1: README and tour hold in $suite"
  done
}

make_arm64() {
  local name=warpmer-$version-linux-aarch64 folder=$build/emulated
  make_portable linux-aarch64 arm64 20
  # On this machine, in an emulator, with Debian's glibc for 64-bit ARM.
  rm -rf "$folder"
  mkdir "$folder"
  tar -x -f "$dist/$name.tar.gz" -C "$folder"
  printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" -0 warpmer "%s" "$@"\n' \
    "$build/libraries/arm64/system" "$folder/$name/bin/warpmer" >"$folder/warpmer"
  chmod +x "$folder/warpmer"
  pages "in an emulator of 64-bit ARM" "$folder/warpmer" "$source_folder"
  echo "linux-aarch64: README and tour hold in an emulator"
}

make_cuda() {
  make_portable linux-x86_64-cuda amd64 45 -DWARPMER_CUDA=ON -DWARPMER_SMALL_DEVICE_CODE=ON "-DCMAKE_CUDA_ARCHITECTURES=80-real;90"
  try_portable linux-x86_64-cuda knows_no_driver
}

# knows_no_driver ROOT PROGRAM: a system has no driver for GPUs unless somebody installs it, and a sentence says so.
knows_no_driver() {
  local said status=0
  said=$(inside "$1" "$2" count --device cuda -k 31 -o /tmp/x.wmi /source/data/forty.fq 2>&1) || status=$?
  [[ $status == 4 && $said == *'this machine has no CUDA driver'* && $said != *$'\n'* ]] \
    || fail "without a driver, --device cuda ends with status $status and says: $said"
}
