#!/usr/bin/env python3
"""count --only: the k-mers of a file, and no others, against a naive counter."""

import gzip
import os
import random
import re

from common_cli import INPUT, RESOURCE, USAGE, CliTest, fasta, main, naive_count
from common_tier import some, without_sanitizers


class CountOnly(CliTest):
    def setUp(self):
        super().setUp()
        source = random.Random(11)
        genome = source.randbytes(6000).translate(b"ACGT" * 64).decode()
        self.reads = []
        for _ in range(600):
            begin = source.randrange(len(genome) - 150)
            read = list(genome[begin : begin + 150])
            read[source.randrange(150)] = source.choice("ACGTN")
            self.reads.append("".join(read))
        self.file("reads.fa", fasta([(f"r{i}", read) for i, read in enumerate(self.reads)]))
        # Places of the genome, one that has a break, and something that is not in it.
        self.panel = [genome[100:900], genome[2000:2100] + "N" + genome[2101:2300], genome[5000:5040],
                      source.randbytes(300).translate(b"ACGT" * 64).decode()]
        self.file("panel.fa", fasta([(f"p{i}", part) for i, part in enumerate(self.panel)]))

    def wanted(self, k, forward=False):
        given = naive_count(self.panel, k, forward)
        counts = naive_count(self.reads, k, forward)
        return {kmer: counts[kmer] for kmer in given if kmer in counts}

    def only(self, what, k, *options):
        return self.dump(self.count("reads.fa", k=k, options=["--only", what, *options]))

    def forms(self, k, forward=False):
        """The panel in all forms."""
        options = ["--forward"] if forward else []
        self.file("panel.fa.gz", gzip.compress((self.folder / "panel.fa").read_bytes()))
        self.count("panel.fa", k=k, options=options, output="panel.wmi")
        table = self.warpmer("dump", "panel.wmi")
        self.file("table", table)
        self.file("list", "# given\n" + "".join(line.split("\t")[0] + "\r\n" for line in table.splitlines()))
        return ["panel.fa", "panel.fa.gz", "panel.wmi", "table", "list"]

    def test_all_forms(self):
        for k, forward in some(((5, False), (13, True), (32, False), (64, False)), 2):
            wanted = self.wanted(k, forward)
            self.assertTrue(wanted)
            for form in self.forms(k, forward):
                with self.subTest(k=k, forward=forward, form=form):
                    self.assertEqual(self.only(form, k, *(["--forward"] if forward else [])), wanted)

    def test_ways(self):
        wanted = self.wanted(31)
        before = self.files()
        for options in (["-t", 1], ["-t", 4], ["--device", "cpu:2"], ["--table", "bcht"], ["-m", "400M", "-t", 1], ["--lenient"]):
            with self.subTest(options):
                self.assertEqual(self.only("panel.fa", 31, *options), wanted)
        self.assertEqual(self.files(), sorted([*before, "out.wmi"]))  # nothing else is left
        kept = {kmer: count for kmer, count in wanted.items() if 2 <= count <= 9}
        self.assertEqual(self.only("panel.fa", 31, "--min-count", 2, "--max-count", 9), kept)
        self.warpmer("count", "-k", 31, "--only", "panel.fa", "-o", "out.wmi", "reads.fa")
        rows = self.warpmer("histo", "out.wmi")
        self.assertEqual(self.warpmer("count", "-k", 31, "--only", "panel.fa", "--histogram-only", "reads.fa"), rows)
        self.warpmer("count", "-k", 31, "--only", "panel.fa", "-o", "out.tsv", "reads.fa")
        self.assertEqual({line.split("\t")[0]: int(line.split("\t")[1]) for line in (self.folder / "out.tsv").read_text().splitlines()}, wanted)
        # One that does not occur is looked up as 0.
        absent = self.panel[3][:31]
        self.assertEqual(self.warpmer("query", "out.wmi", absent), f"{absent}\t0\n")

    def test_a_long_sequence_of_nothing_else(self):
        genome = random.Random(2).randbytes(3_000_000).translate(b"ACGT" * 64).decode()
        self.file("genome.fa", f">g\n{genome}\n")
        self.count("genome.fa", k=25, output="all.wmi")
        for threads in (1, 4):
            self.count("genome.fa", k=25, output="only.wmi", options=["--only", "all.wmi", "-t", threads])
            sums = [next(line for line in self.warpmer("info", index).splitlines() if "checksum" in line) for index in ("all.wmi", "only.wmi")]
            self.assertEqual(sums[0], sums[1])

    def test_none_is_there(self):
        self.file("other.fa", ">x\n" + "ACGGT" * 20 + "\n")
        self.warned("none of the k-mers of other.fa is in the input", "count", "-k", 31, "--only", "other.fa", "-o", "o.wmi", "reads.fa")
        self.warned("none of the k-mers of empty is in the input", "count", "-k", 31, "--only", self.file("empty", "").name, "--histogram-only", "reads.fa")

    def test_refusals(self):
        count = ("count", "-k", 31, "-o", "o.wmi", "reads.fa", "--only")
        self.count("panel.fa", k=21, output="k21.wmi")
        self.refused(USAGE, r"the index k21.wmi of --only was made with k = 21 without --forward, and this job counts with k = 31 without --forward", *count, "k21.wmi")
        self.count("panel.fa", k=31, output="forward.wmi", options=["--forward"])
        self.refused(USAGE, "was made with k = 31 and --forward", *count, "forward.wmi")
        self.refused(INPUT, "list, line 2: 'ACGT' has 4 characters, and k-mers of 31 are counted", *count, self.file("list", "A" * 31 + "\nACGT\n").name)
        self.refused(INPUT, "odd, line 1: .*other than A C G T U", *count, self.file("odd", "N" * 31 + "\n").name)
        self.refused(INPUT, "none.fa", *count, "none.fa")
        packed = gzip.compress((self.folder / "panel.fa").read_bytes())
        self.refused(INPUT, "cut.fa.gz: the gzip data is truncated", *count, self.file("cut.fa.gz", packed[:-30]).name)
        damaged = bytearray((self.folder / "k21.wmi").read_bytes())
        damaged[-3] ^= 1
        self.refused(INPUT, "bad.wmi", *count, self.file("bad.wmi", bytes(damaged)).name)
        self.refused(USAGE, "standard input is named twice", "count", "-k", 31, "-o", "o.wmi", "-", "--only", "-")
        self.refused(INPUT, "standard input, line 1: '>p0' is no k-mer; sequences are taken from a file", *count, "-", stdin=b">p0\nACGT\n")
        self.refused(USAGE, "panel.fa", "count", "-k", 31, "--only", "panel.fa", "-o", "panel.fa", "reads.fa", "--force")
        self.refused(INPUT, "bad.fq", "count", "-k", 31, "--only", "panel.fa", "-o", "o.wmi", self.file("bad.fq", "@a\nACGT\n+\nII\n").name)
        self.refused(RESOURCE, "-m", *count, "panel.fa", "-m", "2M")

    @without_sanitizers
    def test_the_cap_that_is_named_will_do(self):
        self.file("list", "".join(f"{kmer}\n" for kmer in naive_count(self.panel, 9, True)))
        for what, k in some((("panel.fa", 31), ("panel.fa", 9), ("list", 9)), 2):
            with self.subTest(what=what, k=k):
                count = ["count", "-k", k, "-t", 2, "--only", what, "-o", "o.wmi", "reads.fa", "-m"]
                errors = self.refused(RESOURCE, r"too little for counting .* would do; raise -m", *count, "60M")
                self.warpmer(*count, re.search(r"(\d+) MiB would do", errors)[1] + "M")


if __name__ == "__main__":
    main()
