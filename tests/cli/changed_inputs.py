#!/usr/bin/env python3
"""Indexes that somebody truncates, writes anew or replaces while they are read: an error of the input that says so, and
no output; or the right output, where the change does no harm. Never a signal, and never another result.
"""

import os
import pathlib
import random
import subprocess
import time
import unittest

from common_cli import INPUT, WARPMER, CliTest, fasta, main
from common_tier import UNDER_ASAN, some

# A process that ends because its input was cut off leaves other threads unjoined, and that is no leak.
os.environ["TSAN_OPTIONS"] = os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"

SHORTER = "has become shorter while it was being read: wait for its writer, then run again"
CHANGED = "has (been changed|become shorter) while it was being read: wait for its writer, then run again"
LOST = "(cannot be read to its end|has become shorter while)"

#: All of them are given this, or another index, on standard input when the first one has been changed.
WAITING = {
    "merge": ("merge", "first.wmi", "-", "-o", "out"),
    "intersect": ("intersect", "first.wmi", "-", "-o", "out"),
    "subtract": ("subtract", "--counts", "difference", "first.wmi", "-", "-o", "out"),
    "compare": ("compare", "first.wmi", "-"),
    "matrix": ("matrix", "first.wmi", "-", "-o", "out"),
    "update": ("update", "first.wmi", "--add", "-", "-o", "out"),
    "query": ("query", "first.wmi", "--reads", "-"),
    "filter": ("filter", "first.wmi", "-", "-o", "out"),
    "qv": ("qv", "--solid-count", "1", "first.wmi", "-"),
}
TAKES_INDEX = {"merge", "intersect", "subtract", "compare", "matrix"}
#: These write more to standard output than a pipe holds.
WRITING = {
    "dump": ("dump", "first.wmi"),
    "dump --sort": ("dump", "--sort", "first.wmi"),
    "convert": ("convert", "--to", "tsv", "-o", "-", "first.wmi"),
}


