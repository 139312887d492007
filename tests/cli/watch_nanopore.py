#!/usr/bin/env python3
"""`warpmer watch` over real nanopore reads that arrive piece by piece, and over simulated ones: the index is that of
counting them at once, and it ends where the spectrum says.

ctest: long
"""

import collections
import gzip
import os
import random
import shutil

import oracle_common
from common_cli import INPUT, canonical, kmers_of, main, reverse_complement
from common_tier import FULL, by_tier
from common_watch import WatchTest, fastq


def fastq_records(text):
    """(text, bases) of each record of FASTQ, whose bases may be on several lines."""
    lines = text.splitlines(keepends=True)
    records, at = [], 0
    while at < len(lines):
        first, bases = at, ""
        at += 1
        while not lines[at].startswith("+"):
            bases += lines[at].strip()
            at += 1
        at += 1
        qualities = 0
        while qualities < len(bases):
            qualities += len(lines[at].strip())
            at += 1
        records.append(("".join(lines[first:at]), bases))
    return records


def read_records(path):
    with gzip.open(path, "rt", newline="") as file:
        return fastq_records(file.read())


def texts(records):
    return "".join(text for text, _ in records).encode()


class NanoporeTest(WatchTest):
    def setUp(self):
        super().setUp()
        self.data = oracle_common.shared_data(required=False)
        if not self.data:
            self.skipTest("no real data (set WARPMER_SHARED)")
        self.chance = random.Random(11)

    def write(self, name, data, how="ab"):
        path = self.folder / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, how) as file:
            file.write(data)
        return path

    def move_into_place(self, name, data):
        """As programs write that mind who looks: under a hidden name first."""
        path = self.folder / "run" / name
        os.rename(self.write(f"{path.parent.relative_to(self.folder / 'run')}/.{path.name}", data), path)


