#!/usr/bin/env python3
"""`hetmers` against plain Python, which compares each k-mer with all that it could differ from."""

import collections
import json
import math
import random

from common_cli import DATA, RESOURCE, USAGE, CliTest, fasta, main, naive_count, random_bases, reverse_complement
from common_pictures import SVG, Drawing
from common_tier import one_thread, some, without_sanitizers

MOST_SUM = 1000


def hetmers(counts, k, least, at_any_base):
    """The text for canonical k-mers with counts: of all k-mers, on both strands, those with one partner that has no other."""
    strands = {}
    for kmer, count in counts.items():
        if count >= least:
            strands[kmer] = strands[reverse_complement(kmer)] = count
    places = range(k) if at_any_base else [k // 2]

    def partners(kmer):
        others = (kmer[:at] + base + kmer[at + 1 :] for at in places for base in "ACGT" if base != kmer[at])
        return [other for other in others if other in strands and strands[kmer] + strands[other] <= MOST_SUM]

    only = {kmer: found[0] for kmer in strands if len(found := partners(kmer)) == 1}
    pairs = collections.Counter()
    for kmer, other in only.items():
        if kmer < other and only.get(other) == kmer:
            pairs[tuple(sorted((strands[kmer], strands[other])))] += 1
    rows = sorted((a + b, a, b, pairs[a, b]) for a, b in pairs if a < 500)
    return "".join(f"{a}\t{b}\t{number}\n" for _, a, b, number in rows)


def mutated(source, sequence, rate):
    return "".join(source.choice("ACGT") if source.random() < rate else base for base in sequence)


class Pairs(CliTest):
    def write(self, sequences):
        self.file("reads.fa", fasta((str(i), sequence) for i, sequence in enumerate(sequences)))
        return sequences

    def check(self, sequences, k, least=1, options=((),)):
        counts = naive_count(sequences, k)
        index = self.count("reads.fa", k=k)
        for at_any_base in (False, True):
            if k % 2 == 0 and not at_any_base:
                continue
            expected = hetmers(counts, k, least, at_any_base)
            for more in options:
                with self.subTest(k=k, at_any_base=at_any_base, more=more):
                    flags = ["--any"] * at_any_base + ["--min-count", least, *more]
                    self.assertEqual(self.warpmer("hetmers", index, *flags), expected)
        return expected

    def test_haplotypes(self):
        source = random.Random(1)
        genome = random_bases(source, 1500)
        haplotypes = [genome, mutated(source, genome, 0.02), mutated(source, genome, 0.02)]
        reads = []
        for haplotype in haplotypes:
            for at in source.choices(range(1400), k=120):
                read = mutated(source, haplotype[at : at + 100], 0.005)
                reads.append(source.choice((read, reverse_complement(read))))
        self.write(reads)
        for k in some((31, 15, 21, 20, 13, 33, 48, 63, 64), 3):
            for least in (1, 3):
                self.assertGreater(self.check(reads, k, least, [("-t", 1), ("-t", 3)]).count("\n"), 3)

    def test_short_kmers(self):
        source = random.Random(2)
        for k, length in some(((1, 5), (1, 30), (2, 4), (3, 12), (4, 30), (5, 100), (8, 900), (9, 3000), (12, 5000)), 4):
            for _ in range(2):
                self.check(self.write([random_bases(source, length)]), k)

    def test_homopolymers_and_repeats(self):
        source = random.Random(3)
        sequences = ["A" * 60, "A" * 30 + "C" + "A" * 30, "AC" * 40, "T" * 50]
        sequences += [mutated(source, "A" * 60, 0.05) for _ in range(120)]
        sequences += [mutated(source, "ACACACACACACAC" * 4, 0.03) for _ in range(60)]
        self.write(sequences)
        for k in some((15, 31, 22, 40, 5), 2):
            self.check(sequences, k)

    def test_many_neighbours(self):
        """More k-mers with the same first half than are compared each with each."""
        source = random.Random(4)
        first = random_bases(source, 12)
        sequences = []
        for length in (3, 9, 13):
            second = random_bases(source, length)
            sequences += [first + mutated(source, second, 0.25) for _ in range(250)]
        self.write(sequences)
        for k in some((15, 25, 21, 16), 2):
            self.check(sequences, k)

    def test_palindromes(self):
        source = random.Random(5)
        for k in some((5, 9, 15, 21, 33, 6, 14, 20, 34), 3):
            sequences = []
            for _ in range(60):
                half = random_bases(source, k // 2)
                for base in source.sample("ACGT", source.randint(1, 4)) if k % 2 else [""]:
                    kmer = half + base + reverse_complement(half)
                    sequences += [kmer] * source.randint(1, 3)
                    at = source.randrange(k)
                    if source.random() < 0.3:
                        sequences.append(kmer[:at] + source.choice("ACGT") + kmer[at + 1 :])
            self.write(sequences)
            self.check(sequences, k)

    @one_thread
    def test_large_counts(self):
        """Beyond a sum of 1000 two k-mers are no pair, and 500 with 500 has no row."""
        source = random.Random(6)
        sequences = []
        for a, b in ((499, 501), (500, 500), (500, 501), (1, 999), (1, 1000), (2, 999), (400, 300), (3, 3)):
            kmer = random_bases(source, 21)
            other = kmer[:10] + "ACGT"["ACGT".index(kmer[10]) - 1] + kmer[11:]
            sequences += [kmer] * a + [other] * b
        # Without the third, which is too frequent for one of the two, they are a pair.
        kmer = random_bases(source, 21)
        sequences += [kmer] * 10 + [kmer[:-1] + "ACGT"["ACGT".index(kmer[-1]) - 1]] * 20
        sequences += [kmer[:-2] + "ACGT"["ACGT".index(kmer[-2]) - 1] + kmer[-1]] * 995
        self.write(sequences)
        self.assertEqual(
            self.check(sequences, 21), "3\t3\t2\n10\t20\t2\n400\t300\t2\n".replace("400\t300", "300\t400") + "1\t999\t2\n499\t501\t2\n"
        )
        self.check(sequences, 21, 2)
        self.check(sequences, 21, 500)

    @one_thread
    def test_least_count_by_itself(self):
        index = self.count(DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz", k=21)
        cutoff = json.loads(self.warpmer("stats", "--json", index))["spectrum"]["error_cutoff"]
        automatic = self.warpmer("hetmers", "--any", index)
        self.assertEqual(self.warpmer("hetmers", "--any", "-L", cutoff + 1, index), automatic)
        self.count(DATA / "genome.fa", k=21)
        process = self.run_process("hetmers", "--any", "out.wmi")
        self.assertRegex(process.stderr.decode(), r"\Awarpmer: warning: [^\n]*no clear peak[^\n]*--min-count\nwarpmer: found 0 pairs [^\n]*\n\Z")
        self.assertEqual((process.returncode, process.stdout), (0, b""))

    def test_kmers_that_are_not_there(self):
        """It warns where they may have been in pairs."""
        few = self.count(DATA / "reads_1.fq.gz", k=21, options=("--min-count", 5), output="few.wmi")
        many = self.count(DATA / "reads_1.fq.gz", k=21, options=("--max-count", 99), output="many.wmi")
        self.warned(f"'{few}' lacks k-mers that --min-count or --max-count left out, so pairs may be missing", "hetmers", few, "-L", 4)
        self.warned(f"'{many}' lacks k-mers", "hetmers", many, "-L", 4)
        self.warpmer("hetmers", few, "-L", 5)
        self.warpmer("intersect", few, many, "-q", "-o", "chosen.wmi")
        self.warned("'chosen.wmi' has only chosen k-mers", "hetmers", "chosen.wmi", "-L", 5)

    @one_thread
    def test_outputs(self):
        self.write(["ACGTTGCATGCAACGTTGACA", "ACGTTGCATGTAACGTTGACA"])
        index = self.count("reads.fa", k=21)
        for name in ("x.smu", "x.smu.txt", "x.tsv"):
            self.assertEqual(self.warpmer("hetmers", index, "-L", 1, "-o", name), "")
            self.assertEqual((self.folder / name).read_text(), "1\t1\t2\n")
        self.file("none.fa", ">x\nACGT\n")
        self.warned("no k-mer", "count", "-k", 21, "-o", "none.wmi", "none.fa")
        self.assertEqual(self.warned("there are no pairs", "hetmers", "none.wmi"), "")

    @one_thread
    def test_refusals(self):
        reads = self.write(["ACGTTGCATGCAACGTTGACA"])
        even = self.count("reads.fa", k=20)
        self.refused(USAGE, "k = 20 is even.*no middle base; give --any", "hetmers", even, "-o", "x.smu")
        self.warpmer("hetmers", "--any", "-L", 1, even)
        forward = self.count("reads.fa", k=21, options=["--forward"])
        self.refused(USAGE, "--forward", "hetmers", forward, "-o", "x.smu")
        index = self.count("reads.fa", k=21)
        for least in ("0", "501", "x"):
            self.refused(USAGE, "--min-count", "hetmers", index, "--min-count", least)
        short = self.file("short.fa", ">a\nACGT\n")
        self.warned("shorter than k", "count", "-k", 21, "-o", "none.wmi", short)
        self.warned("there is no k-mer in 'none.wmi'", "hetmers", "-L", 1, "none.wmi", "-o", "none.smu")
        self.refused(USAGE, "JSON", "hetmers", index, "-o", "x.json")
        self.refused(USAGE, "out.wmi", "hetmers", index, "-o", index)
        self.refused(RESOURCE, "-m 1 MiB is too little for finding pairs of k-mers.*MiB would do", "hetmers", index, "-m", "1M", "-L", 1)
        self.assertFalse((self.folder / "x.smu").exists())
        self.assertTrue(reads)

    def test_memory(self):
        """Bins in several passes, and pairs in a file, give the same."""
        source = random.Random(7)
        genome = random_bases(source, 400_000)
        self.write([genome, mutated(source, genome, 0.02)])
        index = self.count("reads.fa", k=31)
        expected = self.warpmer("hetmers", "--any", "-L", 1, index)
        self.assertGreater(int(expected.split("\t")[2]), 100_000)
        message = self.run_process("hetmers", "--any", "-L", 1, index, "-m", "1M", "-t", 1).stderr.decode()
        least = int(message.split("would do")[0].split()[-2])
        for memory in (least, least + 4, 4 * least):
            with self.subTest(memory=memory):
                self.assertEqual(self.warpmer("hetmers", "--any", "-L", 1, index, "-m", f"{memory}M", "-t", 1), expected)

    @without_sanitizers
    def test_damage(self):
        self.write([random_bases(random.Random(8), 5000)])
        index = self.count("reads.fa", k=31)
        content = bytearray((self.folder / index).read_bytes())
        content[3000] ^= 1
        self.file("damaged.wmi", bytes(content))
        self.refused(3, "damaged.wmi", "hetmers", "damaged.wmi", "-L", 1, "-o", "x.smu")
        self.assertFalse((self.folder / "x.smu").exists())


class Picture(CliTest):
    def cells(self, rows, step, number_of_rows):
        """{(row, column): pairs}, where a count stands for all that is rounded to it."""
        cells = collections.Counter()
        for smaller, larger, pairs in rows:
            total = smaller + larger
            if total // step >= number_of_rows:
                continue
            begin, end = max(0, (smaller - 0.5) / total) * 100, min(0.5, (smaller + 0.5) / total) * 100
            for column in range(50):
                part = min(end, column + 1) - max(begin, column)
                if part > 0:
                    cells[total // step, column] += pairs * part / (end - begin)
        return cells

    def check(self, index, *options):
        text = self.warpmer("hetmers", index, "--svg", "x.svg", *options)
        rows = [tuple(map(int, line.split("\t"))) for line in text.splitlines()]
        drawing = Drawing(self.folder / "x.svg")
        self.assertEqual(drawing.overlaps(), [])
        shades = [rect for rect in drawing.root.iter(SVG + "rect") if rect.get("class") == "shade"]
        cells = {(float(rect.get("x")), float(rect.get("y"))): rect for rect in shades if float(rect.get("y")) < 364}
        if not rows:
            self.assertEqual(shades, [])
            return drawing
        height = float(next(iter(cells.values())).get("height"))
        number_of_rows = round(330 / height)
        step = round(drawing.along(drawing.heights, 34) / number_of_rows)
        expected = self.cells(rows, step, number_of_rows)
        found = {}
        for (x, y), rect in cells.items():
            found[round((364 - y) / height) - 1, round((x - 52) / 374 * 50)] = float(rect.get("fill-opacity"))
        self.assertEqual(set(found), set(expected))
        least, most = min(expected.values()), max(expected.values())
        for cell, opacity in found.items():
            share = math.log(expected[cell] / least) / math.log(most / least) if most > least else 1
            self.assertAlmostEqual(opacity, 0.06 + 0.94 * share, delta=0.006, msg=cell)
        # Nearly all pairs are to be seen.
        self.assertGreater(sum(expected.values()), 0.9 * sum(pairs for _, _, pairs in rows))
        return drawing

    def reads_of(self, haplotypes, coverage):
        source = random.Random(7)
        reads = []
        for haplotype in haplotypes:
            for at in source.choices(range(len(haplotype) - 99), k=len(haplotype) * coverage // 100):
                reads.append(source.choice((haplotype[at : at + 100], reverse_complement(haplotype[at : at + 100]))))
        self.file("reads.fa", fasta((str(i), read) for i, read in enumerate(reads)))
        return self.count("reads.fa", k=21)

    def test_diploid(self):
        source = random.Random(11)
        genome = random_bases(source, 20000)
        index = self.reads_of([genome, mutated(source, genome, 0.01)], 30)
        drawing = self.check(index, "--any")
        spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
        one = spectrum["heterozygous_coverage"]
        self.assertIn(f"1n = {one:.4g}", drawing.texts()[-1])
        marks = [float(path.split()[1].split("H")[0]) for path in drawing.paths("mark")]
        for copies, y in enumerate(marks, 2):
            self.assertAlmostEqual(drawing.along(drawing.heights, y), copies * one, delta=0.02 * copies * one)
        self.assertGreaterEqual(len(marks), 3)
        names = {text: drawing for text in drawing.texts() if text and set(text) <= set("AB")}
        self.assertLessEqual({"AB", "AAB", "AAAB", "AABB"}, set(names))
        # The darkest cell is that of AB.
        darkest = next(rect for rect in drawing.root.iter(SVG + "rect") if rect.get("fill-opacity") == "1.00")
        self.assertGreater(float(darkest.get("x")), 330)
        self.assertLess(abs(float(darkest.get("y")) - marks[0]), 40)
        before = (self.folder / "x.svg").read_bytes()
        self.warpmer("hetmers", index, "--any", "-t", 3, "--svg", "x.svg")
        self.assertEqual((self.folder / "x.svg").read_bytes(), before)

    def test_other_spectra(self):
        source = random.Random(12)
        genome = random_bases(source, 3000)
        index = self.reads_of([genome, mutated(source, genome, 0.02), mutated(source, genome, 0.02)], 5)
        self.check(index, "--any", "--min-count", 1)
        index = self.reads_of([genome, mutated(source, genome, 0.02)], 600)
        self.check(index, "--min-count", 3)
        self.file("reads.fa", fasta([("r", genome)]))
        drawing = self.check(self.count("reads.fa", k=21, output="once.wmi"), "--any", "--min-count", 1)
        self.assertIn("no estimate of 1n", drawing.texts()[-1])

    @one_thread
    def test_refusals(self):
        self.file("reads.fa", fasta([("r", "ACGT" * 20)]))
        index = self.count("reads.fa", k=21)
        self.refused(USAGE, "'x.tsv' ends as tab-separated text does, .* SVG", "hetmers", index, "--svg", "x.tsv")
        self.refused(USAGE, "cannot be the same", "hetmers", index, "-o", "x", "--svg", "x")
        self.refused(RESOURCE, "nowhere", "hetmers", index, "--svg", "nowhere/x.svg")


if __name__ == "__main__":
    main()