class ChangedInputs(CliTest):
    name = "first.wmi"

    def setUp(self):
        super().setUp()
        chance = random.Random(3)
        self.genome = "".join(chance.choices("ACGT", k=300_000))
        self.reads = self.file("reads.fa", fasta([(i, self.genome[i * 500 : i * 500 + 600]) for i in range(400)])).read_bytes()

    def make(self, k):
        self.count("reads.fa", k=k, output="first.wmi")
        self.whole = (self.folder / self.name).read_bytes()

    def start(self, *command):
        return subprocess.Popen([WARPMER, *command], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def wait_until_checked(self, process):
        """Until the index is mapped, and all threads sleep: they wait for what is read besides."""
        folder = pathlib.Path(f"/proc/{process.pid}")
        asleep = 0
        for _ in range(6000):
            states = [task.read_text().rsplit(")", 1)[1].split()[0] for task in folder.glob("task/*/stat")]
            asleep = asleep + 1 if self.name in (folder / "maps").read_text() and set(states) == {"S"} else 0
            if asleep == 5:
                return
            time.sleep(0.005)
        self.fail("the index was not mapped")

    # What becomes of the index meanwhile.

    def truncate(self):
        os.truncate(self.folder / self.name, 5000)

    def truncate_to_nothing(self):
        os.truncate(self.folder / self.name, 0)

    def cut_the_end_off(self):
        os.truncate(self.folder / self.name, len(self.whole) - 1)

    def write_zeros(self):
        os.truncate(self.folder / self.name, 0)
        os.truncate(self.folder / self.name, len(self.whole))

    def write_another(self):
        self.file(self.name, bytes(reversed(self.whole)))

    def replace(self):
        self.file("new", "another file")
        os.rename(self.folder / "new", self.folder / self.name)

    def remove(self):
        os.remove(self.folder / self.name)

    def touch(self):
        os.utime(self.folder / self.name)

    def replace_and_truncate(self):
        with open(self.folder / self.name, "r+b") as old:
            self.replace()
            os.ftruncate(old.fileno(), 0)

    HARMFUL = {truncate: SHORTER, truncate_to_nothing: SHORTER, cut_the_end_off: SHORTER, write_zeros: CHANGED,
               write_another: CHANGED, replace_and_truncate: LOST}
    HARMLESS = (replace, remove, touch)

    def outcome(self, command, change, stdin=None):
        """What a command prints and writes when the index is changed before it has read it: (status, stdout, out, stderr)."""
        self.file(self.name, self.whole)
        process = self.start(*command)
        try:
            if stdin is None:
                begin = process.stdout.read(5000)  # then it has begun, and cannot end
            else:
                begin = b""
                self.wait_until_checked(process)
            change(self)
            out, err = process.communicate(stdin)
        finally:
            process.kill()
        path = self.folder / "out"
        written = path.read_bytes() if path.exists() else b""
        left = set(self.files()) - {self.name, "reads.fa", "out"}
        self.assertEqual(left, set())
        path.unlink(missing_ok=True)
        return process.returncode, begin + out, written, err.decode()

    def check_harm(self, command, change, text, stdin=None):
        status, out, written, error = self.outcome(command, change, stdin)
        self.assertEqual(status, INPUT, error)
        self.assertRegex(error, f"\\Awarpmer: error: '{self.name}' {text}")
        self.assertEqual(error.count("\n"), 1, error)
        self.assertEqual(written, b"")
        if stdin is not None:
            self.assertEqual(out, b"")

    def check_all(self, commands, stdin_of):
        for name in some(list(commands), 4):
            command, stdin = commands[name], stdin_of(name)
            expected = self.outcome(command, lambda self: None, stdin)
            self.assertEqual(expected[0], 0, expected[3])
            for change, text in self.HARMFUL.items():
                # What is written over after it was checked leads anywhere. Without ASan that is a signal, which the program
                # turns into its error; ASan may see the read first, and end the process.
                if text == CHANGED and stdin is None and UNDER_ASAN:
                    continue
                with self.subTest(command=name, change=change.__name__):
                    self.check_harm(command, change, text, stdin)
            for change in self.HARMLESS:
                with self.subTest(command=name, change=change.__name__):
                    self.assertEqual(self.outcome(command, change, stdin)[:3], expected[:3])

    def test_commands_that_wait_for_their_input(self):
        for k in some((11, 31), 1):
            self.make(k)
            self.check_all(WAITING, lambda name: self.whole if name in TAKES_INDEX else self.reads)

    def test_commands_that_have_begun_to_write(self):
        for k in some((31, 11), 1):
            self.make(k)
            self.check_all(WRITING, lambda name: None)

    def test_other_formats(self):
        self.make(31)
        for to, name in (("kff", "other"), ("jellyfish", "other"), ("kmc", "other.kmc_suf"), ("kmc", "other.kmc_pre")):
            self.warpmer("convert", "--to", to, "-o", "other", "first.wmi")
            process = self.start("convert", "--to", "tsv", "-o", "-", "other")
            begin = process.stdout.read(5000)
            os.truncate(self.folder / name, 5000)
            out, err = process.communicate()
            with self.subTest(to=to, name=name):
                self.assertEqual(process.returncode, INPUT, err)
                self.assertIn(f"warpmer: error: '{name}' has become shorter while it was being read", err.decode())
                self.assertTrue((begin + out).startswith(b"A") or to == "jellyfish")
            for path in self.folder.glob("other*"):
                path.unlink()

    def test_positions(self):
        self.name = "first.wmp"
        self.warpmer("positions", "reads.fa", "-k", 31, "-o", self.name)
        self.whole = (self.folder / self.name).read_bytes()
        self.check_all({"locate": ("locate", self.name, "--reads", "-")}, lambda name: self.reads)

    def test_at_any_time(self):
        """Whatever it does just then: all is well, or it is the input's fault."""
        self.make(31)
        self.file("second.wmi", self.whole)
        chance = random.Random(5)
        ended = set()
        for command in some((("merge", "first.wmi", "second.wmi", "-o", "out"), ("histo", "first.wmi"), ("stats", "first.wmi"),
                             ("info", "first.wmi"), ("convert", "--to", "kmc", "-o", "out", "first.wmi"),
                             ("compare", "first.wmi", "second.wmi"), ("update", "first.wmi", "--remove", "reads.fa", "-o", "out")), 3):
            for _ in range(6):
                self.file(self.name, self.whole)
                process = self.start(*command)
                time.sleep(chance.uniform(0, 0.06))
                self.truncate()
                _, err = process.communicate()
                self.assertIn(process.returncode, (0, INPUT), (command, err))
                if process.returncode == INPUT:
                    self.assertEqual(set(self.files()), {"first.wmi", "second.wmi", "reads.fa"}, command)
                    self.assertEqual(err.count(b"\n"), 1, err)
                ended.add(process.returncode)
                for path in self.folder.glob("out*"):
                    path.unlink()
        self.assertIn(INPUT, ended)


if __name__ == "__main__":
    main()
