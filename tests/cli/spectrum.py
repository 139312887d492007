#!/usr/bin/env python3
"""The model of the spectrum on simulated reads, and the histograms that other tools take.

ctest: release only
"""

import json
import os
import pathlib
import random
import shutil
import subprocess

from common_cli import DATA, INPUT, USAGE, CliTest, main, naive_count, read_sequences

SIMULATOR = pathlib.Path(os.environ.get("WARPMER_BUILD", "build/cpu")) / "bin" / "simulate_reads"
K = 31
LENGTH, READ = 400_000, 150


class Model(CliTest):
    def needs_simulator(self):
        if not SIMULATOR.exists():
            self.skipTest("no simulate_reads")

    def simulate(self, *options):
        subprocess.run([SIMULATOR, "-t", "2", *map(str, options)], cwd=self.folder, check=True, capture_output=True)

    def spectrum(self, *inputs):
        return json.loads(self.warpmer("stats", "--json", self.count(*inputs, k=K)))["spectrum"]

    def within(self, value, expected, share):
        self.assertLess(abs(value - expected), share * expected, (value, expected))

    def test_haploid(self):
        self.needs_simulator()
        for coverage, error_rate in ((20, 0.005), (60, 0.01), (35, 0.001)):
            with self.subTest(coverage=coverage):
                self.simulate("--genome-length", LENGTH, "--coverage", coverage, "-e", error_rate,
                              "--write-genome", "genome.fa", "-o", "reads.fq")
                model = self.spectrum("reads.fq")
                depth = coverage * (READ - K + 1) / READ
                self.assertTrue(model["is_clear"])
                self.within(model["kmer_coverage"], depth * (1 - error_rate) ** K, 0.02)
                self.within(model["genome_size"], LENGTH, 0.02)
                self.within(model["error_kmers"], depth * LENGTH * (1 - (1 - error_rate) ** K), 0.05)
                self.within(model["error_rate"], error_rate, 0.05)
                self.assertIsNone(model["heterozygous_coverage"])
                self.assertGreater(model["fit"], 0.9)
        # The genome itself: what it has more than once, and that it has no coverage.
        index = json.loads(self.warpmer("stats", "--json", self.count("genome.fa", k=K)))
        repeats = 1 - index["counted_unique"] / index["counted_kmers"]
        self.assertLess(abs(model["repeat_fraction"] - repeats), 0.02)
        self.assertFalse(index["spectrum"]["is_clear"])

    def test_diploid(self):
        self.needs_simulator()
        self.simulate("--genome-length", LENGTH, "--coverage", 1, "--write-genome", "a.fa", "-o", "none.fq")
        self.simulate("--genome", "a.fa", "--mutants", 1, "-e", 0.01, "-o", "b.fa")
        for haplotype in "ab":
            self.simulate("--genome", f"{haplotype}.fa", "--coverage", 30, "-e", 0.003, "-s", ord(haplotype), "-o", f"{haplotype}.fq")
        model = self.spectrum("a.fq", "b.fq")
        coverage = 60 * (READ - K + 1) / READ * 0.997**K
        self.within(model["kmer_coverage"], coverage, 0.02)
        self.within(model["heterozygous_coverage"], coverage / 2, 0.02)
        self.within(model["heterozygosity"], 0.01, 0.1)
        self.within(model["genome_size"], LENGTH, 0.02)

    def test_text(self):
        index = self.count(DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz", k=K)
        spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
        text = self.warpmer("stats", index)
        self.assertIn(f"\nk-mer coverage      {spectrum['kmer_coverage']:.4g}\n", text)
        self.assertIn(f"\ngenome size         {spectrum['genome_size']}\n", text)
        self.assertIn(f"\nerror cut-off       {spectrum['error_cutoff']}\n", text)
        none = self.warpmer("stats", self.count(DATA / "genome.fa", k=K))
        self.assertIn("\nk-mer coverage      no estimate: ", none)
        self.assertNotIn("genome size", none)
        self.file("x.tsv", "".join(f"{kmer}\t{2**21 + number}\n" for number, kmer in enumerate(("ACGTT", "AAAAA", "CCCCC"))))
        self.warpmer("convert", "x.tsv", "-o", "x.wmi")
        self.assertIn("no peak behind the k-mers of small counts (none is looked for above 1048576)\n", self.warpmer("stats", "x.wmi"))

    def made_up(self, *parts, times=1):
        """An index of k-mers whose counts are normal around (k-mers, mean), and of errors."""
        chance = random.Random(7)
        counts = [1] * 20000 + [max(1, round(chance.gauss(mean, (1.3 * mean) ** 0.5))) for number, mean in parts for _ in range(number)]
        kmer = lambda i: "A" + "".join("ACGT"[i >> 2 * j & 3] for j in range(15)) + "C"
        self.file("made_up.tsv", "".join(f"{kmer(i)}\t{times * count}\n" for i, count in enumerate(counts)))
        self.warpmer("convert", "-o", "made_up.wmi", "made_up.tsv")
        return "made_up.wmi"

    def test_ploidy(self):
        index = self.made_up((16000, 20), (6000, 40), (4000, 60), (4000, 80))
        spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
        self.assertEqual(spectrum["ploidy"], 4)
        self.within(spectrum["kmer_coverage"], 80, 0.02)
        self.within(spectrum["heterozygous_coverage"], 20, 0.02)
        self.within(spectrum["genome_size"], 14000, 0.03)
        other = spectrum["runner_up"]
        self.assertNotEqual(other["ploidy"], 4)
        self.assertEqual(spectrum["is_ambiguous"], other["bic_difference"] < 10)  # of a fit this good
        text = self.warpmer("stats", index)
        self.assertRegex(text, r"\nploidy              4(, not certain: see below)?\n")
        self.assertRegex(text, rf"\n(next|or) ploidy {{8,11}}{other['ploidy']}, fits ")

    def test_contaminant(self):
        index = self.made_up((8000, 9), (20000, 150))
        spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
        self.within(spectrum["kmer_coverage"], 150, 0.02)
        self.within(spectrum["genome_size"], 20000, 0.03)
        self.assertEqual(len(spectrum["foreign"]), 1)
        self.within(spectrum["foreign"][0]["coverage"], 9, 0.1)
        self.assertRegex(self.warpmer("stats", index), r"\nnot of the genome   \d+ k-mers of coverage [\d.]+\n")

    def test_counted_twice(self):
        for times, words in ((2, "every count is even: was each file counted twice?"),
                             (3, "every count is a multiple of 3: was each file counted 3 times?")):
            index = self.made_up((20000, 40), times=times)
            self.assertIn(f"\nbeware              {words}\n", self.warpmer("stats", index))
            spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
            self.assertEqual(spectrum["count_divisor"], times)
            self.within(spectrum["kmer_coverage"], 40 * times, 0.02)
            self.within(spectrum["genome_size"], 20000, 0.02)


class Histograms(CliTest):
    def rows(self, text):
        return [tuple(map(int, line.split(" "))) for line in text.splitlines() if not line.startswith("#")]

    def setUp(self):
        super().setUp()
        self.file("deep.fa", ">a\n" + "A" * 20000 + "\n>b\n" + "C" * 12000 + "\n>c\n" + "AC" * 4000 + "\n>d\nGATTACATTAGACAGATTTACCCAGATAG\n")
        self.index = self.count("deep.fa", k=15)
        counts = naive_count([sequence for _, sequence in read_sequences(self.folder / "deep.fa")], 15)
        self.expected = {}
        for count in counts.values():
            self.expected[count] = self.expected.get(count, 0) + 1

    def test_genomescope(self):
        rows = self.rows(self.warpmer("histo", "--format", "genomescope", self.index))
        largest = max(self.expected)
        self.assertEqual([count for count, _ in rows], list(range(1, largest + 2)))
        # It drops the last row, and none of the k-mers with it.
        self.assertEqual({count: kmers for count, kmers in rows[:-1] if kmers}, self.expected)
        self.assertEqual(rows[-1], (largest + 1, 0))

    def test_jellyfish(self):
        text = self.warpmer("histo", "--format", "jellyfish", self.index)
        rows = dict(self.rows(text))
        self.assertEqual(list(rows), list(range(10002)))
        self.assertEqual(rows.pop(10001), sum(kmers for count, kmers in self.expected.items() if count > 10000))
        self.assertEqual({c: n for c, n in rows.items() if n}, {c: n for c, n in self.expected.items() if c <= 10000})
        if shutil.which("jellyfish"):
            run = lambda *words: subprocess.run(["jellyfish", *words], cwd=self.folder, check=True, capture_output=True).stdout
            run("count", "-C", "-m", "15", "-s", "100k", "-o", "deep.jf", "deep.fa")
            self.assertTrue(run("histo", "-f", "deep.jf").decode() == text)

    def test_kat(self):
        text = self.warpmer("histo", "--format", "kat", self.index)
        header, _, rows = text.partition("###\n")
        self.assertEqual(header, "# Title:15-mer spectra for: out.wmi\n# XLabel:15-mer frequency\n# YLabel:# distinct 15-mers\n"
                                 "# Kmer value:15\n# Input 1:out.wmi\n")
        self.assertEqual(rows, self.warpmer("histo", "--format", "jellyfish", self.index).partition("0 0\n")[2])

    def test_empty_index(self):
        self.file("short.fa", ">a\nACG\n")
        index = self.count("short.fa", k=15, options=("-q",))
        self.assertEqual(self.warpmer("histo", "--format", "genomescope", index), "1 0\n")
        self.assertEqual(len(self.rows(self.warpmer("histo", "--format", "kat", index))), 10001)
        self.assertIn("no estimate", self.warpmer("stats", index))

    def test_max_count(self):
        beyond = sum(kmers for count, kmers in self.expected.items() if count > 100)
        below = {count: kmers for count, kmers in self.expected.items() if count <= 100}
        self.assertGreater(beyond, 0)
        rows = self.rows(self.warpmer("histo", "--max-count", "100", self.index))
        self.assertEqual(dict(rows), {**below, 101: beyond})
        self.assertEqual(dict(self.rows(self.warpmer("histo", "--max-count", "100", "--cut", self.index))), below)
        dense = self.rows(self.warpmer("histo", "--max-count", "100", "--dense", self.index))
        self.assertEqual([count for count, _ in dense], list(range(1, 102)))
        jellyfish = self.rows(self.warpmer("histo", "--format", "jellyfish", "--max-count", "100", self.index))
        self.assertEqual(jellyfish, [(0, 0), *dense])
        # No k-mer is above: no row more.
        self.assertEqual(self.warpmer("histo", "--max-count", "9999999", self.index), self.warpmer("histo", self.index))
        self.refused(USAGE, "--cut is for --max-count", "histo", "--cut", self.index)

    def test_too_many_rows(self):
        self.file("huge.tsv", "GATTACAGATTACAG\t5000000\nGATTACAGATTACAC\t3\n")
        self.warpmer("convert", "-o", "huge.wmi", "huge.tsv")
        for options in (["--dense"], ["--format", "genomescope"]):
            self.refused(USAGE, "--max-count", "histo", *options, "huge.wmi")
            self.refused(USAGE, "largest count of huge.wmi is 5000000, .* up to 1000000", "histo", *options, "--max-count", 1000001, "huge.wmi")
        rows = self.warpmer("histo", "--format", "genomescope", "--max-count", 1000000, "huge.wmi").splitlines()
        self.assertEqual((rows[2], rows[-2:]), ("3 1", ["1000001 1", "1000002 0"]))
        self.assertEqual(self.warpmer("histo", "huge.wmi"), "3 1\n5000000 1\n")
        self.assertEqual(self.warpmer("histo", "--dense", "--max-count", "4", "huge.wmi"), "1 0\n2 0\n3 1\n4 0\n5 1\n")

    def test_several(self):
        self.file("other.tsv", "GATTACAGATTACAG\t5\nGATTACAGATTACAC\t2\n")
        self.warpmer("convert", "-o", "other.wmi", "other.tsv")
        lines = [line.split("\t") for line in self.warpmer("histo", self.index, "other.wmi").splitlines()]
        self.assertEqual(lines[0], ["count", "out", "other"])
        self.assertEqual({int(row[0]): int(row[1]) for row in lines[1:] if row[1] != "0"}, self.expected)
        self.assertEqual({int(row[0]): int(row[2]) for row in lines[1:] if row[2] != "0"}, {5: 1, 2: 1})
        self.refused(USAGE, "is for one index", "histo", "--format", "kat", self.index, "other.wmi")
        for command in ("stats", "info"):
            both = json.loads(self.warpmer(command, "--json", self.index, "other.wmi"))
            self.assertEqual([one["file"] for one in both], [str(self.index), "other.wmi"])
            text = self.warpmer(command, self.index, "other.wmi")
            self.assertEqual(text.count("\nfile  ") + text.startswith("file  "), 2)
        table = [line.split("\t") for line in self.warpmer("stats", "--tsv", self.index, "other.wmi").splitlines()]
        self.assertEqual(len(table), 3)
        self.assertEqual({len(row) for row in table}, {len(table[0])})
        self.assertEqual(dict(zip(table[0], table[2]))["stored_kmers"], "7")
        self.refused(USAGE, "two formats", "stats", "--tsv", "--json", self.index)

    def test_lists(self):
        """Of many samples, a list names the indexes."""
        self.file("other.tsv", "GATTACAGATTACAG\t5\nGATTACAGATTACAC\t2\n")
        self.warpmer("convert", "-o", "other.wmi", "other.tsv")
        shutil.copy(self.folder / "other.wmi", self.folder / "copy")
        self.file("copies", "copy\n")
        self.file("list", f"# samples\n{self.index}\n\nother.wmi\n")
        self.file("one", "other.wmi\n")
        for command in ("histo", "stats", "info", ("stats", "--tsv"), ("info", "--json")):
            command = (command,) if isinstance(command, str) else command
            both = self.warpmer(*command, self.index, "other.wmi")
            self.assertEqual(self.warpmer(*command, "@list"), both)
            self.assertEqual(self.warpmer(*command, self.index, "@one"), both)
            self.assertEqual(self.warpmer(*command, "@-", stdin=f"{self.index}\nother.wmi\n".encode()), both)
            self.refused(USAGE, "would replace it", *command, "-o", "copy", "@copies")
            self.refused(USAGE, "would replace it", *command, "-o", "copies", "@copies")
        self.warpmer("stats", "--multiqc", "x_mqc.json", "@list")
        self.assertEqual(list(json.loads((self.folder / "x_mqc.json").read_text())["data"]), ["out", "other"])
        self.file("missing", "no.wmi\n")
        self.refused(INPUT, r"no\.wmi: cannot be opened: .* \(line 1 of missing\)", "info", "@missing")
        self.file("nothing", "")
        self.refused(USAGE, "lists of files are empty", "stats", "@nothing")
        self.refused(USAGE, "is for one index", "histo", "--format", "kat", "@list")

    def test_lists_that_name_standard_input(self):
        """It is an index for all of them, unless reads are there, too, or -k."""
        self.file("list", "-\n")
        index = (self.folder / self.index).read_bytes()
        for command in ("histo", "stats", "info"):
            self.assertEqual(self.warpmer(command, "@list", stdin=index), self.warpmer(command, "-", stdin=index))
        reads = (self.folder / "deep.fa").read_bytes()
        self.assertEqual(self.warpmer("histo", "-k", 31, "@list", stdin=reads), self.warpmer("histo", "-k", 31, "deep.fa"))
        self.refused(INPUT, "should these be reads, give -k, too", "histo", "@list", stdin=reads)
        self.file("both", "-\ndeep.fa\n")
        self.assertEqual(self.warpmer("histo", "@both", stdin=b""), self.warpmer("histo", "deep.fa"))

    def test_lists_of_reads(self):
        """What a list names says whether these are indexes."""
        self.file("@reads", "deep.fa\n")
        shutil.copy(self.folder / "deep.fa", self.folder / "@x.fa")
        self.file("reads", "deep.fa\n@x.fa\n")
        self.assertEqual(self.warpmer("histo", "@reads"), self.warpmer("histo", "-k", 31, "deep.fa", "./@x.fa"))
        self.assertEqual(self.warpmer("histo", "@./@reads", "-t", 1), self.warpmer("histo", "-k", 31, "deep.fa"))
        self.file("mixed", f"deep.fa\n{self.index}\n")
        self.refused(USAGE, "out.wmi is an index; reads are counted without one", "histo", "@mixed")
        self.file("one", self.index)
        self.refused(USAGE, "out.wmi is an index, which has its histogram; (-t|--threads) is for reads", "histo", "-t", 1, "@one")

    def test_refusals(self):
        self.refused(USAGE, "--format must be", "histo", "--format", "meryl", self.index)
        self.refused(USAGE, "--dense is for", "histo", "--format", "kat", "--dense", self.index)


if __name__ == "__main__":
    main()
