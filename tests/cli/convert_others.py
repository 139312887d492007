#!/usr/bin/env python3
"""Jellyfish and KFF: convert reads and writes what jellyfish and kmc do. What is in the files, and what happens
to damaged ones, is tested in unit/formats/jellyfish and unit/formats/kff.

ctest: one thread (what the threads do is tested in unit/jobs/import_session)
"""

import shutil
import unittest

from common_cli import INPUT, USAGE, main
from common_convert import LENGTHS, ConvertTest, random_counts
from common_kff import kff_bytes
from common_tier import some

FORMATS = ("jellyfish", "kff")


class Others(ConvertTest):
    def test_there_and_back(self):
        reads = self.reads("reads.fa", 0, 60)
        for k, options in some([(k, ()) for k in (*LENGTHS, 1, 12, 64)] + [(31, ("--forward",))], 2):
            index = self.count(reads, k=k, options=options)
            wanted, counts = self.entries(index), self.dump(index)
            for to in FORMATS:
                with self.subTest(k=k, options=options, to=to):
                    self.convert(index, "other", "--to", to)
                    self.assertEqual(self.entries(self.convert("other", "back.wmi")), wanted)
                    self.convert("other", "other.tsv", "--to", "tsv")
                    self.assertEqual(self.lines("other.tsv"), counts)

    def test_by_name(self):
        index = self.index_of({"ACGTTGC": 2})
        for name, start in (("a.jf", b"0000"), ("a.kff", b"KFF\1"), ("a.kmc_pre", b"KMCP")):
            self.convert(index, name)
            self.assertEqual((self.folder / name).read_bytes()[:4], start)

    def test_counters(self):
        counts = random_counts(21, 300, 70000)
        index = self.index_of(counts)
        for to in FORMATS:
            with self.subTest(to):
                for size in (3, 7):
                    self.convert(index, "other", "--to", to, "--counter-bytes", size)
                    self.assertEqual(self.dump(self.convert("other", "back.wmi")), counts)
                self.refused(USAGE, "a count of 70000, and the output holds counts up to 65535",
                             "convert", index, "-o", "no", "--to", to, "--counter-bytes", 2)
                process = self.run_process("convert", index, "-o", "few", "--to", to, "--counter-bytes", 2, "--saturate")
                capped = sum(count > 65535 for count in counts.values())
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertIn(f"{capped} of {len(counts)} counts were larger than 65,535", process.stderr.decode())
                process = self.run_process("convert", "-o", "few.wmi", "few")
                self.assertIn(f"{capped} k-mers of few stand at the limit of its counters, 65535,", process.stderr.decode())
                self.assertEqual(self.dump("few.wmi"), {k: min(n, 65535) for k, n in counts.items()})
        index = self.index_of({"ACGTACGTACGTA": 1 << 60})
        self.assertEqual(self.dump(self.convert(self.convert(index, "large.kff"), "back.wmi")), {"ACGTACGTACGTA": 1 << 60})
        self.refused(USAGE, "holds counts up to 72057594037927935", "convert", index, "-o", "no.jf")

    def test_bounds_are_kept(self):
        """What lacks k-mers by their counts cannot be updated, whichever file it went through."""
        reads = self.reads("reads.fa", 0, 60)
        lacks = "has no k-mers that occurred fewer than 2 or more than 9 times"
        index = self.count(reads, k=13, options=("--min-count", 2, "--max-count", 9))
        for to in FORMATS:
            self.convert(index, "other", "--to", to)
            self.refused(INPUT, lacks, "update", self.convert("other", "back.wmi"), "--add", reads, "-o", "x.wmi")
        if not shutil.which("jellyfish"):
            self.skipTest("no jellyfish")
        for least, most in (("-L 2", "-U 9"), ("-L2", "-U9"), ("--lower-count 2", "--upper-count 9"), ("--lower-count=2", "--upper-count=9")):
            self.run_tool("jellyfish", "count", "-m", 13, "-s", "10k", "-C", *least.split(), *most.split(), "-o", "j.jf", reads)
            self.refused(INPUT, lacks, "update", self.convert("j.jf", "j.wmi"), "--add", reads, "-o", "x.wmi")

    def test_databases_that_do_not_say_that_they_are_canonical(self):
        forward = {"AAAAAAAAAAAAAAC": 1, "GTTTTTTTTTTTTTT": 2, "TTTTTTTTACGTACG": 5}
        self.convert(self.index_of(forward, "--forward"), "forward.jf")
        self.refused(INPUT, "the k-mer AAAAAAAAAAAAAAC comes more than once", "convert", "--canonical", "forward.jf",
                     "-o", "x.wmi")
        index = self.convert("forward.jf", "x.wmi", "--canonical", "--sum-duplicates")
        self.assertEqual(self.dump(index), {"AAAAAAAAAAAAAAC": 3, "CGTACGTAAAAAAAA": 5})
        self.assertEqual(self.info(index)["params"]["strand"], "canonical")
        self.refused(USAGE, "for making an index", "convert", "--canonical", "forward.jf", "-o", "x.tsv", "--to", "tsv")
        self.refused(USAGE, "exclude each other", "convert", "--canonical", "--forward", "-", "-o", "x.wmi")

    def test_kff_that_may_have_a_kmer_twice(self):
        """Its header says whether it may: then counts can be added up; else it is damaged."""
        content = kff_bytes(["ACGTTGCAAC"] * 2, {"ACGTTGCAAC": 3}, k=10)
        at = content.index(b"KFF") + 6
        self.file("unique.kff", content)
        self.file("twice.kff", content[:at] + b"\0" + content[at + 1 :])
        for options in ((), ("--sum-duplicates",)):
            self.refused(INPUT, r"unique\.kff: this database is damaged: the k-mer ACGTTGCAAC comes more than once",
                         "convert", "unique.kff", "-o", "x.wmi", *options)
        self.refused(INPUT, r"twice\.kff: the k-mer ACGTTGCAAC comes more than once.*; add .*--sum-duplicates",
                     "convert", "twice.kff", "-o", "x.wmi")
        self.assertEqual(self.dump(self.convert("twice.kff", "x.wmi", "--sum-duplicates")), {"ACGTTGCAAC": 6})

    def test_what_does_not_go_together(self):
        index = self.index_of({"ACGTTGC": 2})
        self.convert(index, "a.jf")
        self.refused(USAGE, "kff wants its k-mers sorted", "convert", "a.jf", "-o", "x", "--to", "kff")
        self.refused(USAGE, "--forward is for text", "convert", "a.jf", "-o", "x.wmi", "--forward")
        whole = (self.folder / "a.jf").read_bytes()
        self.file("cut.jf", whole[:-3])
        self.refused(INPUT, r"cut\.jf", "convert", "cut.jf", "-o", "x.wmi")


