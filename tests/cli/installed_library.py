#!/usr/bin/env python3
"""The installed library: examples are built outside the source tree, with CMake and with pkg-config, and answer as the
program does. The sources as a part of another project, and as packagers configure them. ctest: release only"""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from common_cli import DATA, SOURCE, WARPMER, CliTest, main, read_sequences

BUILD = pathlib.Path(os.environ.get("WARPMER_BUILD", SOURCE / "build/cpu"))
READS = [str(DATA / "reads_1.fq.gz"), str(DATA / "reads_2.fq.gz")]
EXAMPLES = ["count_and_histogram", "list_kmers", "query_sequence"]


def run(*command, **settings):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **settings)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def cached(name):
    """A setting of the build."""
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return found.group(1) if found else ""


class Library(CliTest):
    def setUp(self):
        super().setUp()
        if cached("WARPMER_LIBRARY") != "ON":
            self.skipTest("built without the library (WARPMER_LIBRARY)")
        # It is moved after it was installed: nothing in it may say where it was.
        run("cmake", "--install", BUILD, "--component", "library", "--prefix", self.folder / "before")
        self.prefix = self.folder / "prefix"
        (self.folder / "before").rename(self.prefix)
        self.library = next(self.prefix.glob("**/libwarpmer.so")).parent
        self.examples = self.folder / "examples"
        shutil.copytree(SOURCE / "examples", self.examples)

    def build_with_cmake(self):
        build = self.folder / "build"
        compiler = cached("CMAKE_CXX_COMPILER")
        run("cmake", "-S", self.examples, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")  # fmt: skip
        run("cmake", "--build", build)
        return build

    def build_with_pkg_config(self):
        build = self.folder / "pkg"
        build.mkdir()
        environment = os.environ | {"PKG_CONFIG_PATH": str(self.library / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "warpmer", env=environment).split()
        for example in EXAMPLES:
            run(cached("CMAKE_CXX_COMPILER"), "-std=c++20", self.examples / f"{example}.cpp", "-o", build / example,
                *flags, f"-Wl,-rpath,{self.library}")  # fmt: skip
        return build

    def check_examples(self, build):
        theirs, ours = self.folder / "theirs.wmi", self.folder / "ours.wmi"
        rows = run(build / "count_and_histogram", 31, theirs, *READS)
        run(WARPMER, "count", "-k", 31, "-o", ours, *READS)
        self.assertEqual(rows, run(WARPMER, "histo", ours))
        info = run(WARPMER, "info", theirs)
        checksum = re.search("content checksum.*", info).group(0)
        self.assertIn(checksum, run(WARPMER, "info", ours))
        self.assertEqual(run(build / "list_kmers", theirs), run(WARPMER, "dump", ours))
        self.assertEqual(run(build / "list_kmers", theirs, 20), run(WARPMER, "dump", "--min-count", 20, ours))
        self.check_query(build, ours)

    def check_query(self, build, index):
        sequences = [sequence for _, sequence in read_sequences(DATA / "forty.fq")]
        answers = run(build / "query_sequence", index, *sequences).splitlines()
        table = run(WARPMER, "query", index, "--reads", DATA / "forty.fq").splitlines()[1:]
        self.assertEqual(len(answers), len(table))
        for answer, row in zip(answers, table):
            _, kmers, found, _, median, _ = row.split("\t")
            self.assertTrue(answer.startswith(f"{kmers} k-mers, {found} found"), f"{answer} / {row}")
            if found == kmers != "0":
                self.assertTrue(answer.endswith(f"median count {median}"), f"{answer} / {row}")

    def check_errors(self, build):
        missing = subprocess.run([build / "list_kmers", "none.wmi"], capture_output=True, text=True, check=False)
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        self.assertIn("none.wmi", missing.stderr)
        # An exception of the library is caught by its type in a program that does not share its symbols otherwise.
        no_input = [build / "count_and_histogram", "31", self.folder / "x.wmi", "none.fq"]
        self.assertEqual(subprocess.run(no_input, capture_output=True, check=False).returncode, 3)
        wrong_k = [build / "count_and_histogram", "65", self.folder / "x.wmi", READS[0]]
        self.assertEqual(subprocess.run(wrong_k, capture_output=True, check=False).returncode, 1)

    def check_warnings(self, build):
        command = [build / "count_and_histogram", "31", self.folder / "x.wmi", self.file("none.fa", "")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, r"\Awarning: there is no sequence in the input; [^\n]*\n0 k-mers")

    def test_with_cmake(self):
        build = self.build_with_cmake()
        self.check_examples(build)
        self.check_errors(build)
        self.check_warnings(build)

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_with_pkg_config(self):
        build = self.build_with_pkg_config()
        self.check_examples(build)
        self.check_errors(build)
        self.check_warnings(build)

    @unittest.skipUnless(shutil.which("nm"), "no nm")
    def test_only_public_names_are_exported(self):
        symbols = run("nm", "-DC", "--defined-only", self.library / "libwarpmer.so").splitlines()
        names = [line.split(maxsplit=2)[2] for line in symbols]
        public = re.compile(
            r"(typeinfo (name )?for )?warpmer::(Index::|ChunkReader::|(count|combine|pack|unpack|version)(\[abi:cxx11\])?\(|(Usage|Input|Resource|Internal)?Error$)"
        )
        self.assertEqual([name for name in names if not public.match(name)], [])
        self.assertTrue(any(name.startswith("warpmer::count(") for name in names))

    def test_headers_stand_alone(self):
        for header in sorted((self.prefix / "include/warpmer").glob("*.h")):
            source = self.file("one.cpp", f'#include "warpmer/{header.name}"\n')
            run(cached("CMAKE_CXX_COMPILER"), "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                "-I", self.prefix / "include", source)  # fmt: skip


# No target of it is built unless asked for, and a file is all that it installs. What is in its cache means what it likes.
OTHER_PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(other LANGUAGES CXX)
option(CCACHE "of the other project" ON)
include(FetchContent)
FetchContent_Declare(warpmer SOURCE_DIR {source})
FetchContent_MakeAvailable(warpmer)
if(TARGET warpmer OR TARGET warpmer_tests)
  message(FATAL_ERROR "there are targets of programs")
endif()
if(CMAKE_BUILD_TYPE OR CMAKE_CXX_STANDARD OR CMAKE_UNITY_BUILD OR CPACK_PACKAGE_NAME)
  message(FATAL_ERROR "there are settings that are not of this project")
endif()
add_library(user OBJECT EXCLUDE_FROM_ALL {source}/examples/list_kmers.cpp)
target_link_libraries(user PRIVATE warpmer::warpmer)
install(FILES CMakeLists.txt DESTINATION share)
"""


@unittest.skipUnless(shutil.which("ninja"), "no ninja")
class Configured(CliTest):
    def configure(self, source, *options, **variables):
        build = self.folder / "configured"
        environment = os.environ | {"CXX": cached("CMAKE_CXX_COMPILER"), **variables}
        environment.pop("CMAKE_CXX_COMPILER_LAUNCHER", None)
        run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options, env=environment)
        return build

    def test_as_part_of_another_project(self):
        other = self.folder / "other"
        other.mkdir()
        (other / "CMakeLists.txt").write_text(OTHER_PROJECT.format(source=SOURCE))
        build = self.configure(other)
        run("cmake", "--build", build)
        self.assertEqual([path for path in build.rglob("*") if path.suffix in (".o", ".a", ".so")], [])
        self.assertFalse((build / "CPackConfig.cmake").exists())
        user = next(line for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines() if "/user.dir/" in line)
        run("cmake", "--build", build, "--target", user.split(":")[0])
        run("cmake", "--install", build, "--prefix", self.folder / "installed")
        files = [path.name for path in (self.folder / "installed").rglob("*") if path.is_file()]
        self.assertEqual(files, ["CMakeLists.txt"])

    def test_as_packagers_do(self):
        # Folders are absolute for Nix and Guix, and where they build there is no home that ccache could write to.
        folders = {"PREFIX": "/store/program", "LIBDIR": "/store/library/lib", "INCLUDEDIR": "/store/headers/include"}
        options = [f"-DCMAKE_INSTALL_{name}={folder}" for name, folder in folders.items()]
        options.append("-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON")
        build = self.configure(SOURCE, *options, CCACHE_DIR="/dev/null/none")
        package = (build / "src/library/warpmer.pc").read_text()
        for name in folders:
            self.assertIn(f"{name.lower()}={folders[name]}\n", package)
        commands = (build / "compile_commands.json").read_text()
        self.assertNotIn("ccache", commands)
        # Modules are looked for where they are installed.
        self.assertIn("../../library/lib/warpmer", commands)
        # Functions for newer processors stay in their own objects.
        newer = [line for line in commands.splitlines() if re.search("-march=x86-64-v[34]", line)]
        self.assertEqual([line for line in newer if not re.search("-flto.*-march=x86-64-v[34].*-fno-lto", line)], [])


if __name__ == "__main__":
    main()
