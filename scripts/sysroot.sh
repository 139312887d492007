#!/usr/bin/env bash
# Makes a folder with Debian's libraries for another architecture, to cross-compile with. What is installed on this
# machine stays as it is. Quick when the folder is there.
#
#   scripts/sysroot.sh ARCHITECTURE FOLDER      e.g. arm64 build/sysroot-arm64
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
architecture=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
packages=(libc6-dev libhts-dev zlib1g-dev libzstd-dev libbz2-dev liblzma-dev libfmt-dev libxxhash-dev libisal-dev
  libcli11-dev nlohmann-json3-dev doctest-dev)
[[ "$(cat "$folder/complete" 2>/dev/null)" != "${packages[*]}" ]] || exit 0

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
# apt with a state of its own, in which nothing is installed.
apt=(apt-get -qq -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture"
  -o "Dir::State::Lists=$folder/apt/lists" -o Dir::State::Status=/dev/null -o "Dir::Cache=$folder/apt"
  -o Debug::NoLocking=1 -o Acquire::Retries=3 -o APT::Sandbox::User=root)
log=$folder/apt/log
# A source that does not answer matters only if something is then missing.
"${apt[@]}" update >"$log" 2>&1 </dev/null || true
if ! "${apt[@]}" -y --no-install-recommends --download-only install "${packages[@]}" >>"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "sysroot.sh: apt could not get ${packages[*]} for $architecture" >&2
  exit 1
fi
for package in "$folder"/apt/archives/*.deb; do
  dpkg -x "$package" "$folder"
done
rm -rf "$folder/apt"
# Links to absolute paths lead out of the folder.
find "$folder" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  target=$(readlink "$link")
  ln -sfn "$folder$target" "$link"
done
echo "${packages[*]}" >"$folder/complete"
