#!/usr/bin/env python3
"""Outputs on file systems and kernels of less means: the same bytes and rights, and as little left behind as can be.

ctest: release only (a shim cannot come before the sanitizers)
"""

import contextlib
import os
import random
import signal
import struct
import subprocess
import time

from common_cli import DATA, DONE, INPUT, RESOURCE, WARPMER, CliTest, main
from common_file_systems import WITHOUT_NAMELESS_FILES, LackingTest
from common_hot_kmers import random_bases
from common_ranks import RanksTest

READS = DATA / "forty.fa"
COUNT = ("count", "-k", "15", "-o", "out.wmi")
OLD = b"of the user's"


def default_acl(owner, group, others):
    """The extended attribute of a directory whose new files have these rights: struct posix_acl_xattr_header and entries."""
    entries = ((0x01, owner), (0x04, group), (0x20, others))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, rights, 0xFFFFFFFF) for tag, rights in entries)


class Rights(LackingTest, CliTest):
    def rights(self, umask, environment):
        process = self.run_process(*COUNT, READS, umask=umask, env=environment)
        self.done(process)
        self.assertEqual(self.files(), ["out.wmi"])
        return (self.folder / "out.wmi").stat().st_mode & 0o777

    def test_they_follow_the_umask(self):
        """Of a new file; one that replaces another has the rights of that (cli/outputs)."""
        for lacks in ("", "umask", *WITHOUT_NAMELESS_FILES):
            for umask in (0o022, 0o077, 0o002):
                with self.subTest(lacks=lacks, umask=oct(umask)):
                    self.assertEqual(self.rights(umask, self.lacking(lacks)), 0o666 & ~umask)
                    self.assertEqual(self.rights(0o022, self.lacking(lacks)), 0o666 & ~umask)
                    (self.folder / "out.wmi").unlink()

    def test_they_follow_a_default_acl(self):
        """Where there is one, umask(2) has no say."""
        try:
            os.setxattr(self.folder, "system.posix_acl_default", default_acl(6, 6, 0))
        except OSError as error:
            self.skipTest(f"no ACLs here: {error}")
        for lacks in ("", *WITHOUT_NAMELESS_FILES):
            with self.subTest(lacks):
                self.assertEqual(self.rights(0o077, self.lacking(lacks)), 0o660)


