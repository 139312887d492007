#!/usr/bin/env python3
"""`filter`: reads kept, trimmed and masked as a naive filter in Python does it, and as kmc_tools; pairs, order, BAM.

ctest: long
"""

import gzip
import itertools
import json
import random
import shutil
import struct
import subprocess
import zlib

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, fasta, file_size_limit, kmers_of, main, naive_count, reverse_complement
from common_tier import FULL, by_tier, one_thread, some

K = 21


class Read:
    def __init__(self, name, bases, quality, comment=""):
        self.name, self.bases, self.quality, self.comment = name, bases, quality, comment

    @property
    def header(self):
        return self.name + (" " + self.comment if self.comment else "")

    def fastq(self):
        return f"@{self.header}\n{self.bases}\n+\n{self.quality}\n"

    def fasta(self):
        return f">{self.header}\n{self.bases}\n"


def text_of(reads, form=Read.fastq):
    return "".join(map(form, reads))


def make_reads(source, genome, number, mate=""):
    """Of both strands, with errors and Ns, some too short, some from elsewhere."""
    reads = []
    for i in range(number):
        length = source.choice((0, 10, K - 1, K, 30, 80, 100, 150))
        at = source.randrange(len(genome) - length)
        bases = genome[at : at + length]
        if source.random() < 0.5:
            bases = reverse_complement(bases)
        if source.random() < 0.2:
            bases = "".join(source.choice("ACGT") for _ in bases)
        rate = source.choice((0, 0.01, 0.05))
        bases = "".join(source.choice("ACGTN") if source.random() < rate else base for base in bases)
        if source.random() < 0.1:
            bases = bases.lower()
        quality = "".join(chr(33 + source.choice((2, 20, 30, 37, 40, 40, 40, 40))) for _ in bases)
        reads.append(Read(f"read{i}{mate}", bases, quality, source.choice(("", "1:N:0:ACGT", "a\tb  c"))))
    return reads


class Oracle:
    """Thresholds, trimming and masking, position by position."""

    def __init__(self, counts, min_kmers=None, max_kmers=None, min_fraction=0, max_fraction=1, min_count=1, max_count=None):
        self.counts = {name: n for kmer, n in counts.items() for name in (kmer, reverse_complement(kmer))}
        self.at_least = 1 if min_kmers is None and max_kmers is None and (min_fraction, max_fraction) == (0, 1) else min_kmers or 0
        self.at_most, self.fractions = max_kmers, (min_fraction, max_fraction)
        self.found_counts = range(min_count, 10**9 if max_count is None else max_count + 1)

    def found(self, bases, quality="", lowest=0):
        broken = "".join("N" if q and ord(q) - 33 < lowest else b for b, q in itertools.zip_longest(bases, quality, fillvalue=""))
        return [None if kmer is None else self.counts.get(kmer, 0) in self.found_counts for kmer in kmers_of(broken, K)]

    def passes(self, found):
        number, kmers = found.count(True), len(found) - found.count(None)
        low, high = self.fractions
        if self.at_most is not None and number > self.at_most:
            return False
        return number >= self.at_least and low <= (number / kmers if kmers else 0) <= high

    @staticmethod
    def covered(found, length):
        return [any(found[i] for i in range(max(0, base - K + 1), min(base + 1, len(found)))) for base in range(length)]

    def edited(self, read, trim, mask):
        covered = self.covered(self.found(read.bases), len(read.bases))
        first, last = 0, len(covered)
        if trim:
            first, last = (covered.index(True), len(covered) - covered[::-1].index(True)) if any(covered) else (0, 0)
        bases = "".join(b if c or not mask else "N" for b, c in zip(read.bases, covered))
        return Read(read.name, bases[first:last], read.quality[first:last], read.comment)


def flags_of(rule):
    return [text for name, value in rule.items() for text in ("--" + name.replace("_", "-"), value)]


RULES = (
    {},
    {"min_kmers": 5},
    {"min_fraction": 0.5, "min_count": 2},
    {"max_kmers": 0},
    {"min_kmers": 1, "max_kmers": 40, "max_fraction": 0.9},
    {"min_kmers": 10, "min_count": 2, "max_count": 3},
    {"min_fraction": 1},
)


