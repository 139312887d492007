#!/usr/bin/env python3
"""KMC reads our databases, and we read its, of both forms.

ctest: release only (other sizes and kinds of the same are in cli/convert; KMC takes a second for anything)
"""

import shutil
import unittest

from common_cli import main
from common_convert import LENGTHS, ConvertTest, random_counts
from common_tier import some


@unittest.skipUnless(all(map(shutil.which, ("kmc", "kmc_tools", "kmc_dump"))), "no kmc, kmc_tools and kmc_dump")
class AgainstKmc(ConvertTest):
    """KMC reads ours, and we its databases, of both forms."""

    def kmc_dump(self, name):
        self.run_tool("kmc_dump", name, "kmc_dump.txt")
        return self.lines("kmc_dump.txt")

    def kmc(self, source, *options):
        """A database of KMC's, which takes it a second, of however few k-mers."""
        few = ("-m2", "-t1", "-n64", "-p5", "-ci1", "-cs1000000")
        self.run_tool("kmc", *few, "-fa", *options, source, "theirs", self.folder)

    def check_theirs(self, ours):
        wanted = self.entries(ours)
        self.assertEqual(self.entries(self.convert("theirs", "theirs.wmi")), wanted)
        self.run_tool("kmc_tools", "-t1", "transform", "theirs", "sort", "sorted")
        self.assertEqual(self.entries(self.convert("sorted", "sorted.wmi")), wanted)

    def check_ours(self, index):
        wanted = self.dump(index)
        self.convert(index, "ours", "--to", "kmc")
        self.assertEqual(self.kmc_dump("ours"), wanted)
        said = self.run_tool("kmc_tools", "-t1", "transform", "ours", "dump", "dump.txt", "histogram", "histo.txt",
                             "reduce", "reduced", "-ci2", "sort", "again")
        self.assertIn("already sorted", said)
        self.assertEqual(self.lines("dump.txt"), wanted)
        histogram = dict(map(int, line.split()) for line in self.warpmer("histo", index).splitlines())
        self.assertEqual({int(count): n for count, n in self.lines("histo.txt").items() if n}, histogram)
        self.assertEqual(self.kmc_dump("reduced"), {kmer: n for kmer, n in wanted.items() if n > 1})

    def check_both(self, index, other):
        """Our database with one of KMC's, which is of the other form."""
        self.run_tool("kmc_tools", "-t1", "simple", "ours", "theirs", "union", "both", "intersect", "shared")
        for name, command in (("both", "union"), ("shared", "intersect")):
            self.warpmer(command, index, other, "-o", "result.wmi")
            self.assertEqual(self.kmc_dump(name), self.dump("result.wmi"))

    def test_both_ways(self):
        reads, others = self.reads("reads.fa", 0, 60), self.reads("others.fa", 40, 100)
        for k in some(LENGTHS, 1):
            with self.subTest(k=k):
                strand = ("--forward",) if k == 33 else ()
                self.kmc(others, f"-k{k}", *(["-b"] if strand else []))
                other = self.count(others, k=k, options=strand, output="other.wmi")
                self.check_theirs(other)
                index = self.count(reads, k=k, options=strand)
                self.check_ours(index)
                self.check_both(index, other)

    def test_their_counters(self):
        counts = random_counts(21, 300, 1 << 24)
        self.convert(self.index_of(counts), "ours", "--to", "kmc")
        for most in (1, 255, 256, 65536, 1 << 24):
            self.run_tool("kmc_tools", "-t1", "transform", "ours", "reduce", "theirs", f"-cs{most}")
            process = self.run_process("convert", "-o", "theirs.wmi", "theirs")
            # Of a limit within their width nothing is known.
            self.assertEqual(b"at the limit of its counters" in process.stderr, most == 255, process.stderr)
            self.assertEqual(self.dump("theirs.wmi"), {kmer: min(n, most) for kmer, n in counts.items()})

    def test_our_counters_and_strands(self):
        for size in range(1, 5):
            counts = random_counts(31, 300, (1 << (8 * size)) - 1, forward=size == 2, seed=size)
            index = self.index_of(counts, *(["--forward"] if size == 2 else []))
            self.convert(index, "ours", "--to", "kmc")
            self.assertEqual(self.kmc_dump("ours"), counts)
            self.assertIn(f"{'no' if size == 2 else 'yes'}", self.run_tool("kmc_tools", "info", "ours").split("both strands")[1][:20])

    def test_every_length(self):
        for k in (1, 2, 3, 4, 8, 13, 61, 64):
            counts = random_counts(k, 300, 300, seed=k)
            self.convert(self.index_of(counts), "ours", "--to", "kmc")
            with self.subTest(k=k):
                self.assertEqual(self.kmc_dump("ours"), counts)


if __name__ == "__main__":
    main()
