#!/usr/bin/env bash
set -euo pipefail
cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
  -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON ${CMAKE_ARGS:-}
cmake --build build -j "${CPU_COUNT:-1}"
cmake --install build