class FilterTest(CliTest):
    def setUp(self):
        super().setUp()
        self.source = random.Random(11)
        unit = "".join(self.source.choice("ACGT") for _ in range(3000))
        self.genome = unit + unit[500:1500] + unit[800:1200] + "".join(self.source.choice("ACGT") for _ in range(2000))
        self.file("genome.fa", fasta([("g", self.genome)]))
        self.counts = naive_count([self.genome], K)
        self.index = self.count("genome.fa", k=K, output="g.wmi")

    def filter(self, *arguments, **options):
        """Over its earlier outputs, too."""
        return self.warpmer("filter", self.index, "--force", *arguments, **options)

    def read(self, name):
        path = self.folder / name
        return (gzip.decompress(path.read_bytes()) if path.name.endswith("gz") else path.read_bytes()).decode()


class Single(FilterTest):
    def test_rules(self):
        reads = make_reads(self.source, self.genome, 600)
        self.file("reads.fq", text_of(reads))
        for rule in some(RULES, 2):
            oracle = Oracle(self.counts, **rule)
            passed = [oracle.passes(oracle.found(read.bases)) for read in reads]
            self.assertTrue(0 < sum(passed) < len(reads))
            for invert in (False, True):
                with self.subTest(rule, invert=invert):
                    expected = text_of(read for read, passes in zip(reads, passed) if passes != invert)
                    self.assertEqual(self.filter(*flags_of(rule), *["-v"][: int(invert)], "reads.fq"), expected)

    @one_thread
    def test_low_quality_breaks_kmers_and_stays(self):
        reads = make_reads(self.source, self.genome, 300)
        self.file("reads.fq", text_of(reads))
        oracle = Oracle(self.counts, min_kmers=10)
        kept = [read for read in reads if oracle.passes(oracle.found(read.bases, read.quality, 20))]
        self.assertNotEqual(len(kept), len([read for read in reads if oracle.passes(oracle.found(read.bases))]))
        self.assertEqual(self.filter("--min-base-quality", 20, "--min-kmers", 10, "reads.fq"), text_of(kept))

    @one_thread
    def test_forms_of_input(self):
        reads = make_reads(self.source, self.genome, 200)
        oracle = Oracle(self.counts)
        kept = [read for read in reads if oracle.passes(oracle.found(read.bases))]
        fastq, plain_fasta = text_of(kept), text_of(kept, Read.fasta)
        half = [lambda text: text[: len(text) // 2], lambda text: text[len(text) // 2 :]]
        several_lines = "".join(
            f"@{r.header}\n{half[0](r.bases)}\n{half[1](r.bases)}\n+{r.name}\n{half[0](r.quality)}\n{half[1](r.quality)}\n"
            for r in reads
            if r.bases
        )
        kept_with_bases = text_of(r for r in kept if r.bases)
        wrapped = "".join(f">{r.header}\n" + "".join(r.bases[i : i + 60] + "\n" for i in range(0, len(r.bases), 60)) for r in reads)
        inputs = {
            "plain.fq": (text_of(reads).encode(), fastq),
            "gzip.fq": (gzip.compress(text_of(reads).encode()), fastq),
            "returns.fq": (text_of(reads).replace("\n", "\r\n").encode(), fastq),
            "lines.fq": (several_lines.encode(), kept_with_bases),
            "wrapped.fa": (wrapped.encode(), plain_fasta),
            "no_end.fa": (wrapped.rstrip("\n").encode(), plain_fasta),
        }
        for name, (content, expected) in inputs.items():
            with self.subTest(name):
                self.file(name, content)
                self.assertEqual(self.filter(name), expected)
        self.assertEqual(self.filter("-", stdin=inputs["gzip.fq"][0]), fastq)
        self.file("list", "plain.fq\nwrapped.fa\n")
        self.assertEqual(self.filter("@list", "gzip.fq"), fastq + plain_fasta + fastq)

    @one_thread
    def test_outputs(self):
        reads = make_reads(self.source, self.genome, 1000)
        self.file("reads.fq", text_of(reads))
        expected = self.filter("reads.fq")
        for options in (["-o", "out.fq"], ["-o", "out.fq.gz"], ["-o", "out.fq.gz", "-l", 0, "-t", 3], ["--bgzf", "-o", "out.gz"]):
            with self.subTest(options):
                self.assertEqual(self.filter(*options, "reads.fq"), "")
                self.assertEqual(self.read(options[options.index("-o") + 1]), expected)
        self.assertEqual((self.folder / "out.gz").read_bytes()[:4], b"\x1f\x8b\x08\x04")
        process = self.run_process("filter", self.index, "--bgzf", "reads.fq")
        self.assertEqual(gzip.decompress(process.stdout).decode(), expected)
        names = "".join(line[1:].split()[0] + "\n" for line in expected.splitlines()[::4])
        self.assertEqual(self.filter("--names-only", "reads.fq"), names)
        self.filter("--max-kmers", 0, "--stats", "stats.json", "-o", "out.fq", "--min-count", 1000, "reads.fq")
        stats = json.loads(self.read("stats.json"))
        self.assertEqual((stats["reads"], stats["reads_kept"]), (1000, 1000))
        self.assertEqual(stats["bases"], sum(len(read.bases) for read in reads))
        # Nothing kept is an output, too.
        self.filter("--min-kmers", 10000, "-o", "out.fq.gz", "reads.fq")
        self.assertEqual(self.read("out.fq.gz"), "")

    def test_many_batches_and_long_sequences_stay_in_order(self):
        reads = [Read(f"r{i}", self.genome[i % 5000 :][: 50 + i % 70], "I" * (50 + i % 70)) for i in range(by_tier(60000, 25000))]
        for i in range(0, len(reads), 7):
            reads[i].bases = "ACGT" * (len(reads[i].bases) // 4)
            reads[i].quality = "#" * len(reads[i].bases)
        # A chromosome of several batches is judged as a whole.
        chromosome = "".join(self.source.choice("ACGT") for _ in range(5000)) * 1100 + self.genome
        self.file("reads.fq", text_of(reads))
        self.file("long.fa", f">none x\n{'A' * 6000000}\n>long y\n{chromosome}\n>last\n{self.genome[:99]}\n")
        kept = text_of(read for i, read in enumerate(reads) if i % 7)
        kept += f">long y\n{chromosome}\n>last\n{self.genome[:99]}\n"
        for threads in some((3, 1)):
            self.filter("-t", threads, "-o", "out", "reads.fq", "long.fa")
            self.assertTrue(self.read("out") == kept)  # a diff would take minutes

    def test_kmc_tools(self):
        if not (FULL and shutil.which("kmc") and shutil.which("kmc_tools")):
            self.skipTest("no kmc, or a sample of the tests")
        # Its fractions are rounded down, and of all positions: reads of one length without N have the same.
        reads = [read for read in make_reads(self.source, self.genome, 3000) if len(read.bases) in (80, 100)]
        reads = [Read(r.name, r.bases, r.quality) for r in reads if "N" not in r.bases.upper()]
        self.file("reads.fq", text_of(reads))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder, "check": True}
        subprocess.run(["kmc", f"-k{K}", "-ci1", "-fm", "-t2", "-m2", "-r", "genome.fa", "kmc", "."], **quiet)
        for on_index, on_reads, flags in (
            ([], ["-ci1"], []),
            (["-ci2"], ["-ci8"], ["--min-count", 2, "--min-kmers", 8]),
            (["-ci2", "-cx2"], ["-ci1", "-cx20"], ["--min-count", 2, "--max-count", 2, "--min-kmers", 1, "--max-kmers", 20]),
            ([], ["-ci0.5", "-cx0.95"], ["--min-fraction", 0.5, "--max-fraction", 0.95]),
        ):
            with self.subTest(flags):
                subprocess.run(["kmc_tools", "-t2", "filter", "kmc", *on_index, "reads.fq", *on_reads, "kmc.fq"], **quiet)
                self.assertIn("@", self.read("kmc.fq"))
                self.assertEqual(self.filter(*flags, "reads.fq"), self.read("kmc.fq"))


class Edits(FilterTest):
    def test_trim_and_mask(self):
        reads = make_reads(self.source, self.genome, 600)
        self.file("reads.fq", text_of(reads))
        self.file("reads.fa", text_of(reads, Read.fasta))
        edits = ((True, False, 1), (False, True, 0), (True, True, 40))
        for rule, (trim, mask, least) in some(itertools.product(({}, RULES[2]), edits), 2):
            oracle = Oracle(self.counts, **rule)
            kept = [oracle.edited(read, trim, mask) for read in reads if oracle.passes(oracle.found(read.bases))]
            kept = [read for read in kept if len(read.bases) >= least]
            flags = flags_of(rule) + ["--trim"] * trim + ["--mask"] * mask + (["--min-length", least] if trim else [])
            with self.subTest(flags):
                self.assertNotEqual(text_of(kept), self.filter(*flags_of(rule), "reads.fq"))
                self.assertEqual(self.filter(*flags, "reads.fq"), text_of(kept))
                self.assertEqual(self.filter(*flags, "reads.fa"), text_of(kept, Read.fasta))

    @one_thread
    def test_a_mate_of_which_nothing_is_left(self):
        whole, none = Read("a/1", self.genome[:50], "I" * 50, "x"), Read("a/2", "ACGT" * 10, "I" * 40)
        self.file("reads.fq", text_of([whole, none]))
        expected = text_of([whole, Read("a/2", "N", "!")])
        self.assertEqual(self.filter("--interleaved", "--trim", "reads.fq"), expected)
        self.assertEqual(self.filter("--interleaved", "--trim", "--pairs", "both", "reads.fq"), "")


class Pairs(FilterTest):
    def setUp(self):
        super().setUp()
        self.mates = [make_reads(self.source, self.genome, 400, mate) for mate in ("/1", "/2")]

    def kept(self, rule, both, invert=False):
        oracle = Oracle(self.counts, **rule)
        kept = []
        for pair in zip(*self.mates):
            passed = [oracle.passes(oracle.found(read.bases)) for read in pair]
            if (all(passed) if both else any(passed)) != invert:
                kept.append(pair)
        return kept

    def test_pairs(self):
        self.file("1.fq", text_of(self.mates[0]))
        self.file("2.fa.gz", gzip.compress(text_of(self.mates[1], Read.fasta).encode()))
        forms = (Read.fastq, Read.fasta)
        self.file("both.fx", "".join(form(read) for pair in zip(*self.mates) for form, read in zip(forms, pair)))
        for rule in some(({"min_kmers": 5}, {"max_fraction": 0.5})):
            for both, invert in some(itertools.product((False, True), (False, True)), 2):
                flags = flags_of(rule) + ["--pairs", "both" if both else "any"] + ["-v"] * invert
                kept = self.kept(rule, both, invert)
                together = "".join(form(read) for pair in kept for form, read in zip(forms, pair))
                apart = [text_of((pair[i] for pair in kept), forms[i]) for i in (0, 1)]
                with self.subTest(flags):
                    self.assertEqual(self.filter(*flags, "--interleaved", "both.fx"), together)
                    self.assertEqual(self.filter(*flags, "-1", "1.fq", "-2", "2.fa.gz"), together)
                    for reads in (["-1", "1.fq", "-2", "2.fa.gz"], ["--interleaved", "both.fx"]):
                        self.filter(*flags, *reads, "--out1", "o1.fq", "--out2", "o2.fa.gz")
                        self.assertEqual([self.read("o1.fq"), self.read("o2.fa.gz")], apart)

    def test_mates_of_unlike_length_in_many_batches(self):
        # Second mates fill batches several times as fast as first ones.
        number = by_tier(60000, 20000)
        long_mate = "ACGT" * 120
        short = [Read(f"p{i}", self.genome[i % 4000 :][:40], "I" * 40, "1") for i in range(number)]
        self.file("2.fq", "".join(f"@p{i} 2\n{long_mate}\n+\n{'I' * 480}\n" for i in range(number)))
        for i in range(0, number, 3):
            short[i] = None
        other = f"{'AC' * 20}\n+\n{'I' * 40}\n"
        self.file("1.fq", "".join(f"@p{i} 1\n{other}" if read is None else read.fastq() for i, read in enumerate(short)))
        expected = text_of(read for read in short if read), "".join(
            f"@p{i} 2\n{long_mate}\n+\n{'I' * 480}\n" for i in range(number) if i % 3
        )
        for threads in some((3, 1)):
            self.filter("-t", threads, "-1", "1.fq", "-2", "2.fq", "--out1", "o1", "--out2", "o2")
            self.assertTrue((self.read("o1"), self.read("o2")) == expected)

    @one_thread
    def test_several_files(self):
        self.file("1a.fq", text_of(self.mates[0][:150]))
        self.file("1b.fq", text_of(self.mates[0][150:]))
        self.file("2a.fq", text_of(self.mates[1][:250]))
        self.file("2b.fq", text_of(self.mates[1][250:]))
        expected = text_of(read for pair in self.kept({}, False) for read in pair)
        self.assertEqual(self.filter("-1", "1a.fq", "1b.fq", "-2", "2a.fq", "2b.fq"), expected)

    @one_thread
    def test_mates_that_do_not_fit(self):
        self.file("1.fq", text_of(self.mates[0]))
        self.file("2.fq", text_of(self.mates[1]))
        self.file("short.fq", text_of(self.mates[1][:-1]))
        self.file("gap.fq", text_of(self.mates[1][:7] + self.mates[1][8:]))
        both = [read for pair in zip(*self.mates) for read in pair]
        self.file("odd.fq", text_of(both[:-1]))
        self.file("gap_between.fq", text_of(both[:5] + both[6:]))
        paired = ("filter", self.index, "-o", "out", "-1", "1.fq", "-2")
        self.refused(INPUT, r"1\.fq, record 400 \('read399/1'\): this read has no mate: short\.fq has fewer", *paired, "short.fq")
        other = r"1\.fq, record 8 \('read7/1'\): its mate should be record 8 of gap\.fq, but that is 'read8/2'"
        self.refused(INPUT, other, *paired, "gap.fq")
        reverse = ("filter", self.index, "-o", "out", "-2", "1.fq", "-1", "short.fq")
        self.refused(INPUT, r"short\.fq, record 1 \('read0/2'\): its mate", *reverse)
        together = ("filter", self.index, "--interleaved", "--out1", "o1", "--out2", "o2")
        self.refused(INPUT, r"odd\.fq, record 799 \('read399/1'\): this last read has no mate", *together, "odd.fq")
        self.refused(INPUT, r"gap_between\.fq, record 5 .* record 6 is 'read3/1'", *together, "gap_between.fq")
        self.refused(INPUT, r"odd\.fq, record 799 .* no mate", *together, "odd.fq", "2.fq")


class Alignments(FilterTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("samtools"):
            self.skipTest("no samtools")

    def samtools(self, *arguments, stdin=None):
        process = subprocess.run(["samtools", *arguments], input=stdin, capture_output=True, cwd=self.folder, check=True)
        return process.stdout.decode()

    def make_bam(self, name, lines, header="@HD\tVN:1.6\tSO:unknown\n", form="-b"):
        self.samtools("view", "--no-PG", form, "-o", name, "-", stdin=(header + "".join(line + "\n" for line in lines)).encode())

    @staticmethod
    def line(read, flag, tags="RG:Z:a", reverse=False):
        bases, quality = (reverse_complement(read.bases), read.quality[::-1]) if reverse else (read.bases, read.quality)
        return "\t".join([read.name, str(flag), "*\t0\t0\t*\t*\t0\t0", bases or "*", quality or "*", tags])

    def unaligned(self, number):
        """Reads, a few with their sequence stored turned around, and their lines."""
        reads = [Read(r.name, r.bases.upper(), r.quality) for r in make_reads(self.source, self.genome, number)]
        return reads, [self.line(read, 20 if i % 5 == 0 else 4, reverse=i % 5 == 0) for i, read in enumerate(reads)]

    def test_reads_that_are_not_aligned(self):
        reads, lines = self.unaligned(400)
        self.make_bam("in.bam", lines)
        for rule, trim, mask in (({}, False, False), ({"min_fraction": 0.3}, True, True), ({"max_kmers": 9}, False, True)):
            oracle = Oracle(self.counts, **rule)
            kept = [(i, oracle.edited(r, trim, mask)) for i, r in enumerate(reads) if oracle.passes(oracle.found(r.bases))]
            kept = [(i, read) for i, read in kept if read.bases or not trim]
            expected = [self.line(read, 20 if i % 5 == 0 else 4, reverse=i % 5 == 0) for i, read in kept]
            with self.subTest(rule):
                flags = flags_of(rule) + ["--trim"] * trim + ["--mask"] * mask
                self.filter(*flags, "-o", "out.bam", "in.bam")
                self.assertEqual(self.samtools("view", "out.bam").splitlines(), expected)
                self.samtools("quickcheck", "-u", "out.bam")
                self.assertIn("\tPN:warpmer\t", self.samtools("view", "-H", "out.bam"))
        oracle = Oracle(self.counts)
        names = [read.name for read in reads if oracle.passes(oracle.found(read.bases))]
        self.assertEqual(self.filter("--names-only", "in.bam").splitlines(), names)

    @one_thread
    def test_pairs_and_low_quality(self):
        reads, lines = self.unaligned(300)
        for i in range(1, 300, 2):
            lines[i] = lines[i].replace(reads[i].name, reads[i - 1].name, 1)
        self.make_bam("in.bam", lines)
        oracle = Oracle(self.counts, min_kmers=3)
        passed = [oracle.passes(oracle.found(read.bases, read.quality, 20)) for read in reads]
        expected = [line for i, line in enumerate(lines) if passed[i] and passed[i ^ 1]]
        flags = ["--interleaved", "--pairs", "both", "--min-kmers", 3, "--min-base-quality", 20]
        self.filter(*flags, "-o", "out.bam", "in.bam")
        self.assertTrue(0 < len(expected) < 300)
        self.assertEqual(self.samtools("view", "out.bam").splitlines(), expected)
        self.make_bam("alone.bam", lines[1:])
        self.refused(INPUT, "alone.bam, record 1 .*samtools collate", "filter", self.index, "--interleaved", "alone.bam")
        self.refused(INPUT, "in.bam: alignments have both", "filter", self.index, "-1", "in.bam", "-2", "alone.bam")
        self.refused(USAGE, "one file", "filter", self.index, "--interleaved", "in.bam", "--out1", "a", "--out2", "b")

    @one_thread
    def test_alignments_and_their_tags(self):
        genome = self.genome
        header = f"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:g\tLN:{len(genome)}\n@PG\tID:x\tPN:x\n"
        row = "r{0}\t{1}\tg\t{2}\t60\t{3}\t=\t{2}\t50\t{4}\t{5}\tNM:i:0\tXB:B:s,1,-2,3\tXZ:Z:text\tXF:f:1.5\tXA:A:c"
        long_cigar = "1M1I" * 40000
        places = ((0, 0, 10), (1, 16, 50), (2, 256, 50))
        lines = [row.format(i, flag, at + 1, "60M", genome[at : at + 60], "I" * 60) for i, flag, at in places]
        lines += [row.format(3, 0, 101, long_cigar, "AC" * 40000, "*"), row.format(4, 0, 200, "60M", "A" * 60, "*")]
        lines += [row.format(5, 2048, 300, "60M", genome[299:359], "*"), row.format(6, 0, 400, "60M", genome[399:459], "*")]
        self.file("one.fa", fasta([("g", genome), ("c", "AC" * 30)]))
        self.samtools("faidx", "one.fa")
        self.index = self.count("one.fa", k=K, output="one.wmi")
        for name, form in (("in.bam", "-b"), ("in.sam", "-h"), ("in.cram", "-CT" + "one.fa")):
            self.make_bam(name, [line for line in lines if name != "in.cram" or long_cigar not in line], header, form)
            with self.subTest(name):
                self.filter("--reference", "one.fa", "-o", "out.bam", name)
                primary = self.samtools("view", "-F", "0x900", name).splitlines()
                kept = [line for line in primary if not line.startswith("r4\t")]
                self.assertEqual(len(kept), 3 if name == "in.cram" else 4)
                self.assertEqual(self.samtools("view", "out.bam").splitlines(), kept)
                self.samtools("index", "out.bam")
        whole = self.run_process("filter", self.index, "in.bam", "-t", 3)
        self.assertEqual(self.samtools("view", "-", stdin=whole.stdout).splitlines(), [lines[i] for i in (0, 1, 3, 6)])
        self.refused(INPUT, r"in\.bam, record 1 \('r0'\): the read is aligned", "filter", self.index, "--mask", "in.bam")

    @one_thread
    def test_tags_of_each_base_go_where_bases_change(self):
        read = Read("m", "A" * 9 + self.genome[:40], "I" * 49)
        kept, gone = "RG:Z:a\tXB:B:c,1,2", "MM:Z:C+m,0;\tML:B:C,9\tOQ:Z:" + "I" * 49
        self.make_bam("in.bam", [self.line(read, 4, kept + "\t" + gone)])
        self.filter("--trim", "-o", "out.bam", "in.bam")
        self.assertEqual(self.samtools("view", "out.bam"), self.line(Read("m", self.genome[:40], "I" * 40), 4, kept) + "\n")
        self.filter("-o", "out.bam", "in.bam")
        self.assertEqual(self.samtools("view", "out.bam"), self.line(read, 4, kept + "\t" + gone) + "\n")

    @one_thread
    def test_kinetics_and_moves_of_trimmed_reads(self):
        """As the bases that remain: of a read as sequenced, and of one whose record has it turned around."""
        cut = lambda values, first: ",".join(map(str, values[first : first + 40]))
        values = [list(range(i, i + 52)) for i in range(6)]
        tail = ("C" if self.genome[40] == "A" else "A") * 3
        read = Read("m", "A" * 9 + self.genome[:40] + tail, "I" * 52)
        names = ("fi", "fp", "ip", "pw", "ri", "rp")
        tags = [f"{name}:B:C," + ",".join(map(str, row)) for name, row in zip(names, values)]
        kept = [f"{name}:B:C," + cut(row, 3 if name[0] == "r" else 9) for name, row in zip(names, values)]
        gone = ["mv:B:c,5," + ",".join("10" * 60), "dq:Z:" + "d" * 52, "XI:B:i," + ",".join(["7"] * 52)]
        stay = ["RG:Z:a", "RX:Z:" + "ACGT" * 13, "zn:B:f,1,2,3,4"]
        left = Read("m", self.genome[:40], "I" * 40)
        for flag in (4, 20):
            line = lambda read, tags: self.line(read, flag, "\t".join(tags), reverse=flag == 20)
            self.make_bam("in.bam", [line(read, stay + tags + gone)])
            self.filter("--trim", "-o", "out.bam", "in.bam")
            self.assertEqual(self.samtools("view", "out.bam"), line(left, stay + kept) + "\n")
            self.filter("--mask", "-o", "out.bam", "in.bam")
            masked = Read("m", "N" * 9 + self.genome[:40] + "N" * 3, "I" * 52)
            self.assertEqual(self.samtools("view", "out.bam"), line(masked, stay + tags + gone) + "\n")

    @one_thread
    def test_tags_in_headers_of_fastq(self):
        quality = "I" * 49
        tags = "\tRG:Z:a\tMM:Z:C+m,0;\tML:B:C,9\tfi:B:C," + ",".join(["7"] * 49)
        self.file("tags.fq", f"@m{tags}\n{'A' * 9 + self.genome[:40]}\n+\n{quality}\n")
        self.assertEqual(self.filter("tags.fq"), self.read("tags.fq"))
        self.assertEqual(self.filter("--trim", "tags.fq"), f"@m\tRG:Z:a\n{self.genome[:40]}\n+\n{quality[9:]}\n")

    @one_thread
    def test_files_that_do_not_go_together(self):
        reads, lines = self.unaligned(20)
        self.make_bam("in.bam", lines)
        self.make_bam("other.bam", lines, "@HD\tVN:1.6\n@CO\tother\n")
        self.make_bam("none.bam", [])
        self.file("reads.fq", text_of(reads))
        self.filter("-q", "-o", "out.bam", "none.bam")
        self.assertIn("\tPN:warpmer\t", self.samtools("view", "-h", "out.bam"))
        self.filter("-q", "-o", "out.bam", "in.bam", "none.bam", "in.bam")
        self.assertEqual(len(self.samtools("view", "out.bam").splitlines()) % 2, 0)
        self.refused(INPUT, "different headers", "filter", self.index, "-o", "new.bam", "in.bam", "other.bam")
        self.refused(INPUT, "one by one", "filter", self.index, "-o", "new.bam", "in.bam", "reads.fq")
        self.refused(INPUT, "one by one", "filter", self.index, "-o", "new.fq", "reads.fq", "in.bam")
        self.refused(USAGE, "'new.fq.gz' says otherwise", "filter", self.index, "-o", "new.fq.gz", "in.bam")
        self.refused(USAGE, "'new.bam' says otherwise", "filter", self.index, "-o", "new.bam", "reads.fq")


class Refusals(FilterTest):
    @one_thread
    def test_command_lines(self):
        self.file("r.fq", "@r\nACGT\n+\nIIII\n")
        for pattern, *arguments in (
            ("no reads given",),
            ("-1 and -2 go together", "-1", "r.fq"),
            ("all the reads", "r.fq", "-1", "r.fq", "-2", "r.fq"),
            ("all the reads", "--interleaved", "-1", "r.fq", "-2", "r.fq"),
            ("the same files", "-1", "r.fq", "-2", "r.fq"),
            ("-1 names 1 file, and -2 names 2 files: each file", "-1", "r.fq", "-2", "r2.fq", "r.fq"),
            ("go together", "--interleaved", "r.fq", "--out1", "x"),
            ("exclude", "--interleaved", "r.fq", "--out1", "x", "--out2", "y", "-o", "z"),
            ("need pairs", "r.fq", "--out1", "x", "--out2", "y"),
            ("cannot be the same", "--interleaved", "r.fq", "--out1", "x", "--out2", "x"),
            ("--out1 and --out2 cannot be the same", "--interleaved", "r.fq", "--out1", "x", "--out2", "./x"),
            ("-o and --stats cannot be the same", "r.fq", "-o", "x", "--stats", self.folder / "x"),
            ("would replace it", "r.fq", "-o", "r.fq"),
            ("would replace it", "r.fq", "--stats", "g.wmi"),
            ("any or both", "--pairs", "one", "r.fq"),
            ("--min-fraction must be", "--min-fraction", "1.5", "r.fq"),
            ("--max-fraction must be", "--max-fraction", "half", "r.fq"),
            ("no read would pass", "--min-kmers", "5", "--max-kmers", "4", "r.fq"),
            ("no read would pass", "--min-fraction", "0.5", "--max-fraction", "0.4", "r.fq"),
            ("nothing would be kept", "--min-count", "5", "--max-count", "4", "r.fq"),
            ("--min-length needs --trim", "--min-length", "5", "r.fq"),
            ("--pairs needs pairs", "--pairs", "both", "r.fq"),
            ("--compress-level needs an output that is compressed", "-l", "1", "r.fq", "-o", "x.fq"),
            ("--compress-level needs an output that is compressed", "-l", "1", "--names-only", DATA / "aligned.bam"),
            ("--invert", "-v", "--mask", "r.fq"),
            ("-l must be", "-l", "10", "r.fq"),
        ):
            with self.subTest(arguments):
                self.refused(USAGE, pattern, "filter", self.index, *arguments)

    def test_a_level_for_nothing_is_refused_before_any_work(self):
        for arguments in (("-o", "x.fq"), ("-o", "x.fa"), ("--names-only",)):
            self.refused(USAGE, "--compress-level needs an output that is compressed", "filter", "none.wmi", "-l", 1, "none.fq", *arguments)

    @one_thread
    def test_a_damaged_header(self):
        text = b"@RG\tSM:no_name\n"
        content = b"BAM\1" + len(text).to_bytes(4, "little") + text + bytes(4)
        stored = b"\1" + struct.pack("<2H", len(content), len(content) ^ 0xFFFF) + content
        block = bytes.fromhex("1f8b08040000000000ff060042430200") + struct.pack("<H", len(stored) + 25) + stored
        block += struct.pack("<2I", zlib.crc32(content), len(content))
        self.file("bad.bam", block + bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000"))
        self.refused(INPUT, "lines of its header are damaged", "filter", self.index, "-o", "x.bam", "bad.bam")

    def test_all_outputs_or_none(self):
        self.file("r.fa", f">r\n{self.genome[:30]}\n>r\n{self.genome[:2000]}\n")
        before = self.files()
        little = {"preexec_fn": file_size_limit}
        process = self.run_process("filter", self.index, "--interleaved", "r.fa", "--out1", "a", "--out2", "b", **little)
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertEqual(self.files(), before)

    @one_thread
    def test_inputs(self):
        self.file("r.fq", "@r\nACGT\n+\nIIII\n")
        for name in ("bad_character.fq", "bad_truncated.fq.gz"):
            self.refused(INPUT, name.split(".")[0], "filter", self.index, "-o", "out.fq", "r.fq", DATA / name)
        self.refused(INPUT, "r.fq", "filter", "r.fq", "-o", "out.fq", "r.fq")
        self.refused(INPUT, "no_such.fq", "filter", self.index, "no_such.fq")
        self.refused(USAGE, "named twice", "filter", "-", "-")
        self.refused(USAGE, "named twice", "filter", self.index, "-1", "-", "r.fq", "-2", "-", "r2.fq")
        self.assertEqual(self.filter("--max-kmers", 0, "--lenient", DATA / "bad_character.fq")[:1], "@")


if __name__ == "__main__":
    main()
