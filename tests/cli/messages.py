#!/usr/bin/env python3
"""What warpmer says besides its results: warnings, the line at the end, suggestions, names from elsewhere.

ctest: one thread
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import unittest

from common_cli import DATA, INPUT, USAGE, WARPMER, CliTest, main
from common_tier import some

READS = DATA / "forty.fa"
SEQUENCE = "ACGTTGCAACGTACGGTCATTGCAACTGATCC"


class Warnings(CliTest):
    def setUp(self):
        super().setUp()
        self.file("one.fa", f">one\n{SEQUENCE}\n")
        self.file("none.fa", "")
        self.file("short.fa", ">a\nACGT\n>b\nACGTT\n")
        self.file("unknown.fa", f">a\n{'ACGTN' * 20}\n")
        self.index = self.count("one.fa", k=13, output="one.wmi")

    def test_no_sequence(self):
        self.warpmer("positions", "-k", "13", "-o", "one.wmp", "one.fa")
        for command in (
            ("count", "-k", "13", "-o", "x.wmi", "none.fa"),
            ("count", "-k", "13", "-o", "x.wmi", "-"),
            ("count", "-k", "13", "-o", "x.wmi", "--device", "cpu:2", "none.fa"),
            ("count", "-k", "13", "-o", "x.wmi", DATA / "empty.fq.gz"),
            ("update", self.index, "--add", "none.fa", "-o", "x.wmi"),
            ("update", self.index, "--remove", "none.fa", "-o", "x.wmi"),
            ("query", self.index, "--reads", "none.fa", "-o", "x.tsv"),
            ("query", self.index, "--reads", "none.fa", "--format", "bed", "-o", "x.bed"),
            ("filter", self.index, "none.fa", "-o", "x.fa"),
            ("filter", self.index, "-1", "none.fa", "-2", "none.fa.2", "-o", "x.fa"),
            ("positions", "-k", "13", "-o", "x.wmp", "none.fa"),
            ("locate", "one.wmp", "--reads", "none.fa", "-o", "x.tsv"),
            ("locate", "one.wmp", "--reads", "none.fa", "--summary", "-o", "x.tsv"),
            ("qv", self.index, "--solid-count", "1", "none.fa", "-o", "x.tsv"),
        ):
            with self.subTest(command):
                self.file("none.fa.2", "")
                for name in self.files():
                    if name.startswith("x."):
                        os.remove(self.folder / name)
                self.warned("there is no sequence in ", *command)

    def test_plan_of_nothing(self):
        self.warned("there is no k-mer in what was read", "plan", "-k", "13", "none.fa")

    def test_no_kmers(self):
        for reason, reads in (("all 2 sequences are shorter than k = 13", "short.fa"),
                              ("its sequence is without 13 bases in a row that are known", "unknown.fa")):
            for name in ("x.wmi", "x.fa", "x.tsv"):
                (self.folder / name).unlink(missing_ok=True)
            with self.subTest(reads):
                self.warned(reason, "count", "-k", "13", "-o", "x.wmi", reads)
                self.warned(reason, "filter", self.index, reads, "-o", "x.fa")
                self.warned(reason, "query", self.index, "--reads", reads, "-o", "x.tsv")
        both = self.file("both.fa", ">a\nACGT\n>b\nACGTNACGTNACGT\n").name
        self.warned("all 2 sequences are shorter than k = 13, or without 13 bases", "count", "-k", "13", "-o", "y.wmi", both)

    def test_no_kmers_in_a_list(self):
        self.warpmer("positions", "-k", "13", "-o", "one.wmp", "one.fa")
        self.file("list", "\n\n")
        self.warned("there is no k-mer in 'list'", "query", self.index, "--kmers", "list", "-o", "x.tsv")
        self.warned("there is no k-mer in standard input", "locate", "one.wmp", "--kmers", "-", "-o", "y.tsv")

    def test_no_kmer_is_kept(self):
        self.warned("none of the 20 distinct k-mers occurs at least 5 times, so", "count", "-k", "13", "--min-count", "5",
                    "-o", "x.wmi", "one.fa")
        self.warned("at least 5 times and at most 7, so", "count", "-k", "13", "--min-count", "5", "--max-count", "7", "-o",
                    "y.wmi", "one.fa")

    def test_sequences_beside_empty_ones_are_enough(self):
        self.count("none.fa", "short.fa", "one.fa", k=13, output="x.wmi")
        self.warpmer("query", "x.wmi", "--reads", "none.fa", "short.fa", "one.fa")
        self.warpmer("filter", "x.wmi", "none.fa", "one.fa")

    def test_a_file_named_twice(self):
        os.symlink("one.fa", self.folder / "link.fa")
        os.link(self.folder / "one.fa", self.folder / "hard.fa")
        self.file("list", "one.fa\n")
        twice = {kmer: 2 * n for kmer, n in self.dump(self.index).items()}
        for number, again in enumerate(("one.fa", "./one.fa", "link.fa", "hard.fa", "@list", self.folder / "one.fa")):
            with self.subTest(again):
                output = f"x{number}.wmi"
                self.warned("a file is read as often as it is named", "count", "-k", "13", "-o", output, "one.fa", again)
                self.assertEqual(self.dump(output), twice)
        self.warned("'one.fa' and './one.fa' are the same file, and 2 more of the inputs", "count", "-k", "13", "-o", "y.wmi",
                    "one.fa", "./one.fa", "link.fa", "one.fa")

    def test_other_commands_with_a_file_named_twice(self):
        os.symlink(self.index, self.folder / "link.wmi")
        for command in (
            ("update", self.index, "--add", "one.fa", "./one.fa", "-o", "x1.wmi"),
            ("query", self.index, "--reads", "one.fa", "./one.fa", "-o", "x2.tsv"),
            ("filter", self.index, "one.fa", "./one.fa", "--force", "-o", "x3.fa"),  # which is run more than once
            ("qv", self.index, "--solid-count", "1", "one.fa", "./one.fa", "-o", "x4.tsv"),
            ("positions", "-k", "13", "-o", "x5.wmp", "one.fa", "./one.fa"),
            ("plan", "-k", "13", "one.fa", "./one.fa"),
            ("merge", "-o", "x6.wmi", self.index, "link.wmi"),
            ("intersect", "-o", "x7.wmi", self.index, "./one.wmi"),
            ("compare", self.index, "link.wmi", "-o", "x8.tsv"),
            ("matrix", self.index, "link.wmi", "-o", "x9.tsv"),
        ):
            with self.subTest(command):
                self.warned("named more than once|are the same file", *command)

    def test_mates_of_themselves(self):
        self.refused(USAGE, "-1 and -2 name the same files", "filter", self.index, "-1", "one.fa", "-2", "one.fa", "-o", "x.fa")
        self.refused(USAGE, "-1 and -2 name the same files", "filter", self.index, "-1", "one.fa", "-2", "./one.fa", "-o", "x.fa")


class LastLine(CliTest):
    def test_commands_that_read_or_write_much_say_what_they_did(self):
        index = self.count(READS, k=15)
        self.warpmer("positions", "-k", "15", "-o", "out.wmp", READS)
        kmer = self.warpmer("dump", index).split()[0]
        self.file("list", kmer + "\n")
        for pattern, *command in (
            ("[0-9,]+ k-mers, [0-9,]+ distinct, .* x.wmi ", "count", "-k", "15", "-o", "x.wmi", READS),
            ("looked up 40 reads in out.wmi, .* standard output ", "query", index, "--reads", READS),
            ("looked up 1 k-mer in out.wmi, .* y.tsv [0-9]+ B", "query", index, "--kmers", "list", "-o", "y.tsv"),
            ("looked up 40 reads in out.wmp, ", "locate", "out.wmp", "--reads", READS),
            ("looked up 1 k-mer in out.wmp, ", "locate", "out.wmp", "--kmers", "list"),
            ("kept 40 of 40 reads", "filter", index, READS),
            ("looked up 40 sequences in out.wmi, ", "qv", "--solid-count", "1", index, READS),
            ("wrote [0-9,]+ k-mers, .* standard output ", "dump", index),
            ("wrote 0 k-mers, .* standard output 0 B", "dump", "--min-count", "100000", index),
        ):
            with self.subTest(command):
                process = self.run_process(*command)
                self.assertRegex(process.stderr.decode(), rf"\Awarpmer: {pattern}[^\n]*\n\Z")
                quiet = self.run_process(*command, "--quiet")
                self.assertEqual((quiet.returncode, quiet.stderr, quiet.stdout), (0, b"", process.stdout))

    def test_short_answers_stand_alone(self):
        index = self.count(READS, k=15)
        kmer = self.warpmer("dump", index).split()[0]
        for command in (("query", index, kmer), ("histo", index), ("stats", index), ("info", index), ("help",), ("devices",)):
            self.assertEqual(self.run_process(*command).stderr, b"", command)

    def test_errors_are_never_quiet(self):
        self.refused(INPUT, "no such", "count", "-q", "-o", "x.wmi", "no such")


class TasksOfSlurm(CliTest):
    """A job for each task of one srun, where ranks of one job may have been meant; a shell plays its daemon."""

    def said(self, script, command="count", **variables):
        daemon = self.folder / "slurmstepd"
        if not daemon.exists():
            shutil.copy("/bin/sh", daemon)
        process = subprocess.run([daemon, "-c", script.format(f"'{WARPMER}' {command} -k 15 -o x.wmi '{DATA / 'reads_1.fq.gz'}'")], cwd=self.folder,
                                 env={**os.environ, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4", **variables}, capture_output=True, check=True)
        return "srun has started 4 tasks, and each does all of its job by itself" in process.stderr.decode()

    @unittest.skipUnless(os.path.exists("/proc/self/comm"), "names of processes are in /proc")
    def test_that_do_the_same(self):
        self.assertTrue(self.said("{}; true"))
        self.assertTrue(self.said("{} --strict; true"))
        self.assertFalse(self.said("{} -q; true"))
        self.assertFalse(self.said("{}; true", SLURM_PROCID="1"))
        self.assertFalse(self.said("{}; true", SLURM_STEP_NUM_TASKS="1"))
        self.assertFalse(self.said('sh -c "{}; true"; true'))


class Suggestions(CliTest):
    def test_overview(self):
        process = self.run_process()
        self.assertEqual((process.returncode, process.stderr), (USAGE, b""))
        self.assertEqual(process.stdout.decode(), self.warpmer("--help"))

    def test_did_you_mean(self):
        for pattern, *command in some((
            ("no command 'cuont'; did you mean 'count'\\?", "cuont", "x"),
            ("no command 'Count'; did you mean 'count'\\?", "Count"),
            ("no command 'mrege'; did you mean 'merge'\\?", "mrege"),
            ("no command 'sym'; did you mean 'symmetric-difference'\\?", "sym"),
            ("no command 'hsito'; did you mean 'histo'\\?", "help", "hsito"),
            ("unknown option '--ouput'; did you mean '--output'\\?", "count", "--ouput", "x.wmi", READS),
            ("unknown option '--ouput=x.wmi'; did you mean '--output'\\?", "count", "--ouput=x.wmi", READS),
            ("unknown option '--tmpdir'; did you mean '--tmp-dir'\\?", "count", "--tmpdir", "/tmp", READS),
            ("unknown option '--kmer'; did you mean '--kmers'\\?", "query", "x.wmi", "--kmer", "list"),
            ("unknown option '--kmer'; did you mean '-k'\\?", "count", "--kmer", "31", READS),
            ("unknown option '--kmer-size'; did you mean '-k'\\?", "count", "--kmer-size", "31", READS),
            ("unknown option '--thread'; did you mean '--threads'\\?", "count", "--thread", "4", READS),
            ("unknown option '--hlep'; did you mean '--help'\\?", "--hlep"),
            ("unknown option '--quiet'; it goes behind the command, as in 'warpmer count --quiet'", "--quiet", "count"),
            ("no command 'frobnicate' \\(", "frobnicate"),
            ("unknown option '--frobnicate' \\(see 'warpmer count --help'\\)", "count", "--frobnicate"),
        ), 6):
            with self.subTest(command):
                self.refused(USAGE, pattern, *command)

    def test_nothing_is_glued_to_help(self):
        for word in some(("-hx", "-h31", "-help", "-qh31", "--help=x"), 2):
            with self.subTest(word):
                self.refused(USAGE, f"unknown option '{word}'", "count", word, READS)
                self.refused(USAGE, f"unknown option '{word}'", word)
        self.assertEqual(self.warpmer("count", "-qh"), self.warpmer("count", "-h"))
        self.refused(USAGE, "unknown option '-V1'", "-V1")


class Names(CliTest):
    """Names that would do something to a terminal, or forge lines."""

    evil = b"a\x1b[31m\n\tforged\x9b\xc2\x9b\xff\x7f.fa"
    shown = r"a\x1b[31m\n\tforged\x9b\x9b\xff\x7f.fa"

    def setUp(self):
        super().setUp()
        (self.folder / os.fsdecode(self.evil)).write_bytes(READS.read_bytes())
        self.count(os.fsdecode(self.evil), k=15)

    def assert_tame(self, text):
        self.assertNotRegex(text, rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
        text.decode()

    def test_reports(self):
        text = self.run_process("info", "out.wmi").stdout
        self.assert_tame(text)
        self.assertIn(f"input               {self.shown}\n", text.decode())
        json_text = self.run_process("info", "--json", "out.wmi").stdout
        self.assert_tame(json_text)
        self.assertEqual(json.loads(json_text)["provenance"]["inputs"], [self.evil.decode(errors="replace")])

    def test_tables(self):
        index = self.evil.replace(b".fa", b".wmi")
        (self.folder / os.fsdecode(index)).write_bytes((self.folder / "out.wmi").read_bytes())
        for command in (("qv", "--solid-count", "1", "out.wmi", os.fsdecode(self.evil)), ("matrix", os.fsdecode(index), "out.wmi"),
                        ("compare", os.fsdecode(index), "out.wmi"), ("histo", "--format", "kat", os.fsdecode(index)),
                        ("compare", "--format", "matrix", os.fsdecode(index), "out.wmi")):
            with self.subTest(command):
                rows = self.run_process(*command).stdout
                self.assert_tame(rows)
                self.assertEqual({line.count(b"\t") for line in rows.splitlines() if not line.startswith(b"#")},
                                 {rows.splitlines()[-1].count(b"\t")})

    def test_sequence_names(self):
        self.file("name.fa", b">a\xffb\xc2\x9bc\x7f\xe2\x80\xae\n" + READS.read_bytes().splitlines()[1] + b"\n")
        self.warpmer("qv", "--solid-count", "1", "out.wmi", "name.fa", "--sequences", "rows.tsv")
        self.assertIn(r"a\xffb\x9bc\x7f\u{202e}", (self.folder / "rows.tsv").read_text())

    def test_errors_and_the_last_line(self):
        name = os.fsdecode(self.evil)
        error = self.run_process("count", "-k", "15", "-o", "x.wmi", name + "x").stderr
        self.assert_tame(error)
        self.assertEqual(error.count(b"\n"), 1)
        self.assertIn(f"{self.shown}x", error.decode())
        self.file("bad.fa", b">na\xffme\n!!!\n")
        self.assert_tame(self.run_process("count", "-o", "x.wmi", "bad.fa").stderr)
        self.assert_tame(self.run_process("count", name).stderr)
        done = self.run_process("count", "-k", "15", "-o", name + ".wmi", name)
        self.assert_tame(done.stderr)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (0, 1))

    def test_other_alphabets_stay(self):
        name = "größe-試料.fa"
        (self.folder / name).write_bytes(READS.read_bytes())
        self.count(name, k=15, output="y.wmi")
        self.assertIn(f"input               {name}\n", self.warpmer("info", "y.wmi"))


class SuggestedPipes(CliTest):
    """The command between `` ` `` in a message does, pasted into a shell, what was asked for."""

    def setUp(self):
        super().setUp()
        self.reads = "".join(f">r{i}\n{SEQUENCE[i:]}{SEQUENCE}\n" for i in range(5))
        self.file("plain.fa", self.reads)
        self.file("utf16.fa", self.reads.encode("utf-16"))
        self.file("it's cr.fa", self.reads.replace("\n", "\r"))
        self.file("sam.gz", gzip.compress("@HD\tVN:1.6\n".encode() + "".join(f"r{i}\t4\t*\t0\t0\t*\t*\t0\t0\t{SEQUENCE[i:]}{SEQUENCE}\t*\n" for i in range(5)).encode()))
        self.index = self.count("plain.fa", k=13, output="plain.wmi")
        self.counts = self.dump(self.index)

    def pasted(self, *arguments, stdin=b""):
        """Standard output of the command that is suggested."""
        process = self.run_process(*arguments, stdin=stdin)
        self.assertEqual(process.returncode, INPUT, process.stderr)
        command = re.search(r"(?:as in|line ends:|decompress it:) `(.*)`\n", process.stderr.decode()).group(1)
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, input=stdin, capture_output=True)
        self.assertEqual(done.returncode, 0, (command, done.stderr))
        return done.stdout.decode()

    def test_count_keeps_its_options(self):
        for name in ("utf16.fa", "it's cr.fa", "sam.gz"):
            with self.subTest(name):
                self.assertEqual(self.pasted("count", "-k", "13", "-o", "new one.wmi", name), "")
                self.assertEqual(self.dump("new one.wmi"), self.counts)
                os.remove(self.folder / "new one.wmi")

    def test_names_of_all_kinds(self):
        for name in some(("reads.fa", "my reads.fa", "it's.fa", "two\nlines\\.fa", "$x;`y`.fa", "-c"), 2):
            for content in (self.reads.encode("utf-16"), self.reads.replace("\n", "\r").encode()):
                with self.subTest(name, content=content[:3]):
                    self.file(name, content)
                    self.pasted("count", "-k", "13", "-o", "x.wmi", "--", name)
                    self.assertEqual(self.dump("x.wmi"), self.counts)
                    os.remove(self.folder / "x.wmi")

    def test_other_commands(self):
        self.assertEqual(self.pasted("histo", "-k", "13", "utf16.fa"), self.warpmer("histo", "-k", "13", "plain.fa"))
        wanted = self.warpmer("query", self.index, "--reads", "plain.fa")
        self.assertEqual(self.pasted("query", self.index, "--reads=it's cr.fa"), wanted)
        self.assertEqual(self.pasted("filter", self.index, "utf16.fa"), self.reads)
        self.pasted("update", self.index, "--add", "utf16.fa", "-o", "twice.wmi")
        self.assertEqual(self.dump("twice.wmi"), {kmer: 2 * count for kmer, count in self.counts.items()})

    def test_beside_standard_input(self):
        self.pasted("count", "-k", "13", "-o", "both.wmi", "-", "utf16.fa", stdin=self.reads.encode())
        self.assertEqual(self.dump("both.wmi"), {kmer: 2 * count for kmer, count in self.counts.items()})

    def test_standard_input_itself(self):
        utf16 = (self.folder / "utf16.fa").read_bytes()
        process = self.run_process("histo", "-k", "13", "-", stdin=utf16)
        self.assertIn(f"`iconv -f UTF-16 -t ASCII FILE | {WARPMER} histo -k 13 -`", process.stderr.decode())

    def test_of_a_list_there_is_an_example(self):
        self.file("list", "utf16.fa\n")
        for arguments, command in ((("@list",), "iconv -f UTF-16 -t ASCII utf16.fa"), (("--only", "sam.gz", "plain.fa"), "gzip -dc sam.gz")):
            process = self.run_process("count", "-k", "13", "-o", "x.wmi", *arguments)
            self.assertIn(f"`{command} | warpmer count -o out.wmi -`", process.stderr.decode())


if __name__ == "__main__":
    main()
