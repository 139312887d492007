#!/usr/bin/env python3
"""`qv` and the tracks of `query` against plain Python, and bedtools where it is there."""

import json
import math
import random
import shutil
import subprocess

from common_cli import DATA, INPUT, USAGE, CliTest, canonical, fasta, kmers_of, main, naive_count, random_bases, read_sequences
from common_merqury import number
from common_tier import one_thread, some

QV_HEADER = "assembly\tkmers\tmissing\tqv\terror_rate\tsolid_count\tsolid_kmers\tsolid_found\tcompleteness\n"
SEQUENCE_HEADER = "assembly\tsequence\tkmers\tmissing\tqv\terror_rate\n"


def canonical_kmers(sequence, k):
    return [canonical(kmer) for kmer in kmers_of(sequence, k) if kmer]


def rate(kmers, missing, k):
    return 1 - (1 - missing / kmers) ** (1 / k)


def quality(kmers, missing, k):
    """The four columns of sums."""
    if kmers == 0:
        return "0\t0\tNA\tNA"
    error = rate(kmers, missing, k)
    value = -10 * math.log10(error) if error > 0 else math.inf
    return f"{kmers}\t{missing}\t{number(value + 0.0)}\t{number(error)}"


class QualityValue(CliTest):
    def expected(self, reads, assemblies, k, solid):
        """The two tables, of lists of (name, sequence)."""
        counts = naive_count([sequence for _, sequence in reads], k)
        solid_kmers = {kmer for kmer, count in counts.items() if count >= solid}
        rows, sequences, total, met_by_any = [], [SEQUENCE_HEADER], [0, 0], set()

        def row(name, kmers, missing, met):
            completeness = f"{100 * len(met) / len(solid_kmers):.6g}" if solid_kmers else "NA"
            rows.append(f"{name}\t{quality(kmers, missing, k)}\t{solid}\t{len(solid_kmers)}\t{len(met)}\t{completeness}\n")

        for file, records in assemblies:
            of_file, met = [0, 0], set()
            for name, sequence in records:
                kmers = canonical_kmers(sequence, k)
                missing = sum(kmer not in counts for kmer in kmers)
                sequences.append(f"{file}\t{name}\t{quality(len(kmers), missing, k)}\n")
                of_file = [of_file[0] + len(kmers), of_file[1] + missing]
                met |= solid_kmers.intersection(kmers)
            row(file, *of_file, met)
            total = [total[0] + of_file[0], total[1] + of_file[1]]
            met_by_any |= met
        if len(assemblies) > 1:
            row("all", *total, met_by_any)
        return QV_HEADER + "".join(rows), "".join(sequences)

    def made_up(self):
        """Reads of a genome, and two assemblies with errors, gaps and repeats."""
        source = random.Random(9)
        genome = random_bases(source, 3000)
        reads = [(f"r{i}", genome[at : at + 100]) for i, at in enumerate(source.choices(range(2900), k=240))]
        wrong = list(genome)
        for at in (200, 777, 1500, 1503):
            wrong[at] = "ACGT"["ACGT".index(wrong[at]) - 1]
        first = [("a", "".join(wrong)[:1000]), ("b", "".join(wrong)[900:1400] + "N" + genome[1400:1700]), ("none", "ACGT"), ("empty", "")]
        second = [("a", genome[1000:2500]), ("again", genome[1000:1300]), ("other", random_bases(source, 60))]
        self.file("reads.fa", fasta(reads))
        self.file("one.fa", fasta(first))
        self.file("two.fa", fasta(second))
        return reads, [("one.fa", first), ("two.fa", second)]

    def test_two_assemblies(self):
        reads, assemblies = self.made_up()
        for k, solid, threads in some(((21, 3, 1), (31, 2, 4), (9, 1, 3), (40, 5, 2), (21, 10**6, 1)), 2):
            with self.subTest(k=k):
                index = self.count("reads.fa", k=k)
                table, sequences = self.expected(reads, assemblies, k, solid)
                options = ["--solid-count", solid, "-t", threads, "--sequences", "sequences.tsv"]
                self.assertEqual(self.warpmer("qv", index, "one.fa", "two.fa", *options), table)
                self.assertEqual((self.folder / "sequences.tsv").read_text(), sequences)
        self.file("list", "one.fa\ntwo.fa\n")
        self.assertEqual(self.warpmer("qv", index, "@list", "--solid-count", solid), table)

    def test_one_assembly(self):
        reads, assemblies = self.made_up()
        index = self.count("reads.fa", k=21)
        table, _ = self.expected(reads, assemblies[:1], 21, 2)
        self.assertEqual(self.warpmer("qv", index, "one.fa", "--solid-count", 2), table)
        text = (self.folder / "one.fa").read_bytes()
        from_pipe = self.warpmer("qv", index, "-", "--solid-count", 2, stdin=text)
        self.assertEqual(from_pipe, table.replace("one.fa", "standard input"))

    @one_thread
    def test_json(self):
        self.made_up()
        index = self.count("reads.fa", k=21)
        arguments = ["qv", index, "one.fa", "reads.fa", "--solid-count", 2]
        report = json.loads(self.warpmer(*arguments, "--json"))
        lines = [line.split("\t") for line in self.warpmer(*arguments).splitlines()[1:]]
        self.assertEqual((report["k"], report["solid_count"]), (21, 2))
        self.assertEqual(report["solid_kmers"], int(lines[0][6]))
        self.assertEqual(len(report["assemblies"]), 3)
        for row, line in zip(report["assemblies"], lines):
            self.assertEqual([row["assembly"], row["kmers"], row["missing"]], [line[0], int(line[1]), int(line[2])])
            self.assertEqual(line[3], "inf" if row["qv"] is None else f"{row['qv']:.6g}")
            self.assertEqual(f"{row['completeness']:.6g}", line[8])
        self.assertIsNone(report["assemblies"][1]["qv"])  # reads have all their own k-mers
        self.assertEqual(report["assemblies"][1]["completeness"], 100)

    @one_thread
    def test_solid_by_itself(self):
        index = self.count(DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz", k=21)
        cutoff = json.loads(self.warpmer("stats", "--json", index))["spectrum"]["error_cutoff"]
        self.assertGreater(cutoff, 1)
        automatic = self.warpmer("qv", index, DATA / "genome.fa")
        self.assertEqual(self.warpmer("qv", index, DATA / "genome.fa", "--solid-count", cutoff + 1), automatic)
        self.assertGreater(float(automatic.splitlines()[1].split("\t")[-1]), 99)

    @one_thread
    def test_no_peak(self):
        genome = self.count(DATA / "genome.fa", k=21)
        process = self.run_process("qv", genome, DATA / "genome.fa")
        self.assertEqual(process.returncode, 0)
        self.assertRegex(process.stderr.decode(), r"\Awarpmer: warning: [^\n]*no clear peak[^\n]*--solid-count\nwarpmer: looked up [^\n]*\n\Z")
        self.assertRegex(process.stdout.decode(), r"\tinf\t0\tNA\tNA\tNA\tNA\n\Z")

    @one_thread
    def test_refusals(self):
        index = self.count(DATA / "genome.fa", k=21)
        forward = self.count(DATA / "genome.fa", k=21, options=["--forward"], output="forward.wmi")
        self.refused(USAGE, "--forward", "qv", forward, DATA / "genome.fa")
        self.refused(USAGE, "--solid-count must be", "qv", index, DATA / "genome.fa", "--solid-count", 0)
        self.refused(USAGE, "cannot be the same", "qv", index, DATA / "genome.fa", "-o", "x", "--sequences", "x")
        self.refused(USAGE, "would replace it", "qv", index, "out.wmi", "-o", "out.wmi")
        self.refused(INPUT, "no_such.fa", "qv", index, "no_such.fa", "--solid-count", 1, "--sequences", "s.tsv")
        self.refused(INPUT, "bad_character", "qv", index, DATA / "bad_character.fq", "--solid-count", 1, "-o", "q.tsv")
        self.refused(INPUT, "not a warpmer index", "qv", DATA / "genome.fa", DATA / "genome.fa")


class Tracks(CliTest):
    def profiles(self, reads, asked, k):
        counts = naive_count([sequence for _, sequence in reads], k)
        return [(name, [kmer and counts[canonical(kmer)] for kmer in kmers_of(sequence, k)]) for name, sequence in asked]

    def bedgraph(self, profiles):
        lines = []
        for name, counts in profiles:
            begin = 0
            for end in range(1, len(counts) + 1):
                if end == len(counts) or counts[end] != counts[begin]:
                    if counts[begin] is not None:
                        lines.append(f"{name}\t{begin}\t{end}\t{counts[begin]}\n")
                    begin = end
        return "".join(lines)

    def bed(self, profiles, k, found):
        lines = []
        for name, counts in profiles:
            covered = [False] * (len(counts) + k)
            for at, count in enumerate(counts):
                if count is not None and found(count):
                    covered[at : at + k] = [True] * k
            begin = None
            for at, is_covered in enumerate(covered):
                if is_covered and begin is None:
                    begin = at
                if not is_covered and begin is not None:
                    lines.append(f"{name}\t{begin}\t{at}\n")
                    begin = None
        return "".join(lines)

    def check(self, reads, asked, k, threads, ranges=((1, None), (0, 0), (2, None), (1, 1))):
        index = self.count(reads, k=k)
        profiles = self.profiles(read_sequences(self.folder / reads), read_sequences(self.folder / asked), k)
        query = ["query", index, "--reads", asked, "-t", threads, "--format"]
        self.assertTrue(self.warpmer(*query, "bedgraph") == self.bedgraph(profiles))
        for low, high in ranges:
            options = ["--min-count", low] + ([] if high is None else ["--max-count", high])
            expected = self.bed(profiles, k, lambda count: low <= count <= (high if high is not None else count))
            self.assertTrue(self.warpmer(*query, "bed", *options) == expected, (low, high))
        return query

    @one_thread
    def test_short_sequences(self):
        for k in some((31, 12, 50), 1):
            query = self.check(DATA / "genome.fa", DATA / "iupac.fa", k, 2)
            self.assertEqual(self.warpmer(*query, "bed"), self.warpmer(*query, "bed", "--min-count", 1))
        self.check(DATA / "genome.fa", DATA / "forty.fa", 31, 3)

    def test_sequences_longer_than_a_batch(self):
        # Batches are of 4 MiB; this sequence has 4.9 MB, most of it at or across the place where it is cut.
        source = random.Random(5)
        unit = random_bases(source, 400)
        other = random_bases(source, 300)
        long = unit * 40 + "N" * 4_100_000 + (unit + "N" + unit[:200] + other) * 850
        self.file("long.fa", fasta([("first", unit), ("long", long), ("after", other + unit)]))
        self.file("unit.fa", fasta([("unit", unit), ("twice", unit[100:200])]))
        self.check("unit.fa", "long.fa", 25, 4, ranges=[(2, None)])

    @one_thread
    def test_one_interval_across_pieces(self):
        self.file("a.fa", fasta([("a", "A" * 40)]))
        self.file("long.fa", fasta([("long", "A" * 4_600_000)]))
        index = self.count("a.fa", k=21)
        query = ["query", index, "--reads", "long.fa", "--format"]
        self.assertEqual(self.warpmer(*query, "bed"), "long\t0\t4600000\n")
        self.assertEqual(self.warpmer(*query, "bedgraph"), "long\t0\t4599980\t20\n")

    @one_thread
    def test_bedtools_agrees(self):
        if not shutil.which("bedtools"):
            self.skipTest("no bedtools")
        index = self.count(DATA / "reads_1.fq.gz", k=21)
        query = ["query", index, "--reads", DATA / "genome.fa", "--format"]
        starts = []
        for line in self.warpmer(*query, "bedgraph").splitlines():
            name, begin, end, count = line.split("\t")
            if int(count) >= 3:
                starts.append(f"{name}\t{begin}\t{int(end) + 20}\n")
        merged = subprocess.run(["bedtools", "merge", "-i", "-"], input="".join(starts).encode(), capture_output=True, check=True)
        self.assertTrue(merged.stdout.decode() == self.warpmer(*query, "bed", "--min-count", 3))

    @one_thread
    def test_refusals(self):
        index = self.count(DATA / "genome.fa", k=21)
        reads = ["--reads", DATA / "forty.fa"]
        self.refused(USAGE, "--format must be", "query", index, *reads, "--format", "wig")
        self.refused(USAGE, "needs --reads", "query", index, "A" * 21, "--format", "bed")
        self.refused(USAGE, "exclude each other", "query", index, *reads, "--format", "bed", "--profile")
        self.refused(USAGE, "need --format bed", "query", index, *reads, "--min-count", 2)
        self.refused(USAGE, "is larger than", "query", index, *reads, "--format", "bed", "--max-count", 0)


if __name__ == "__main__":
    main()
