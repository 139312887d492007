#!/usr/bin/env python3
"""Counting in less memory than it takes: the same bytes within any cap that is accepted, and nothing left in
--tmp-dir whatever happens.

ctest: long; ctest: release only (resident sets are those of sanitizers, and a shim cannot come before them)
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from common_cli import DONE, INPUT, RESOURCE, WARPMER, CliTest, file_size_limit, has_files_without_names, main, resident_bytes, reverse_complement
from common_file_systems import WITHOUT_NAMELESS_FILES, LackingTest
from common_hot_kmers import foremost_mmer, hot, random_bases

MEGABYTE = 1 << 20

# Answers for the spill file, which is the one without a name, what a faulty disk would: FAULT names a call and an
# error number, or "flip"; or "stall", and then one call takes some seconds. The first FAULT_AFTER such calls are
# spared.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
static int calls;
static int is_due(const char *call, int fd) {
  char link[64], target[4096];
  const char *fault = getenv("FAULT");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, target, sizeof target - 1);
  if (n < 0 || !fault || strncmp(fault, call, strlen(call))) return 0;
  target[n] = 0;
  return strstr(target, "(deleted)") && __sync_add_and_fetch(&calls, 1) > atoi(getenv("FAULT_AFTER"));
}
static int error_number(void) { return atoi(strchr(getenv("FAULT"), ':') + 1); }
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at) {
  if (is_due("stall", fd) && calls == atoi(getenv("FAULT_AFTER")) + 1) sleep(5);
  if (is_due("write", fd)) { errno = error_number(); return -1; }
  return ((ssize_t (*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev"))(fd, v, n, at);
}
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) {
  if (is_due("stall", fd) && calls == atoi(getenv("FAULT_AFTER")) + 1) sleep(5);
  if (is_due("write", fd)) { errno = error_number(); return -1; }
  return ((ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite"))(fd, from, bytes, at);
}
ssize_t pread(int fd, void *to, size_t bytes, off_t at) {
  if (is_due("read", fd)) { errno = error_number(); return -1; }
  ssize_t n = ((ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(fd, to, bytes, at);
  if (n > 0 && is_due("flip", fd)) ((char *)to)[n / 2] ^= 16;
  return n;
}
ssize_t pwritev64(int fd, const struct iovec *v, int n, off_t at) { return pwritev(fd, v, n, at); }
ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) { return pwrite(fd, from, n, at); }
ssize_t pread64(int fd, void *to, size_t bytes, off_t at) { return pread(fd, to, bytes, at); }
"""


def reads(chance):
    """Both strands, 12 times a genome, with errors: hardly fewer k-mers in a run than pending."""
    genome = random_bases(chance, 3_000_000)
    strands = (genome, reverse_complement(genome))
    lines = []
    for number in range(240_000):
        at = chance.randrange(len(genome) - 150)
        read = strands[number % 2][at : at + 150]
        error = chance.randrange(150)
        lines.append(f">{number}\n{read[:error]}{chance.choice('ACGT')}{read[error + 1:]}\n")
    return "".join(lines)


def repeats(chance):
    """Units of a family over and over, runs of one base and of two, and what occurs once."""
    unit = random_bases(chance, 5000)
    parts = []
    for number in range(3000):
        at = chance.randrange(5000)
        parts.append(unit[:at] + chance.choice("ACGT") + unit[at + 1 :])
    once = [random_bases(chance, 4_000_000) for _ in range(3)]
    return f">repeats\n{''.join(parts)}\n>A\n{'A' * 12_000_000}\n>AC\n{'AC' * 2_000_000}\n>once\n{'N'.join(once)}\n"


class CapTest(CliTest):
    """What the tests of caps share."""

    def setUp(self):
        super().setUp()
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()

    def smallest_cap(self, *arguments, **options):
        """The megabytes that the refusal of too small a cap asks for."""
        process = self.run_process("count", "-m", "2M", "-o", "none.wmi", *arguments, **options)
        error = process.stderr.decode()
        self.assertEqual(process.returncode, RESOURCE, error)
        self.assertRegex(error, r"\Awarpmer: error: -m 2 MiB is too little for [^\n]*: \d+ MiB would do[^\n]*\n\Z")
        return int(re.search(r"(\d+) MiB would do", error)[1])


