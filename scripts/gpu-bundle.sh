#!/usr/bin/env bash
# Builds a folder that runs on GPU nodes without a toolchain: copy build/gpu-bundle/warpmer-gpu there, and run
# its gpu-check.sh. The node needs the NVIDIA driver and glibc as new as this machine's, nothing else.
#
#   scripts/gpu-bundle.sh [--with PROGRAM]... [CMAKE_ARGUMENT...]
#
# In it are warpmer, the simulator of reads, the GPU tests and the table experiments. --with adds another program of
# bench/ (device_count, device_live, device_lookup); each holds much of the device code once more, 5 to 10 MB.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/gpu-bundle
bundle=$build/warpmer-gpu
most_megabytes=45

wanted=(warpmer simulate_reads warpmer_gpu_tests warpmer-bench)
settings=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --with)
      [[ $# -ge 2 ]] || { echo "gpu-bundle.sh: --with needs the name of a program" >&2; exit 2; }
      wanted+=("$2")
      shift 2
      ;;
    *) settings+=("$1"); shift ;;
  esac
done

cmake --preset gpu-bundle ${settings[@]+"${settings[@]}"}
cmake --build --preset gpu-bundle --target "${wanted[@]}"

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/data"
for target in "${wanted[@]}"; do
  program=$build/bin/$target
  [[ -x $program ]] || program=$build/$target
  strip -o "$bundle/bin/$target" "$program"
done

# glibc and the driver are the node's.
from_the_node='^(linux-vdso|ld-linux.*|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libcuda|libnvidia-.*)\.so'
while read -r name _ path _; do
  [[ $name =~ $from_the_node || $name == /* ]] && continue
  if [[ ! -f $path ]]; then
    echo "gpu-bundle.sh: $name is needed and not found on this machine" >&2
    exit 1
  fi
  strip -o "$bundle/lib/$name" "$path"
done < <(ldd "${wanted[@]/#/$bundle/bin/}" | grep -P '^\t' | sort -u)

cp LICENSE "$bundle"
cp scripts/gpu-check.sh "$bundle"
for file in data/*; do
  case "$file" in
    data/bad_* | data/README.md) ;;
    *) cp "$file" "$bundle/data" ;;
  esac
done

megabytes=$(du -sm "$bundle" | cut -f 1)
echo "$bundle: $megabytes MB"
(cd "$bundle" && du -k bin/*)
if [[ $megabytes -gt $most_megabytes ]]; then
  echo "gpu-bundle.sh: that is more than the $most_megabytes MB it may be" >&2
  exit 1
fi
