#!/usr/bin/env python3
"""Histograms of reads without an index: histo of reads, and count --histogram-only."""

import gzip
import json
import os
import random

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, main
from common_tier import some, without_sanitizers

READS = DATA / "reads_1.fq.gz"
MATES = DATA / "reads_2.fq.gz"


class HistogramOnly(CliTest):
    def wanted(self, *inputs, options=(), stdin=b"", printing=()):
        self.warpmer("count", *options, "-o", "wanted.wmi", *inputs, stdin=stdin)
        rows = self.warpmer("histo", *printing, "wanted.wmi")
        (self.folder / "wanted.wmi").unlink()
        return rows

    def test_same_as_of_the_index(self):
        ways = [["-k", k] for k in (1, 5, 12, 13, 21, 31, 32, 33, 48, 64)] + [
            ["-k", 31, "--forward"], ["-k", 21, "--min-base-quality", 30], ["-k", 21, "-t", 1], ["-k", 31, "-t", 4, "--device", "cpu:2"],
            ["-k", 25, "--table", "bcht"], ["-k", 40, "--table", "hashgraph"], ["-k", 25, "--table", "slab"], []]
        for options in some(ways, 4):
            with self.subTest(options):
                wanted = self.wanted(READS, MATES, options=options)
                self.assertGreater(wanted.count("\n"), 0)
                self.assertEqual(self.warpmer("histo", *options, READS, MATES), wanted)
                self.assertEqual(self.warpmer("count", "--histogram-only", *options, READS, MATES), wanted)
                self.assertEqual(self.files(), [])

    def test_bounds_of_counts(self):
        for bounds in (["--min-count", 2], ["--max-count", 3], ["--min-count", 4, "--max-count", 9]):
            for k in (9, 27):
                options = ["-k", k, *bounds]
                self.assertEqual(self.warpmer("count", "--histogram-only", *options, READS), self.wanted(READS, options=options))

        for command in (["-o", "o.wmi"], ["--histogram-only"]):
            self.warned("none of the 27659 distinct k-mers occurs at least 1000000 times", "count", "-k", 9, *command, "--min-count", 1000000, READS)
        self.refused(USAGE, "wanted.wmi is an index, which has its histogram; --threads is for reads", "histo", "-t", 2, self.count(READS, k=9, output="wanted.wmi"))
        self.warned("there is no k-mer in the input", "histo", self.file("short.fa", ">a\nACGT\n"))

    def test_forms(self):
        for printing in (["--dense"], ["--max-count", 7], ["--max-count", 7, "--cut"], ["--format", "jellyfish"], ["--format", "genomescope"]):
            self.assertEqual(self.warpmer("histo", "-k", 21, *printing, READS), self.wanted(READS, options=["-k", 21], printing=printing))
        kat = self.warpmer("histo", "-k", 21, "--format", "kat", READS).splitlines()
        self.assertEqual(kat[0], f"# Title:21-mer spectra for: {READS}")
        self.assertEqual(kat[6:], self.wanted(READS, options=["-k", 21], printing=["--format", "kat"]).splitlines()[6:])

    def test_how_inputs_are_told(self):
        text = gzip.decompress(READS.read_bytes())
        wanted = self.wanted(READS, options=["-k", 31])
        self.file("reads", text)
        self.file("list", "reads\n")
        for inputs in (["reads"], ["@list"], ["-k", 31, "-"]):
            self.assertEqual(self.warpmer("histo", *inputs, stdin=text), wanted)
        self.count("reads")
        self.assertEqual(self.warpmer("histo", "-", stdin=(self.folder / "out.wmi").read_bytes()), wanted)
        self.refused(USAGE, "out.wmi is an index; reads are counted", "histo", "out.wmi", "reads")
        self.refused(USAGE, "out.wmi is an index, which has its histogram; -k is for reads", "histo", "-k", 31, "out.wmi")
        self.refused(INPUT, "missing.fq", "histo", "-t", 2, "missing.fq")
        self.refused(INPUT, "should these be reads, give -k, too", "histo", "-", stdin=b">a\nACGTACGT\n")
        self.refused(USAGE, "--forward is for reads", "histo", "--forward", "out.wmi")
        self.refused(INPUT, "standard input", "histo", "-", stdin=text)
        self.refused(INPUT, "cut", "histo", self.file("cut", READS.read_bytes()[:5000]))
        self.refused(INPUT, "neither FASTA nor FASTQ", "histo", "-k", 31, self.file("noise", "ACGT\n" * 30))
        self.refused(INPUT, "noise", "histo", "noise")

    def test_outputs(self):
        wanted = self.wanted(READS, options=["-k", 31])
        for command in (["count", "--histogram-only"], ["histo"]):
            self.warpmer(*command, "-o", "out.hist", READS)
            self.assertEqual((self.folder / "out.hist").read_text(), wanted)
            (self.folder / "out.hist").unlink()
            self.refused(RESOURCE, "none/out.hist", *command, "-o", "none/out.hist", READS)
            self.refused(USAGE, "out.wmi", *command, "-o", "out.wmi", READS)
            self.refused(INPUT, "bad_character.fq", *command, "-o", "out.hist", DATA / "bad_character.fq")
        self.warpmer("count", "--histogram-only", "--stats", "s.json", "-o", "out.hist", READS)
        stats = json.loads((self.folder / "s.json").read_text())
        self.assertEqual((stats["format"], stats["index_bytes"]), ("histogram", 0))
        rows = [list(map(int, line.split())) for line in wanted.splitlines()]
        self.assertEqual(stats["totals"]["counted_kmers"], sum(count * kmers for count, kmers in rows))
        self.refused(USAGE, "leave one of them out", "count", "--histogram-only", "--to", "kmc", "-o", "x", READS)
        self.refused(USAGE, "leave one of them out", "count", "--histogram-only", "--dry-run", READS)

    @without_sanitizers
    def test_memory_that_is_short(self):
        source = random.Random(3)
        reads = "".join(f">r{i}\n{source.randbytes(1000).translate(b'ACGT' * 64).decode()}\n" for i in range(25_000))
        self.file("reads.fa", reads * 2)
        os.mkdir(self.folder / "tmp")
        wanted = self.warpmer("histo", "-k", 31, "reads.fa")
        self.assertEqual(wanted, self.wanted("reads.fa", options=["-k", 31]))
        self.warpmer("count", "--histogram-only", "-k", 31, "-t", 1, "-m", "110M", "--tmp-dir", "tmp", "--stats", "s.json", "-o", "low.hist", "reads.fa")
        self.assertEqual((self.folder / "low.hist").read_text(), wanted)
        stats = json.loads((self.folder / "s.json").read_text())
        self.assertGreater(stats["spilled"]["written_bytes"] + stats["early_counts"], 0)
        self.assertLess(stats["peak_resident_bytes"], 110 << 20)
        self.assertEqual(os.listdir(self.folder / "tmp"), [])


if __name__ == "__main__":
    main()