class MemoryCap(CapTest):
    @classmethod
    def setUpClass(cls):
        chance = random.Random(7)
        cls.inputs = {"reads": reads(chance), "repeats": repeats(chance)}
        cls.inputs = {name: text.encode() for name, text in cls.inputs.items()}

    def count_within(self, cap, *arguments):
        """Counts with a cap, in megabytes; the resident set must be within it. Returns --stats."""
        options = ("-m", f"{cap}M", "--tmp-dir", "tmp", "--stats", "stats.json", "-o", "out.wmi")
        self.warpmer("count", *options, *arguments)
        self.assertEqual(os.listdir(self.tmp), [])
        stats = json.loads((self.folder / "stats.json").read_text())
        # As the program itself knows it. (What wait4 says begins with the resident set of the process that forked: this one.)
        self.assertLessEqual(stats["peak_resident_bytes"], cap * MEGABYTE, (cap, arguments))
        return stats

    def test_too_small_a_cap_is_refused_before_any_input_is_read(self):
        garbage = self.file("garbage.fa", ">r\nAC!GT\n")
        for k in (31, 12, 5):
            with self.subTest(k=k):
                cap = self.smallest_cap("-k", k, "-t", 1, garbage)
                count = ("count", "-k", k, "-t", "1", "-o", "none.wmi")
                self.refused(RESOURCE, f"too little for counting {k}-mers with 1 thread: .* MiB would do", *count,
                             "-m", f"{cap - 8}M", garbage)
                self.refused(INPUT, "garbage", *count, "-m", f"{cap}M", garbage)

    def test_any_cap_gives_the_same_bytes(self):
        early = 0
        for name, k, threads, *table in (("reads", 31, 2), ("repeats", 31, 2), ("repeats", 55, 1), ("reads", 21, 3), ("repeats", 47, 4),
                                         ("repeats", 31, 2, "--table", "hashgraph"), ("reads", 55, 2, "--table", "warpdrive")):
            text = self.file(f"{name}.fa", self.inputs[name])
            # Once, the reads fit into the smallest cap of some machines.
            inputs = ("-q", text, text) if name == "reads" else (text,)
            options = ("-k", k, "-t", threads, *table)
            self.warpmer("count", *options, "-o", "ample.wmi", *inputs)
            expected = self.content("ample.wmi")
            smallest = self.smallest_cap(*options, *inputs)
            # Between the smallest and enough it is the same for any k.
            for cap in (smallest, smallest + 12) if k == 31 else (smallest,):
                with self.subTest(name=name, k=k, threads=threads, cap=cap, table=table):
                    stats = self.count_within(cap, *options, *inputs)
                    self.assertEqual(self.content("out.wmi"), expected)
                    early += stats["early_counts"]
                    if cap == smallest:
                        self.assertGreater(stats["spilled"]["written_bytes"] + stats["early_counts"], 0)
                    self.assertLessEqual(stats["spilled"]["read_bytes"], stats["spilled"]["written_bytes"])
                    self.assertLessEqual(stats["spilled"]["written_bytes"], 2.2 * stats["totals"]["counted_kmers"])
        self.assertGreater(early, 0)

    def test_a_group_larger_than_memory_is_refused_with_a_cap_that_would_do(self):
        hashgraph, warpdrive = (("--table", table) for table in ("hashgraph", "warpdrive"))
        for k, m, threads, options in ((31, 15, 2, ()), (31, 15, 2, hashgraph), (55, 15, 1, ("--min-count", "2")),
                                       (55, 15, 1, hashgraph), (21, 13, 3, ("--forward",)), (21, 13, 3, warpdrive)):
            text = self.file("hot.fa", hot(random.Random(k), 1_200_000, k, m))
            options = ("-k", k, "-t", threads, *options)
            self.warpmer("count", *options, "-o", "ample.wmi", text)
            cap = self.smallest_cap(*options, text)
            with self.subTest(k=k, threads=threads, cap=cap, options=options):
                process = self.run_process("count", "-m", f"{cap}M", "--tmp-dir", "tmp", "-o", "none.wmi", *options, text)
                error = process.stderr.decode()
                self.assertEqual(process.returncode, RESOURCE, error)
                self.assertRegex(error, r"of which one shard has \d+ and more [^\n]*: \d+ MiB would do[^\n]*\n\Z")
                self.count_within(int(re.search(r"(\d+) MiB would do", error)[1]), *options, text)
                self.assertEqual(self.content("out.wmi"), self.content("ample.wmi"))

    def test_an_index_with_such_a_shard_is_updated_within_a_cap_that_refusals_name(self):
        old, new = (self.file(name, hot(random.Random(name), 700_000, 31, 15)) for name in ("old.fa", "new.fa"))
        for name, inputs in (("old", (old,)), ("new", (new,)), ("both", (old, new))):
            self.warpmer("count", "-o", f"{name}.wmi", *inputs)
        for index, changes, result in (("old", ("--add", new), "both"), ("both", ("--remove", old), "new"),
                                       ("old", ("--add", new, "--remove", old), "new")):
            with self.subTest(index=index, result=result):
                command = ("update", "-t", 2, *changes, "--tmp-dir", "tmp", "--stats", "stats.json", "-o", "out.wmi",
                           f"{index}.wmi")
                error = self.run_process(*command, "-m", "2M").stderr.decode()
                self.assertRegex(error, r"\Awarpmer: error: -m 2 MiB is too little for updating [^\n]+\n\Z")
                cap = int(re.search(r"(\d+) MiB would do", error)[1])
                # How much one shard takes is known when it is counted, and a shard of what is removed behind that.
                for _ in range(6):
                    again = self.run_process(*command, "-m", f"{cap}M")
                    if again.returncode == DONE:
                        break
                    cap = int(re.search(r"of which one shard has .* (\d+) MiB would do", again.stderr.decode())[1])
                self.done(again)
                self.assertEqual(self.content("out.wmi"), self.content(f"{result}.wmi"))
                stats = json.loads((self.folder / "stats.json").read_text())
                self.assertLessEqual(stats["peak_resident_bytes"], cap * MEGABYTE)
                self.assertEqual(os.listdir(self.tmp), [])

    def test_a_server_refuses_what_it_could_not_fold_within_its_cap(self):
        old, new = (self.file(name, hot(random.Random(name), 1_200_000, 31, 15)) for name in ("old.fa", "new.fa"))
        self.warpmer("count", "-o", "old.wmi", old)
        command = [WARPMER, "serve", "--socket", "s.sock", "--load", "old.wmi", "-t", "2", "-m", "80M"]
        with subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE) as server:
            server.stderr.readline()
            process = self.run_process("add", "--server", "s.sock", "-t", 2, new)
            peak = resident_bytes(server, "VmHWM")
            server.terminate()
            server.stderr.read()
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertRegex(process.stderr.decode(), "the live table holds .* and has no room for more k-mers; raise -m")
        self.assertLessEqual(peak, 80 * MEGABYTE)

    def test_several_devices_and_updates_spill_too(self):
        text, none = self.file("reads.fa", self.inputs["reads"]), self.file("none.fa", ">r\nACGT\n")
        inputs = ("-q", text, text, none)
        self.warpmer("count", "-t", 2, "-o", "ample.wmi", *inputs)
        cap = self.smallest_cap("-t", 2, *inputs) + 4
        self.count_within(cap, "-t", 2, "--device", "cpu:3", *inputs)
        self.assertEqual(self.content("out.wmi"), self.content("ample.wmi"))
        self.warpmer("count", "-t", 2, "-o", "empty.wmi", "-q", none)
        self.warpmer("update", "-t", 2, "-m", f"{cap + 30}M", "--tmp-dir", "tmp", "--stats", "s.json", "-q", "--add", text, text,
                     "-o", "out.wmi", "empty.wmi")
        self.assertGreater(json.loads((self.folder / "s.json").read_text())["spilled"]["written_bytes"], 0)
        self.assertEqual(self.content("out.wmi"), self.content("ample.wmi"))


