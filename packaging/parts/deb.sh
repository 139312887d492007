# The Debian packages; scripts/release.sh reads this.
#
# The program and the library are portable ones, and install in any Debian or Ubuntu with glibc 2.28. The modules need
# libraries of the system: those are Debian 12's.

make_deb() {
  local folder=$build/deb log=$build/deb.log
  build_portable linux-x86_64 amd64
  : >"$log"
  logged "$log" "modules cannot be configured" "$tools/bin/cmake" -G Ninja -S "$source_folder" -B "$folder"
  logged "$log" "modules do not build" "$tools/bin/cmake" --build "$folder" -j "$jobs" --target warpmer_mpi_link warpmer_png
  rm -f "$dist"/*.deb
  pack_deb "$build/linux-x86_64" 'program;library'
  pack_deb "$folder" 'mpi;png'
  # There is no public address yet.
  lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$dist"/*.deb \
    || fail "lintian reports errors"
  try_program bullseye
  try_program jammy
  try_program bookworm
  try_modules
}

# pack_deb FOLDER COMPONENTS: of what is built there
pack_deb() {
  logged "$build/deb.log" "cpack failed" env -C "$1" "$tools/bin/cpack" -G DEB -D "CPACK_COMPONENTS_ALL=$2" -B "$build/packages"
  mv "$build"/packages/*.deb "$dist"
}

# bring_packages SUITE: root, ready, with the packages
bring_packages() {
  root=$build/root-$1
  ready "$1"
  rm -rf "$root/packages"
  mkdir "$root/packages"
  cp "$dist"/*.deb "$root/packages"
}

# try_program SUITE: one command installs it, and one takes it away.
try_program() {
  local root
  bring_packages "$1"
  remember "$root"
  apt_in "$root" install '/packages/warpmer_*.deb'
  tour "$root" /usr/bin/warpmer
  apt_in "$root" --purge autoremove warpmer
  no_trace "$root" "warpmer's Debian package"
  rm -r "$root"/{packages,source}
  put_back "$1"
  echo "deb: installed in $1, README and tour hold, removed"
}

# The program with its modules, and the library.
try_modules() {
  local root
  bring_packages bookworm
  logged "$build/deb.log" "apt-get update" inside "$root" apt-get -qq update
  apt_in "$root" install '/packages/*.deb' openmpi-bin
  mkdir "$root/source"
  cp -r "$source_folder/data" "$root/source"
  draw_png "$root"
  count_by_two "$root"
  inside "$root" sh -c 'ldd /usr/lib/warpmer/*.so /usr/lib/libwarpmer.so' >"$build/ldd.log"
  ! grep 'not found' "$build/ldd.log" >&2 || fail "a Debian package does not depend on all that it needs"
  build_examples "$root"
  apt_in "$root" --purge autoremove warpmer warpmer-mpi warpmer-png libwarpmer-dev openmpi-bin g++ cmake make pkg-config
  [[ -z "$(list "$root" | grep warpmer)" ]] || fail "a Debian package leaves something behind"
  rm -r "$root"/{packages,source}
  put_back bookworm
  echo "deb: PNG drawn, counted by two ranks, examples built, all removed"
}

# apt_in ROOT WORD...
apt_in() {
  local root=$1
  shift
  logged "$build/deb.log" "apt-get $* failed" \
    inside "$root" env DEBIAN_FRONTEND=noninteractive sh -c "apt-get -qq -y --no-install-recommends $*"
}

# What a module of its own does, which is in a package of its own.
draw_png() {
  inside "$1" sh -c 'cd /source/data && warpmer count -q -k 21 -o /tmp/x.wmi reads_1.fq.gz && warpmer histo -o /tmp/x.png /tmp/x.wmi'
  [[ "$(head -c 8 "$1/tmp/x.png" | od -An -tx1 | tr -d ' ')" == 89504e470d0a1a0a ]] || fail "histo -o x.png drew no PNG"
  rm "$1"/tmp/x.{wmi,png}
}

# The module for MPI: two ranks make the index that one process makes.
count_by_two() {
  logged "$build/deb.log" "two ranks do not count as one process does" inside "$1" sh -ec 'cd /source/data
    warpmer count -q -k 31 -o /tmp/1.wmi reads_1.fq.gz reads_2.fq.gz
    mpirun --allow-run-as-root --oversubscribe -n 2 warpmer count -q -k 31 --stats /tmp/2.json -o /tmp/2.wmi reads_1.fq.gz reads_2.fq.gz
    python3 -c "import json; assert len(json.load(open(\"/tmp/2.json\"))[\"ranks\"]) == 2"
    test $(warpmer info /tmp/1.wmi /tmp/2.wmi | grep checksum | sort -u | wc -l) = 1
    rm /tmp/1.wmi /tmp/2.*'
}

# A project of somebody else finds the library by CMake, and a command line by pkg-config. Only here are there compilers.
build_examples() {
  cp -r "$source_folder/examples" "$1/source"
  apt_in "$1" install g++ cmake make pkg-config
  logged "$build/deb.log" "examples/ cannot be built with libwarpmer-dev" inside "$1" sh -ec 'cd /source/examples
    cmake -B build
    cmake --build build
    g++ -std=c++20 list_kmers.cpp -o build/by_hand $(pkg-config --cflags --libs warpmer)
    build/count_and_histogram 31 /tmp/x.wmi ../data/reads_1.fq.gz >/tmp/x.histo
    warpmer histo /tmp/x.wmi | cmp - /tmp/x.histo
    build/by_hand /tmp/x.wmi >/tmp/x.dump
    warpmer dump /tmp/x.wmi | cmp - /tmp/x.dump
    rm /tmp/x.*'
}
