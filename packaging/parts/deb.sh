# The Debian packages; scripts/release.sh reads this.

make_deb() {
  local folder=$build/deb log=$build/deb.log
  : >"$log"
  logged "$log" "deb cannot be configured" cmake -G Ninja -S "$source_folder" -B "$folder" -DCMAKE_INSTALL_PREFIX=/usr
  logged "$log" "deb does not build" cmake --build "$folder" -j "$jobs"
  rm -f "$folder"/*.deb "$dist"/*.deb
  logged "$log" "cpack failed" env -C "$folder" cpack -G DEB
  mv "$folder"/*.deb "$dist"
  # There is no public address yet.
  lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$dist"/*.deb \
    || fail "lintian reports errors"
  try_deb
}

# One command installs the program, and one takes it away; another both with the modules and the library.
try_deb() {
  local root=$build/root-bookworm
  ready "$root" bookworm
  rm -rf "$root/packages"
  mkdir "$root/packages"
  cp "$dist"/*.deb "$root/packages"
  logged "$build/deb.log" "apt-get update" inside "$root" apt-get -qq update
  remember "$root"
  apt_in "$root" install '/packages/warpmer_*.deb'
  tour "$root" /usr/bin/warpmer
  apt_in "$root" --purge autoremove warpmer
  no_trace "$root" "warpmer's Debian package"

  apt_in "$root" install '/packages/*.deb'
  draw_png "$root"
  inside "$root" sh -c 'ldd /usr/lib/*/warpmer/*.so /usr/lib/*/libwarpmer.so' >"$build/ldd.log"
  ! grep 'not found' "$build/ldd.log" >&2 || fail "a Debian package does not depend on all that it needs"
  apt_in "$root" --purge autoremove warpmer warpmer-mpi warpmer-png libwarpmer-dev
  [[ -z "$(list "$root" | grep warpmer)" ]] || fail "a Debian package leaves something behind"
  rm -r "$root/packages"
  put_back "$root"
  echo "deb: installed, README and tour hold, PNG drawn, removed"
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