class Pieces(NanoporeTest):
    def setUp(self):
        super().setUp()
        with_crlf = read_records(self.data / "small/ont_crlf.fastq.gz")
        multiline = read_records(self.data / "small/lambda_ont_multiline.fastq.gz")
        self.with_crlf = with_crlf[: by_tier(None, 30)]
        self.in_members, self.as_text = multiline[: by_tier(120, 20)], multiline[120 : by_tier(None, 140)]
        self.ultralong = self.data / "medium/ecoli_ont_ultralong.fa.gz"
        with gzip.open(self.ultralong, "rt") as file:
            self.long = file.read(400_000).rpartition(">")[0].encode()

    def check_index(self, *inputs):
        """It is that of these files, counted at once."""
        self.count(*inputs, k=21, output="at_once.wmi")
        self.assertEqual(self.content("x.wmi"), self.content("at_once.wmi"))

    def begin(self):
        """A part of each file, with most of them cut off within a record. Returns what is whole of them, as files."""
        crlf, members, text = texts(self.with_crlf), self.in_members, texts(self.as_text)
        third = len(self.with_crlf) // 3
        cut = len(texts(self.with_crlf[:third])) + len(self.with_crlf[third][0]) // 2
        self.write("fastq_pass/crlf.fastq", crlf[:cut])
        some = len(members) // 3
        self.write("fastq_pass/barcode01/members.fastq.gz", gzip.compress(texts(members[:some])))
        self.write("fastq_pass/text.fastq", text[: len(text) // 2 + 33])
        self.write("fastq_pass/long.fa", self.long[: self.long.index(b">", len(self.long) // 3)])
        whole = gzip.compress(crlf)
        self.write("fastq_pass/slow.fq.gz", whole[: len(whole) // 2])
        self.write("fastq_fail/crlf.fastq", crlf)
        self.write("fastq_pass/barcode02/.ultralong.fa.gz", self.ultralong.read_bytes()[:100_000])
        self.rest = {
            "fastq_pass/crlf.fastq": crlf[cut:],
            "fastq_pass/text.fastq": text[len(text) // 2 + 33 :],
            "fastq_pass/slow.fq.gz": whole[len(whole) // 2 :],
            "fastq_pass/long.fa": self.long[self.long.index(b">", len(self.long) // 3) :],
        }
        self.bytes_whole = len(texts(self.with_crlf[:third]))
        self.file("whole.fq", texts(self.with_crlf[:third]) + texts(members[:some]))
        self.number_whole = third + some + (self.folder / "run/fastq_pass/long.fa").read_bytes().count(b">")
        return "whole.fq", "run/fastq_pass/long.fa"

    def grow(self, watcher):
        """The rest of each file, while it is watched."""
        half = {name: len(data) // 2 for name, data in self.rest.items()}
        for name, data in self.rest.items():
            if name != "fastq_pass/long.fa":  # of FASTA nobody sees that a record is cut off
                self.write(name, data[: half[name]])
        some = len(self.in_members) // 3
        self.write("fastq_pass/barcode01/members.fastq.gz", gzip.compress(texts(self.in_members[some : 2 * some])))
        watcher.wait_for_reads(self.number_whole + some)
        for name, data in self.rest.items():
            self.write(name, data if name == "fastq_pass/long.fa" else data[half[name] :])
        self.write("fastq_pass/barcode01/members.fastq.gz", gzip.compress(texts(self.in_members[2 * some :])))
        hidden = self.folder / "run/fastq_pass/barcode02/.ultralong.fa.gz"
        hidden.unlink()
        if FULL:
            self.move_into_place("fastq_pass/barcode02/ultralong.fa.gz", self.ultralong.read_bytes())

    def test_are_counted_as_if_at_once(self):
        whole = self.begin()
        watcher = self.start()
        watcher.wait_for_reads(self.number_whole)
        for name in ("text.fastq", "slow.fq.gz"):
            watcher.wait_for_message(name)
        watcher.wait_for_message("crlf.fastq")
        rows, messages = watcher.end(status=INPUT)
        self.assertRegex(messages, r"/text\.fastq, [^\n]+; nothing of it is counted unless it changes\n")
        self.assertRegex(messages, rf"/crlf\.fastq, [^\n]+; this is what it has from byte {self.bytes_whole} on, of which nothing is counted ")
        self.assertEqual(int(rows[-1]["reads"]), self.number_whole)
        self.check_index(*whole)

        watcher = self.start()
        self.grow(watcher)
        files = sorted(
            path.relative_to(self.folder) for path in (self.folder / "run/fastq_pass").rglob("[!.]*") if path.is_file()
        )
        number = 2 * len(self.with_crlf) + len(self.in_members) + len(self.as_text) + self.long.count(b">")
        if FULL:
            with gzip.open(self.ultralong) as file:
                number += file.read().count(b">")
        watcher.wait_for_reads(number)
        rows, messages = watcher.end()
        self.assertEqual(int(rows[-1]["reads"]), number)
        self.assertEqual(int(rows[-1]["files"]), len(files))
        self.assertRegex(messages, rf"warpmer: {number:,} reads of {len(files)} files, ")
        self.check_index(*files)


class Spectrum:
    """What reads have of k-mers, by plain Python."""

    def __init__(self, k):
        self.k, self.counts, self.bases, self.new = k, collections.Counter(), 0, 1.0

    def add(self, reads):
        before, kmers = len(self.counts), 0
        for read in reads:
            self.bases += len(read)
            found = [canonical(kmer) for kmer in kmers_of(read, self.k) if kmer]
            kmers += len(found)
            self.counts.update(found)
        self.new = (len(self.counts) - before) / kmers

    def histogram(self, rows):
        with_count = collections.Counter(self.counts.values())
        return [with_count[count] for count in range(rows)]

    def genome(self):
        """How many k-mers the genome has: those behind the first valley. None where there is none."""
        rows = self.histogram(200)
        valley = next((count for count in range(2, 40) if rows[count] <= min(rows[count + 1 : count + 4])), None)
        if valley is None or max(rows[valley:]) < 2 * rows[valley]:
            return None
        return sum(count > valley for count in self.counts.values())


class Limits(NanoporeTest):
    def groups_of_real_reads(self, number):
        reads = [bases for _, bases in read_records(self.data / "small/lambda_ont_multiline.fastq.gz")]
        return [reads[i * len(reads) // 6 : (i + 1) * len(reads) // 6] for i in range(number)]

    def groups_of_simulated_reads(self, number, depth, errors=0.03):
        """Reads of the genome of lambda, as a circle: of their bases some are wrong, some are missing, some too many."""
        with gzip.open(self.data / "small/lambda_reference.fasta.gz", "rt") as file:
            genome = "".join(line.strip() for line in file if not line.startswith(">"))
        self.genome_size = len(genome)
        groups = []
        for _ in range(number):
            reads, bases = [], 0
            while bases < depth * len(genome):
                length = int(self.chance.lognormvariate(8.3, 0.6))
                begin = self.chance.randrange(len(genome))
                read = list((2 * genome)[begin : begin + length])
                for _ in range(int(errors * len(read))):
                    at = self.chance.randrange(len(read))
                    read[at] = self.chance.choice(("", "A", "C", "G", "T", read[at] + self.chance.choice("ACGT")))
                reads.append("".join(read))
                bases += len(reads[-1])
            groups.append([self.chance.choice((read, reverse_complement(read))) for read in reads])
        return groups

    def test_hold_where_the_spectrum_says(self):
        real = self.groups_of_real_reads(by_tier(3, 2))
        depths, enough = by_tier(((12, 24, 36), 30), ((15, 30), 22))
        simulated = self.groups_of_simulated_reads(len(depths), depths[0])
        real_spectrum, spectrum = Spectrum(11), Spectrum(15)
        new = []
        for group in real:
            real_spectrum.add(group)
            new.append(real_spectrum.new)
        self.assertLess(new[-1] + 0.02, min(new[:-1]))
        enough_new = (new[-1] + min(new[:-1])) / 2
        (self.folder / "run").mkdir()
        (self.folder / "made").mkdir()
        by_new = self.start("--until", f"new<{enough_new:.5f}", k=11, name="new")
        without_end = self.start("--until", "coverage=1", k=11, name="none")
        by_coverage = self.start("--until", f"coverage={enough}", k=15, folder="made", name="coverage")

        reads = made_reads = 0
        for i, group in enumerate(real):
            self.move_into_place(f"{i}.fastq", fastq(group).encode())
            if i < len(simulated):
                spectrum.add(simulated[i])
                path = self.file(f".{i}.fastq", fastq(simulated[i]))
                shutil.move(path, self.folder / f"made/{i}.fastq")
                made_reads += len(simulated[i])
                row = by_coverage.wait_for_reads(made_reads)
                self.check_coverage(row, spectrum)
            reads += len(group)
            row = by_new.wait_for_reads(reads)
            self.assertEqual((int(row["reads"]), row["new"]), (reads, f"{new[i]:.4g}"))
        # Each has ended by itself, behind the last group.
        self.assertIn("% are new", by_new.end(None)[1])
        self.assertRegex(by_coverage.end(None)[1], r"ended because the coverage is 3[0-9.]+\n")
        # The spectrum of so erroneous reads only falls, so nobody can tell how often they cover the genome.
        without_end.wait_for_reads(reads)
        rows, _ = without_end.end()
        self.assertEqual({row["coverage"] for row in rows}, {"NA"})
        falling = real_spectrum.histogram(12)[1:]
        self.assertEqual(falling, sorted(falling, reverse=True))
        for name, k, folder in (("new", 11, "run"), ("none", 11, "run"), ("coverage", 15, "made")):
            self.count(*sorted((self.folder / folder).iterdir()), k=k, output="at_once.wmi")
            self.assertEqual(self.content(f"{name}.wmi"), self.content("at_once.wmi"))

    def check_coverage(self, row, spectrum):
        """Bases by bases of the genome: not told, or right."""
        genome = spectrum.genome()
        if row["coverage"] == "NA":
            self.assertLess(spectrum.bases / self.genome_size, 15)
            return
        self.assertIsNotNone(genome)
        self.assertAlmostEqual(float(row["genome_size"]) / genome, 1, delta=0.05)
        self.assertAlmostEqual(float(row["coverage"]) / (spectrum.bases / genome), 1, delta=0.05)
        self.assertAlmostEqual(float(row["coverage"]) / (spectrum.bases / self.genome_size), 1, delta=0.05)


if __name__ == "__main__":
    main()
