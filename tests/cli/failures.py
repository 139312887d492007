#!/usr/bin/env python3
"""Inputs that cannot be read, outputs that cannot be written: the right status, and nothing left behind."""

import gzip
import os
import unittest

from common_cli import DATA, INPUT, RESOURCE, CliTest, file_size_limit, main
from common_tier import some

READS = DATA / "forty.fa"


class InputFailures(CliTest):
    def count_refused(self, pattern, *inputs, **options):
        self.refused(INPUT, pattern, "count", "-k", "21", "-o", "out.wmi", *inputs, **options)

    def test_missing_files(self):
        self.count_refused("no_such.fq", "no_such.fq")
        self.count_refused("no_such.fq", READS, "no_such.fq")
        self.count_refused("no_such.list", "@no_such.list")
        self.count_refused("no_such.fq", "@" + str(self.file("a.list", f"{READS}\nno_such.fq\n")))
        for command in ("histo", "dump", "stats", "info"):
            self.refused(INPUT, "no_such.wmi", command, "no_such.wmi")
        self.refused(INPUT, "no_such.wmi", "query", "no_such.wmi", "ACGT")

    def test_folders(self):
        self.count_refused(str(self.folder), self.folder)
        self.refused(INPUT, "directory", "info", self.folder)

    def test_what_is_no_sequence(self):
        for path in sorted(DATA.glob("bad_*")):
            with self.subTest(path.name):
                self.count_refused(path.name, path)
                self.count_refused(path.name, READS, path)

    def test_a_bad_character_is_named(self):
        self.count_refused(r"bad_character\.fq.*2.*41", DATA / "bad_character.fq")
        self.count_refused("standard input", "-", stdin=">r\nACGT!ACGT\n")

    def test_lenient_lets_it_break_kmers(self):
        index = self.count("-", k=3, options=["--lenient"], stdin=">r\nACG!TTG\n")
        self.assertEqual(self.dump(index), {"ACG": 1, "CAA": 1})

    def test_truncated_stdin(self):
        whole = gzip.compress(READS.read_bytes())
        self.count_refused("standard input", "-", stdin=whole[: len(whole) // 2])

    def test_an_old_output_survives_a_failure(self):
        self.file("out.wmi", "precious")
        self.count_refused("bad_character.fq", DATA / "bad_character.fq")
        self.assertEqual((self.folder / "out.wmi").read_bytes(), b"precious")


class IndexFailures(CliTest):
    def refused_by_all(self, pattern, index):
        for command in (["histo"], ["dump"], ["stats"], ["info"]):
            if index != READS or command != ["histo"]:  # which counts them
                self.refused(INPUT, pattern, *command, index)
        self.refused(INPUT, pattern, "query", index, "ACGTA")

    def test_what_is_no_index(self):
        self.refused_by_all("noise", self.file("noise", "ACGT\n" * 100))
        self.refused_by_all("empty", self.file("empty", b""))
        self.refused_by_all("forty.fa", READS)
        index = self.count(READS, k=5)
        for command in (["count", "-k", 5, "-o", "x.wmi"], ["filter", index], ["query", index, "--reads"]):
            self.refused(INPUT, "nor SAM .* but an index of warpmer, which holds no reads", *command, index)

    def test_what_is_not_there(self):
        """In one sentence, for which scripts can look."""
        pattern = r"error: no\.wmi: cannot be opened: No such file or directory"
        self.refused_by_all(pattern, "no.wmi")
        for command in (["count", "-k", 5], ["convert"], ["merge"], ["matrix"]):
            self.refused(INPUT, pattern, *command, "-o", "x.tsv" if "matrix" in command else "x.wmi", "no.wmi")

    def test_a_name_that_is_empty(self):
        for command in "info", "stats", "dump":
            self.refused(INPUT, "error: the name of an input is empty; see whether a variable is not set", command, "")

    def test_truncated(self):
        content = (self.folder / self.count(READS, k=15)).read_bytes()
        for size in some((1, 8, 100, len(content) // 2, len(content) - 1), 2):
            self.refused_by_all("cut.wmi", self.file("cut.wmi", content[:size]))

    def test_flipped_bits(self):
        content = (self.folder / self.count(READS, k=15)).read_bytes()
        self.refused_damaged(content, 60, "dump", "bad.wmi")

    def test_stdin_that_is_no_index(self):
        self.refused(INPUT, "standard input", "histo", "-", stdin=b"ACGT")


class OutputFailures(CliTest):
    def test_folder_missing(self):
        self.refused(RESOURCE, "none/out.wmi", "count", "-k", "5", "-o", "none/out.wmi", READS)
        self.refused(RESOURCE, "none/s.json", "count", "-k", "5", "-o", "o.wmi", "--stats", "none/s.json", READS)
        index = self.count(READS, k=5)
        self.refused(RESOURCE, "none/out.txt", "dump", "-o", "none/out.txt", index)

    def test_output_is_a_folder(self):
        os.mkdir(self.folder / "folder")
        self.refused(RESOURCE, "folder", "count", "-k", "5", "-o", "folder", READS)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_disk_full(self):
        index = self.count(READS, k=5)
        self.refused(RESOURCE, "/dev/full", "count", "-k", "5", "-o", "/dev/full", READS)
        commands = [["histo", index], ["dump", index], ["dump", "--sort", index], ["stats", index], ["info", "--json", index]]
        commands += [["matrix", index], ["query", index, "ACGTA"], ["query", index, "--reads", READS], ["--help"], ["--version"]]
        commands += [["count", "-k", "5", "-o", "-", READS], ["help", "count"], ["completion", "bash"]]
        commands += [["count", "--histogram-only", "-k", "5", READS], ["histo", "-k", "5", READS]]  # nor a line of success before
        for command in commands:
            with self.subTest(command), open("/dev/full", "wb") as full:
                process = self.run_process(*command, stdout=full)
                self.assertEqual(process.returncode, RESOURCE, process.stderr)
                self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: [^\n]*standard output[^\n]*space[^\n]*\n\Z")

    def test_device_files_stay(self):
        index = self.count(READS, k=5)
        self.warpmer("dump", "-o", "/dev/null", index)
        self.warpmer("count", "-k", "5", "-o", "/dev/null", READS)
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_file_size_limit(self):
        process = self.run_process("count", "-k", "21", "-o", "out.wmi", DATA / "genome.fa", preexec_fn=file_size_limit)
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: [^\n]*out\.wmi[^\n]*\n\Z")
        self.assertEqual(self.files(), [])

    def test_too_little_memory(self):
        """What would do, in the units of -m; and one thread cannot be fewer."""
        index = self.count(READS)
        jobs = (["count", "-o", "out.wmi", READS], ["update", index, "-o", "new.wmi", "--add", READS],
                ["merge", "-q", "-o", "new.wmi", index, index], ["convert", "-o", "new.wmi", self.file("a.tsv", "ACGTA\t1\n")])
        for threads, advice in (("1", "raise -m"), ("2", "raise -m or lower -t")):
            number = "1 thread" if threads == "1" else "2 threads"
            for job in jobs:
                with self.subTest(job[0], threads=threads):
                    self.refused(RESOURCE, rf"-m 2 MiB is too little .*{number}.* \d+ MiB( would do)?; {advice}\n",
                                 *job, "-t", threads, "-m", "2M")


if __name__ == "__main__":
    main()
