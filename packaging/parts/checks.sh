# What several parts of scripts/release.sh use, which reads this.

say() { echo "== $*"; }
fail() { echo "release.sh: $*" >&2; exit 1; }

# at_most FILE MEGABYTES
at_most() {
  local bytes
  bytes=$(stat -c %s "$1")
  [[ $bytes -le $(($2 * 1000000)) ]] || fail "$1 has $bytes bytes, more than the $2 MB it may have"
  echo "$(basename "$1"): $bytes bytes"
}

# logged LOG WHAT COMMAND...: the end of its output is shown if it fails.
logged() {
  local log=$1 what=$2
  shift 2
  "$@" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "$what"; }
}

# ready SUITE: $build/root-SUITE, a Debian or Ubuntu of that age, without compilers, with Python to run the pages in. It is
# to be `put_back`; one in which something failed is made anew.
ready() {
  local root=$build/root-$1 packages=python3,python3-venv options=()
  case "$1" in
    trixie) packages+=,ubuntu-archive-keyring ;;  # Debian 12 has no such package
    jammy)
      ready trixie
      put_back trixie
      options=(--components=main,universe "--keyring=$build/root-trixie/usr/share/keyrings/ubuntu-archive-keyring.gpg")
      ;;
  esac
  if [[ "$(cat "$root.ready" 2>/dev/null)" != "$packages" ]]; then
    rm -rf "$root"
    logged "$root.log" "debootstrap could not make a $1" debootstrap --variant=minbase "--include=$packages" \
      "${options[@]}" "$1" "$root"
  fi
  rm -f "$root.ready"
  echo "$packages" >"$root.usable"
}
put_back() { mv "$build/root-$1.usable" "$build/root-$1.ready"; }

# inside ROOT COMMAND...: with /proc, as any system has it; nobody else sees that mount.
inside() { unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$@"; }

# list ROOT: the files there, but for those that apt and dpkg keep for themselves.
list() {
  (cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./source -o -path ./packages -o -path ./var/cache \
    -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune -o -print | sort)
}
# remember ROOT: which files there are, for no_trace
remember() { list "$1" >"$1.before"; }
# no_trace ROOT WHAT
no_trace() {
  list "$1" | diff "$1.before" - >"$1.trace" || { head -n 20 "$1.trace" >&2; fail "$2 leaves something behind in $1"; }
}

# pages WHERE PROGRAM SOURCE COMMAND...: README and tour print what they show, when COMMAND runs this program.
pages() {
  local where=$1 program=$2 source=$3
  shift 3
  : >"$build/tour.log"
  logged "$build/tour.log" "the README does not hold $where" "$@" env WARPMER="$program" WARPMER_SOURCE="$source" \
    WARPMER_DATA="$source/data" WARPMER_TIER=full PYTHONDONTWRITEBYTECODE=1 python3 "$source/tests/cli/pages.py"
}

# tour ROOT PROGRAM: they do in the system in ROOT.
tour() {
  rm -rf "$1/source"
  mkdir "$1/source"
  cp -r "$source_folder"/{README.md,docs,data,tests} "$1/source"
  pages "in $1" "$2" /source inside "$1"
}
