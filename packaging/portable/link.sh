#!/usr/bin/env bash
# Links what GCC compiled so that it runs wherever there is glibc 2.28 or newer, with GCC's runtime libraries in it.
# zig has the symbols of each version of glibc, and links against those that 2.28 had.
#
#   link.sh ZIG_FOLDER LIBRARY_FOLDER WORD...      called by CMake (toolchain.cmake)
set -euo pipefail
zig=$1 libraries=$2
shift 2
case "$libraries" in
  *amd64) target=x86_64-linux-gnu.2.28 ; compiler=g++ ;;
  *arm64) target=aarch64-linux-gnu.2.28 ; compiler=aarch64-linux-gnu-g++ ;;
esac
runtime=("$libraries/lib/newer_glibc.o")
for name in libstdc++.a libgcc_eh.a libgcc.a; do runtime+=("$($compiler -print-file-name="$name")"); done
words=()
for word in "$@"; do
  case "$word" in
    # Libraries that glibc has, wherever CMake has found them.
    */librt.a) word=-lrt ;;
    */libdl.a) word=-ldl ;;
    # What nvcc's own linker takes along (CMake asks it): of zig these would be other libraries than GCC's, below.
    -lstdc++ | -lgcc_s | -lgcc | -lc) continue ;;
  esac
  words+=("$word")
done
# Without -z lazy all 314 functions of glibc are looked up before a command starts, of which it calls a third.
# (`query --server` of 1000 k-mers, medians of 300 in turn: 2.15, 2.11, 2.17 -> 2.01, 2.03, 2.03 ms.)
export ZIG_LOCAL_CACHE_DIR=$zig/cache ZIG_GLOBAL_CACHE_DIR=$zig/cache
exec "$zig/ziglang/zig" cc -target "$target" -Wl,-z,lazy "${words[@]}" -Wl,--start-group "${runtime[@]}" -Wl,--end-group \
  -lm -lpthread -ldl -lrt
