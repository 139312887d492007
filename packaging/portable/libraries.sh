#!/usr/bin/env bash
# Makes a folder with the libraries that warpmer is built from, to be linked into it: headers and static libraries for
# one architecture. Debian's packages have some of them; the others are built from Debian's sources (htslib without curl). Quick when the folder is there.
#
#   packaging/portable/libraries.sh amd64|arm64 FOLDER
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
architecture=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
case "$architecture" in
  amd64) tools= ; processor=x86_64 ; cflags=(-O2 -fPIC -march=x86-64-v2) ;;
  arm64) tools=aarch64-linux-gnu- ; processor=aarch64 ; cflags=(-O2 -fPIC) ;;
  *) echo "libraries.sh: no architecture '$architecture'" >&2; exit 2 ;;
esac
stamp=$(cat "$0" "$here/newer_glibc.c" | md5sum)
[[ "$(cat "$folder/complete" 2>/dev/null)" != "$stamp" ]] || exit 0
rm -rf "$folder"
mkdir -p "$folder"/{include/isa-l,lib/pkgconfig,share/cmake,licenses,work}
system=$folder/work/system
sources=$folder/work/sources
jobs=$(nproc)

# --- what Debian has as static libraries, and headers
"$here/../../scripts/sysroot.sh" "$architecture" "$system"
cp -r "$system"/usr/include/{CLI,nlohmann,lzma} "$folder/include"
cp "$system"/usr/include/{lzma,zlib,zconf,zstd,zstd_errors,libdeflate}.h "$folder/include"
cp "$system/usr/lib/$processor-linux-gnu"/lib{deflate,lzma,z,zstd}.a "$folder/lib"
cp -r "$system"/usr/share/cmake/{CLI11,nlohmann_json} "$folder/share/cmake"
for package in libcli11-dev nlohmann-json3-dev libdeflate-dev liblzma-dev zlib1g-dev libzstd-dev; do
  cp "$system/usr/share/doc/$package/copyright" "$folder/licenses/${package%-dev}"
done

# --- what is built here. apt checks the signatures of the sources' list, and their sums.
mkdir -p "$sources/lists/partial"
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | sort -u >"$sources/sources.list"
apt=(apt-get -qq -o "Dir::State::Lists=$sources/lists" -o "Dir::Etc::SourceList=$sources/sources.list"
  -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Status=/dev/null -o "Dir::Cache=$sources"
  -o Acquire::Retries=3 -o APT::Sandbox::User=root)
(cd "$sources" && "${apt[@]}" update && "${apt[@]}" --download-only source bzip2 fmtlib htslib htscodecs libisal xxhash) \
  >"$sources/log" 2>&1 </dev/null || true  # Debian's own changes are not needed, and may be missing
unpack() {
  mkdir "$sources/$1"
  tar -x -f "$(echo "$sources/$1"_*.orig.tar.*)" -C "$sources/$1" --strip-components=1 \
    || { cat "$sources/log" >&2; echo "libraries.sh: no source of $1" >&2; exit 1; }
}
for name in bzip2 fmtlib htslib htscodecs libisal xxhash; do unpack "$name"; done

# Debian's cannot become part of a shared library.
build_bzip2() {
  cd "$sources/bzip2"
  "${tools}gcc" "${cflags[@]}" -D_FILE_OFFSET_BITS=64 -c blocksort.c bzlib.c compress.c crctable.c decompress.c huffman.c randtable.c
  "${tools}ar" rcs "$folder/lib/libbz2.a" ./*.o
  cp bzlib.h "$folder/include"
  cp LICENSE "$folder/licenses/bzip2"
}

build_fmt() {
  cd "$sources/fmtlib"
  cp -r include/fmt "$folder/include"
  "${tools}g++" -std=c++17 "${cflags[@]}" -Iinclude -c src/format.cc
  "${tools}ar" rcs "$folder/lib/libfmt.a" format.o
  cp LICENSE* "$folder/licenses/fmt"
}

build_xxhash() {
  local parts=(xxhash)
  [[ $architecture != amd64 ]] || parts+=(xxh_x86dispatch)
  cd "$sources/xxhash"
  for part in "${parts[@]}"; do "${tools}gcc" "${cflags[@]}" -O3 -c "$part.c"; done
  "${tools}ar" rcs "$folder/lib/libxxhash.a" "${parts[@]/%/.o}"
  cp xxh*.h "$folder/include"
  cp LICENSE "$folder/licenses/xxhash"
}

build_isal() {
  cd "$sources/libisal"
  make -s -f Makefile.unx -j "$jobs" lib CC="${tools}gcc" AR="${tools}ar" host_cpu="$processor" units="igzip crc" >make.log 2>&1
  cp bin/isa-l.a "$folder/lib/libisal.a"
  cp include/{crc,crc64,igzip_lib,types}.h "$folder/include/isa-l"
  cp LICENSE "$folder/licenses/isa-l"
}

build_htslib() {
  mkdir "$sources/htslib/htscodecs"
  mv "$sources/htscodecs/htscodecs" "$sources/htslib/htscodecs"
  cd "$sources/htslib"
  echo '#define HTSCODECS_VERSION_TEXT "1.3.0"' >htscodecs/htscodecs/version.h
  local options=(CC="${tools}gcc" AR="${tools}ar" RANLIB="${tools}ranlib" CPPFLAGS="-I$folder/include"
    CFLAGS="${cflags[*]}" NONCONFIGURE_OBJS=)
  make -s config.h "${options[@]}" >make.log 2>&1
  sed -i /LIBCURL/d config.h
  echo '#define HAVE_LIBDEFLATE 1' >>config.h
  make -s -j "$jobs" lib-static "${options[@]}" >>make.log 2>&1 || { tail -n 20 make.log >&2; exit 1; }
  cp libhts.a "$folder/lib"
  cp -r htslib "$folder/include"
  cp LICENSE "$folder/licenses/htslib"
}

(build_bzip2)  # htslib needs its header
(build_fmt)
(build_xxhash)
(build_isal)
(build_htslib)
"${tools}gcc" "${cflags[@]}" -Wall -Wextra -c "$here/newer_glibc.c" -o "$folder/lib/newer_glibc.o"

# pkg_config NAME VERSION LIBRARIES
pkg_config() {
  printf '%s\n' "prefix=\${pcfiledir}/../.." "Name: $1" "Description: $1" "Version: $2" "Libs: -L\${prefix}/lib $3" \
    "Cflags: -I\${prefix}/include" >"$folder/lib/pkgconfig/$1.pc"
}
pkg_config htslib 1.16 '-lhts -lz -lbz2 -llzma -ldeflate -lm -lpthread'
pkg_config libxxhash 0.8.1 -lxxhash
pkg_config libisal 2.30.0 -lisal
pkg_config libzstd 1.5.4 '-lzstd -lpthread'
pkg_config liblzma 5.4.1 '-llzma -lpthread'
mkdir "$folder/share/cmake/fmt"
cat >"$folder/share/cmake/fmt/fmt-config.cmake" <<'END'
add_library(fmt::fmt STATIC IMPORTED)
get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set_target_properties(fmt::fmt PROPERTIES
  IMPORTED_LOCATION ${prefix}/lib/libfmt.a INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
END
mv "$system" "$folder/system"  # which programs for another architecture are run in
rm -rf "$folder/work"
echo "$stamp" >"$folder/complete"