@unittest.skipUnless(shutil.which("jellyfish"), "no jellyfish")
class AgainstJellyfish(ConvertTest):
    def jellyfish_dump(self, name):
        self.run_tool("jellyfish", "dump", "-c", "-o", "dump.txt", name)
        return self.lines("dump.txt", " ")

    def test_both_ways(self):
        reads = self.reads("reads.fa", 0, 60)
        for k in some(LENGTHS, 2):
            options, strand = (("--forward",), ()) if k == 33 else ((), ("-C",))
            with self.subTest(k=k):
                index = self.count(reads, k=k, options=options)
                wanted = self.dump(index)
                self.run_tool("jellyfish", "count", "-m", k, "-s", "100k", "-t", 1, *strand, "-o", "theirs.jf", reads)
                self.assertEqual(self.entries(self.convert("theirs.jf", "theirs.wmi")), self.entries(index))
                self.convert(index, "ours.jf")
                self.assertEqual(self.jellyfish_dump("ours.jf"), wanted)
                histogram = self.run_tool("jellyfish", "histo", "-h", max(wanted.values()), "ours.jf")
                self.assertEqual(histogram, self.warpmer("histo", index))
                asked = sorted(wanted)[:: max(1, len(wanted) // 50)]
                answers = self.run_tool("jellyfish", "query", "ours.jf", *asked, "C" * k)
                rows = dict(line.split() for line in answers.splitlines())
                self.assertEqual({kmer: int(rows[kmer]) for kmer in asked}, {kmer: wanted[kmer] for kmer in asked})
                self.assertEqual(int(list(rows.values())[-1]), wanted.get("C" * k, 0))


@unittest.skipUnless(shutil.which("kmc") and shutil.which("kmc_tools"), "no kmc and kmc_tools")
class AgainstKmcKff(ConvertTest):
    def test_both_ways(self):
        counts = random_counts(31, 300, 9)
        index = self.index_of(counts)
        self.convert(index, "ours.kff")
        self.run_tool("kmc_tools", "-t1", "transform", "ours.kff", "dump", "dump.txt")
        self.assertEqual(self.lines("dump.txt"), counts)
        reads = self.reads("reads.fa", 0, 60)
        self.run_tool("kmc", "-k31", "-m2", "-t1", "-ci1", "-okff", "-fa", reads, "theirs", self.folder)
        self.assertEqual(self.entries(self.convert("theirs.kff", "theirs.wmi")),
                         self.entries(self.count(reads, k=31)))


if __name__ == "__main__":
    main()