class SpillFailures(LackingTest, CapTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(8)
        cls.text = (">r\n" + random_bases(chance, 36_000_000) + "\n").encode()

    def setUp(self):
        super().setUp()
        self.input = self.file("in.fa", self.text)
        # A pipe may be compressed.
        self.caps = {name: self.smallest_cap("-t", 1, name, stdin="") for name in (self.input, "-")}
        self.before = self.files()

    def command(self, *arguments, tmp="tmp"):
        """The command that counts the last of the arguments in as little memory as that takes."""
        return ["count", "-t", "1", "-m", f"{self.caps[arguments[-1]]}M", "--tmp-dir", str(tmp), "-o", "out.wmi", *map(str, arguments)]

    def assert_fails(self, pattern, command, **options):
        """One sentence that matches, status 4, and nothing is left. Returns the sentence."""
        process = self.run_process(*command, **options)
        error = process.stderr.decode()
        self.assertEqual(process.returncode, RESOURCE, error)
        self.assertRegex(error, r"\Awarpmer: error: [^\n]+\n\Z")
        self.assertRegex(error, pattern)
        self.assertEqual(self.files(), self.before)
        self.assertEqual(os.listdir(self.tmp), [])
        return error

    def test_directories_that_cannot_do(self):
        for tmp in ("not/there", "in.fa", "/proc"):
            self.assert_fails(re.escape(f"'{tmp}'"), self.command(self.input, tmp=tmp))
        if os.geteuid() != 0:
            os.chmod(self.tmp, 0o500)
            self.assert_fails("'tmp'.*Permission denied", self.command(self.input))
        # It is looked at even when memory will do; but not one that nobody has asked for.
        self.assert_fails("'not/there', which --tmp-dir names: it does not exist; make it, or choose another --tmp-dir\n",
                          ["count", "--tmp-dir", "not/there", "-o", "out.wmi", self.input])
        self.assert_fails("'not/there', which --tmp-dir names: it does not exist",
                          ["count", "--only", self.input, "--tmp-dir", "not/there", "-o", "out.wmi", self.input])
        environment = os.environ | {"TMPDIR": "/proc"}
        self.assertEqual(self.run_process("count", "-o", "out.wmi", self.input, env=environment).returncode, DONE)
        os.unlink(self.folder / "out.wmi")
        command = [word for word in self.command(self.input) if word not in ("--tmp-dir", "tmp")]
        self.assert_fails("'/proc', which \\$TMPDIR names: ", command, env=environment)
        environment = os.environ | {"TMPDIR": "not/there"}
        self.assert_fails("'not/there', which \\$TMPDIR names: it does not exist; make it, or choose", command, env=environment)

    def test_directories_come_and_go(self):
        process = subprocess.Popen([WARPMER, *self.command("-", tmp="new")], cwd=self.folder, stdin=subprocess.PIPE)
        half = len(self.text) // 2
        process.stdin.write(self.text[:half])
        self.assertNotIn("new", self.files())
        os.rmdir(self.tmp)
        process.stdin.write(self.text[half:])
        process.stdin.close()
        self.assertEqual(process.wait(), DONE)
        self.assertEqual(self.files(), ["in.fa", "out.wmi"])

    def test_file_size_limit(self):
        """The error says what the whole takes, about, judging by what has been read; of a pipe that is not known."""
        self.warpmer(*self.command("--stats", "s.json", self.input))
        whole = json.loads((self.folder / "s.json").read_text())["spilled"]["written_bytes"]
        for name in ("s.json", "out.wmi"):
            os.unlink(self.folder / name)
        error = self.assert_fails(r"write about \d+ more bytes.*'tmp'.*too large", self.command(self.input),
                                  preexec_fn=lambda: file_size_limit(whole // 2))
        more, done = map(int, re.search(r"about (\d+) more bytes, after (\d+),", error).groups())
        self.assertAlmostEqual((more + done) / whole, 1, delta=0.3)
        self.assert_fails(r"write \d+ more bytes.*'tmp'.*too large", self.command("-"), stdin=self.text,
                          preexec_fn=lambda: file_size_limit(whole // 2))

    def shimmed(self, fault, after):
        """The environment for a faulty disk."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler for the shim")
        library = self.folder / "shim.so"
        if not library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, self.file("shim.c", SHIM), "-ldl"], check=True)
            self.before = self.files()
        return os.environ | {"LD_PRELOAD": str(library), "FAULT": fault, "FAULT_AFTER": str(after)}

    def test_a_disk_that_is_busy(self):
        """While one thread writes what has one minimizer, and nearly all has, others do not go on adding to it."""
        chance, mmer = random.Random(4), foremost_mmer(15)
        left, right = ([random_bases(chance, 16) for _ in range(50_000)] for _ in range(2))
        texts = []
        for _ in range(8):
            right.append(right.pop(0))
            texts.append("".join(f">\n{a}{mmer}{b}\n" for a, b in zip(left, right)).encode())
        refusal = self.run_process("count", "-t", 4, "-m", "2M", "-o", "out.wmi", "-").stderr.decode()
        cap = int(re.search(r"(\d+) MiB would do", refusal)[1])
        command = ["count", "-t", "4", "-m", f"{cap}M", "--tmp-dir", "tmp", "-o", "out.wmi", "-"]
        with subprocess.Popen([WARPMER, *command], cwd=self.folder, stdin=subprocess.PIPE,
                              env=self.shimmed("stall", 3)) as process:
            for number in range(250):
                process.stdin.write(texts[number % len(texts)])
            peak = resident_bytes(process, "VmHWM")
            process.kill()
        self.assertLessEqual(peak, cap * MEGABYTE)

    def test_faulty_disks(self):
        faults = (("write:28", r"write (about )?\d+ more bytes.*'tmp'.*No space left"), ("write:5", "write.*'tmp'.*Input/output"),
                  ("write:122", "write.*'tmp'.*quota"), ("read:5", r"read back \d+ more bytes.*'tmp'.*Input/output"),
                  ("flip", "not those that were written"))
        for fault, pattern in faults:
            with self.subTest(fault):
                self.assert_fails(pattern, self.command(self.input), env=self.shimmed(fault, 2))

    def test_files_that_must_have_a_name(self):
        """The spill file has one for a moment only, so that a job that is killed leaves none."""
        for lacks in WITHOUT_NAMELESS_FILES:
            with self.subTest(lacks):
                environment = self.lacking(lacks)
                process = self.run_process(*self.command("--stats", "s.json", self.input), env=environment)
                self.done(process)
                self.assertGreater(json.loads((self.folder / "s.json").read_text())["spilled"]["written_bytes"], 0)
                self.assertEqual(os.listdir(self.tmp), [])
                process = subprocess.Popen([WARPMER, *self.command("-")], cwd=self.folder, stdin=subprocess.PIPE, env=environment)
                process.stdin.write(self.text[: len(self.text) * 9 // 10])
                process.kill()
                process.wait()
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
                self.assertEqual(os.listdir(self.tmp), [])

    def test_killed(self):
        """While reads come in, and while shards are counted: nothing is left, of the spill file or of the output."""
        for part, pause in ((0.9, 0.2), (1, 0.02), (1, 0.3)):
            with self.subTest(part=part, pause=pause):
                process = subprocess.Popen([WARPMER, *self.command("-")], cwd=self.folder, stdin=subprocess.PIPE)
                process.stdin.write(self.text[: int(part * len(self.text))])
                if part == 1:
                    process.stdin.close()
                time.sleep(pause)
                process.send_signal(signal.SIGKILL)
                process.wait()
                if part < 1:
                    with contextlib.suppress(BrokenPipeError):
                        process.stdin.close()
                self.assertEqual(os.listdir(self.tmp), [])
                if process.returncode == DONE:
                    os.unlink(self.folder / "out.wmi")
                if has_files_without_names(self.folder):
                    self.assertEqual(self.files(), self.before)
                else:
                    self.assertNotIn("out.wmi", self.files())


if __name__ == "__main__":
    main()
