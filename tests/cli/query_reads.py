#!/usr/bin/env python3
"""`query --reads`: summaries and profiles against a naive counter; order, long reads, several files.

ctest: long
"""

import random

from common_cli import DATA, INPUT, CliTest, fasta, kmers_of, main, naive_count, random_bases, read_sequences, reverse_complement
from common_tier import by_tier, one_thread, some

HEADER = "read\tkmers\tfound\tmin\tmedian\tmax\n"


def on_both_strands(counts):
    """By a k-mer as read and by its reverse complement, so that look-ups need not choose."""
    return {name: n for kmer, n in counts.items() for name in (kmer, reverse_complement(kmer))}


def profile_of(sequence, k, counts):
    return [None if kmer is None else counts.get(kmer, 0) for kmer in kmers_of(sequence, k)]


def summary_line(name, profile):
    numbers = sorted(count for count in profile if count is not None)
    if not numbers:
        return f"{name}\t0\t0\tNA\tNA\tNA\n"
    found = sum(1 for count in numbers if count > 0)
    median = numbers[(len(numbers) - 1) // 2]
    return f"{name}\t{len(numbers)}\t{found}\t{numbers[0]}\t{median}\t{numbers[-1]}\n"


def profile_line(name, profile):
    return name + "\t" + " ".join("." if count is None else str(count) for count in profile) + "\n"


class Reads(CliTest):
    def check(self, counted, asked, k, *options):
        counts = on_both_strands(naive_count([sequence for _, sequence in read_sequences(counted)], k))
        index = self.count(counted, k=k)
        reads = [read for path in asked for read in read_sequences(path)]
        profiles = [(name, profile_of(sequence, k, counts)) for name, sequence in reads]
        for threads in some((3, 1)):
            arguments = ["query", index, "-t", threads, *options, "--reads", *asked]
            self.assertEqual(self.warpmer(*arguments), HEADER + "".join(summary_line(*p) for p in profiles))
            self.assertEqual(self.warpmer(*arguments, "--profile"), "".join(profile_line(*p) for p in profiles))

    def test_bundled_reads(self):
        for k in some((31, 40, 3, 15, 64), 2):
            with self.subTest(k=k):
                self.check(DATA / "genome.fa", [DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"], k)

    @one_thread
    def test_awkward_reads(self):
        names = ("iupac.fa", "short.fa", "palindromes.fa", "empty_records.fa", "low_complexity.fa", "one_base.fa")
        for k in some((13, 12, 33, 31, 2, 1), 3):
            with self.subTest(k=k):
                self.check(DATA / "iupac.fa", [DATA / name for name in names], k)

    @one_thread
    def test_tandem_repeats(self):
        """Equal super-k-mers follow each other, on either strand, and end where a base is another or none."""
        chance = random.Random(5)

        def reads(number):
            lines = []
            for i in range(number):
                unit = chance.choice(("A", "C", "G", "T", "AC", "GGT", "TTAGGG", "CCCTAA", random_bases(chance, 11)))
                stretch = unit * chance.randrange(1, 200 // len(unit))
                at = chance.randrange(len(stretch))
                lines.append((f"r{i}", random_bases(chance, chance.randrange(40)) + stretch[:at] + chance.choice("ACGTN") + stretch[at:]))
            return fasta(lines)

        counted, asked = self.file("counted.fa", reads(40)), self.file("asked.fa", reads(60))
        for k in some((31, 15, 21, 32, 48, 64), 2):
            with self.subTest(k=k):
                self.check(counted, [asked, counted], k)

    def test_the_largest_count(self):
        """It stands for itself, not for a k-mer that is none; in reads it is one less."""
        self.file("x.tsv", f"ACGTT\t{2**64 - 1}\n")
        self.warpmer("convert", "x.tsv", "-o", "x.wmi")
        self.file("x.fa", ">a\nACGTTC\n")
        self.assertEqual(self.warpmer("query", "x.wmi", "--reads", "x.fa", "--profile"), f"a\t{2**64 - 2} 0\n")
        self.assertEqual(self.warpmer("query", "x.wmi", "--reads", "x.fa", "--no-header"), f"a\t2\t1\t0\t0\t{2**64 - 2}\n")
        self.assertEqual(self.warpmer("filter", "x.wmi", "--names-only", "x.fa"), "a\n")

    @one_thread
    def test_other_ways_to_name_reads(self):
        index = self.count(DATA / "genome.fa", k=21)
        path = DATA / "forty.fq"
        expected = self.warpmer("query", index, "--reads", path)
        self.assertEqual(self.warpmer("query", index, "--reads", "-", stdin=path.read_bytes()), expected)
        self.file("list", f"{path}\n")
        self.assertEqual(self.warpmer("query", index, "--reads", "@list"), expected)
        self.assertEqual(self.warpmer("query", "--reads", path, index), expected)
        self.assertEqual(self.warpmer("query", index, "--no-header", "--reads", path), expected[len(HEADER) :])

    @one_thread
    def test_reads_longer_than_a_batch(self):
        # Batches are of 4 MiB; this read has 5.6 MB.
        source = random.Random(5)
        unit = "".join(source.choice("ACGT") for _ in range(5000))
        long_read = "".join(unit if i % 3 else unit[:2500] + "N" + unit[2500:4000] for i in range(1200))
        self.file("long.fa", fasta([("short", unit[:100]), ("long", long_read), ("after", unit[50:200]), ("none", "ACG")]))
        self.file("unit.fa", fasta([("unit", unit), ("twice", unit[1000:2000])]))
        k = 25
        counts = on_both_strands(naive_count([unit, unit[1000:2000]], k))
        index = self.count("unit.fa", k=k)
        profiles = [(name, profile_of(seq, k, counts)) for name, seq in read_sequences(self.folder / "long.fa")]
        for threads in some((4, 1)):
            arguments = ["query", index, "-t", threads, "--reads", "long.fa"]
            self.assertEqual(self.warpmer(*arguments), HEADER + "".join(summary_line(*p) for p in profiles))
            same = self.warpmer(*arguments, "--profile") == "".join(profile_line(*p) for p in profiles)
            self.assertTrue(same, "profiles differ")  # a diff of them would take minutes

    def test_many_batches_stay_in_order(self):
        source = random.Random(6)
        genome = "".join(source.choice("ACGT") for _ in range(20000))
        reads = [(f"r{i}", genome[(i * 37) % 19000 :][: 20 + i % 400]) for i in range(by_tier(60000, 30000))]
        self.file("reads.fa", fasta(reads))
        self.file("genome.fa", fasta([("g", genome)]))
        index = self.count("genome.fa", k=21)
        one = self.warpmer("query", index, "-t", "1", "--reads", "reads.fa")
        self.assertEqual([line.split("\t")[0] for line in one.splitlines()[1:]], [name for name, _ in reads])
        self.assertTrue(self.warpmer("query", index, "-t", "7", "--reads", "reads.fa") == one)

    def test_bad_reads(self):
        index = self.count(DATA / "genome.fa", k=21)
        self.refused(INPUT, "bad_character.fq", "query", index, "--reads", DATA / "bad_character.fq")
        self.refused(INPUT, "no_such.fq", "query", index, "--reads", DATA / "forty.fq", "no_such.fq")
        self.refused(INPUT, "bad_truncated", "query", index, "-o", "out", "--reads", DATA / "bad_truncated.fq.gz")
        self.warpmer("query", index, "--lenient", "--reads", DATA / "bad_character.fq")


if __name__ == "__main__":
    main()