class TemporaryNames(LackingTest, CliTest):
    """Where files have to have a name from the beginning."""

    def setUp(self):
        super().setUp()
        self.warpmer(*COUNT, READS)
        self.expected = (self.folder / "out.wmi").read_bytes()

    def begin(self, lacks):
        """A count in the midst of its input, over an older file, and the one temporary file that it has."""
        self.file("out.wmi", OLD)
        process = subprocess.Popen(
            [WARPMER, *COUNT, "-"],
            cwd=self.folder, env=self.lacking(lacks), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdin.write(READS.read_bytes())
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not self.temporaries():
            time.sleep(0.01)
        self.assertEqual(len(self.temporaries()), 1, self.files())
        return process

    def temporaries(self):
        return [name for name in self.files() if name != "out.wmi"]

    def test_to_the_end(self):
        for lacks in WITHOUT_NAMELESS_FILES:
            with self.subTest(lacks):
                process = self.begin(lacks)
                self.assertRegex(self.temporaries()[0], r"\A\.out\.wmi\.[a-z0-9]{12}\.tmp\Z")
                self.assertEqual((self.folder / "out.wmi").read_bytes(), OLD)
                _, error = process.communicate(timeout=60)
                self.done(process, error=error)
                self.assertEqual(self.files(), ["out.wmi"])
                (self.folder / "out.wmi").unlink()
                process = self.run_process(*COUNT, READS, env=self.lacking(lacks))
                self.done(process)
                self.assertEqual(self.files(), ["out.wmi"])
                self.assertEqual((self.folder / "out.wmi").read_bytes(), self.expected)

    def test_outputs_of_several_files(self):
        for lacks in WITHOUT_NAMELESS_FILES:
            with self.subTest(lacks):
                process = self.run_process("convert", "--to", "kmc", "-o", "db", "out.wmi", env=self.lacking(lacks))
                self.done(process)
                self.assertEqual(self.files(), ["db.kmc_pre", "db.kmc_suf", "out.wmi"])
                self.warpmer("convert", "-o", "back.wmi", "db")
                self.assertEqual(self.dump("back.wmi"), self.dump("out.wmi"))
                (self.folder / "back.wmi").unlink()

    def test_an_error_of_the_input(self):
        self.file("out.wmi", OLD)
        for lacks in WITHOUT_NAMELESS_FILES:
            with self.subTest(lacks):
                process = self.run_process(*COUNT, READS, DATA / "bad_character.fq", env=self.lacking(lacks))
                self.assertEqual(process.returncode, INPUT)
                self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: [^\n]*bad_character.fq[^\n]*\n\Z")
                self.assertEqual(self.files(), ["out.wmi"])
                self.assertEqual((self.folder / "out.wmi").read_bytes(), OLD)

    def end_by(self, process, number):
        process.send_signal(number)
        with contextlib.suppress(BrokenPipeError):
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, -number)
        self.assertEqual((self.folder / "out.wmi").read_bytes(), OLD)

    def test_signals(self):
        for lacks in WITHOUT_NAMELESS_FILES:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with self.subTest(lacks=lacks, number=number):
                    self.end_by(self.begin(lacks), number)
                    self.assertEqual(self.files(), ["out.wmi"])

    def fail_beside_mounted(self, options, command):
        """Runs a shell's command beside `mounted`, a tmpfs with such options, which does not do: returns standard error."""
        (self.folder / "mounted").mkdir()
        script = f"mount -t tmpfs -o {options} none mounted || exit 77; {command}"
        try:
            if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("no name space of mounts may be made")
        except FileNotFoundError:
            self.skipTest("there is no unshare")
        process = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=self.folder, capture_output=True, check=False)
        if process.returncode == 77:
            self.skipTest("nothing may be mounted")
        self.assertEqual(process.returncode, RESOURCE)
        return process.stderr.decode()

    def test_read_only(self):
        """Nothing was made there, so that there is nothing that could not be removed."""
        errors = self.fail_beside_mounted("ro", f"'{WARPMER}' count -k 15 '{READS}' -o x.kff --tmp-dir mounted")
        self.assertRegex(errors, r"\Awarpmer: error: [^\n]*Read-only[^\n]*\n\Z")

    def test_full(self):
        """Columns of a table wait in a temporary file, whatever the memory is."""
        self.file("bases.fa", ">a\n" + random_bases(random.Random(21), 400_000) + "\n")
        self.warpmer("count", "-k", "31", "-o", "a.wmi", "bases.fa")
        errors = self.fail_beside_mounted("size=1m", f"TMPDIR=mounted '{WARPMER}' matrix -q a.wmi a.wmi -o x.npz")
        self.assertRegex(errors, r"\Awarpmer: error: [^\n]*; free some space, or set TMPDIR to another folder\n\Z")

    def test_killed(self):
        """The one file with a temporary name is left, and a later run minds it not."""
        for lacks in WITHOUT_NAMELESS_FILES:
            with self.subTest(lacks):
                process = self.begin(lacks)
                temporaries = self.temporaries()
                self.end_by(process, signal.SIGKILL)
                self.assertEqual(self.temporaries(), temporaries)
                process = self.run_process(*COUNT, READS, env=self.lacking(lacks))
                self.done(process)
                self.assertEqual(self.temporaries(), temporaries)
                self.assertEqual((self.folder / "out.wmi").read_bytes(), self.expected)
                (self.folder / temporaries[0]).unlink()


class Ranks(LackingTest, RanksTest):
    def test_they_write_one_file(self):
        self.file("reads.fq", self.reads)
        command = ("count", "-k", "31", "-o", "out.wmi", "reads.fq")
        self.warpmer(*command)
        expected = (self.folder / "out.wmi").read_bytes()
        for lacks in WITHOUT_NAMELESS_FILES:
            with self.subTest(lacks):
                self.file("out.wmi", OLD)
                before = self.files()
                # Of the 1.6 MB and more that it reads: late, when its part of the output is there.
                self.check_killed(3, 1, "read:1500000:reads.fq", *command, program=self.program(lacks))
                self.assertEqual((self.folder / "out.wmi").read_bytes(), OLD)
                process = self.ranks(3, *command, program=self.program(lacks))
                self.assertEqual((process.returncode, self.files()), (DONE, before), process.stderr)
                self.assertTrue((self.folder / "out.wmi").read_bytes() == expected)

    def program(self, lacks):
        """A script for mpirun, which itself is to lack nothing."""
        path = self.temporary() / "lacking"
        preload = f"{self.shim}${{LD_PRELOAD:+:$LD_PRELOAD}}"  # what kills a rank comes by the environment
        path.write_text(f"#!/bin/sh\nLD_PRELOAD={preload} LACKS={lacks} exec '{WARPMER}' \"$@\"\n")
        path.chmod(0o700)
        return path


if __name__ == "__main__":
    main()
