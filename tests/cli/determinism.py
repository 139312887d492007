#!/usr/bin/env python3
"""The index does not depend on how it was computed: its content is the same, byte for byte, for any number of
threads and devices, any order and dress of the inputs, and from run to run; any memory cap is in memory_cap.py.

Content is everything before the provenance: the `content_bytes` of `warpmer info --json` (docs/index-format.md).
Inputs are made up; files of ../shared/data are used as well where they are.

ctest: long; ctest: release only (under sanitizers, unit/cpu_session runs threads and devices against each other)
"""

import gzip
import random
import shutil
import subprocess

import oracle_common
from common_cli import CliTest, main
from common_hot_kmers import BASES

RUNS = 6
COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")


def reverse_complement(sequence):
    return sequence.translate(COMPLEMENT)[::-1]


def make_reads(rng, genome, reads, length):
    """FASTQ records: reads of both strands with errors, N, and some of other lengths."""
    records = []
    for i in range(reads):
        size = length if rng.random() < 0.9 else rng.randint(1, 3 * length)
        start = rng.randrange(len(genome) - size)
        read = bytearray(genome[start : start + size])
        for _ in range(size // 100):
            read[rng.randrange(size)] = rng.choice(b"ACGTN")
        read = bytes(read)
        read = reverse_complement(read) if rng.random() < 0.5 else read
        read = read.lower() if rng.random() < 0.05 else read
        records.append(b"@read%d\n%s\n+\n%s\n" % (i, read, b"F" * size))
    return records


class Determinism(CliTest):
    def check_every_way(self, options, rng, parts, dresses, runs):
        """`parts`: files that together are the input; `dresses`: other lists of files with the same sequences. Without
        `runs`, some ways of each kind: how the input is divided does not depend on the other experiments' k."""
        wanted = None

        def check(inputs, *more, stdin=b""):
            nonlocal wanted
            with self.subTest(options=options, inputs=inputs, more=more):
                self.warpmer("count", "-q", *options, *more, "-o", "out.wmi", *inputs, stdin=stdin)
                content = (self.content("out.wmi"), self.info("out.wmi")["content_checksum"])
                wanted = wanted or content
                self.assertEqual(content, wanted)

        check(parts, "-t", 1)
        for threads in (2, 3, 8) if runs else (8,):
            check(parts, "-t", threads)
        for devices in range(1, 9) if runs else (2, 7):
            check(parts, "--device", f"cpu:{devices}", "-t", 1 + devices % 4)
        if runs:
            check(parts, "--device", "cpu")
        for _ in range(3 if runs else 1):
            shuffled = list(parts)
            rng.shuffle(shuffled)
            check(shuffled, "-t", 3)
        for name, files in dresses.items():
            if runs or name in ("joined, gzip", "mixed", "shuffled reads"):
                check(files, "-t", 3)
        for name in ("joined", "joined, gzip") if runs else ():
            with open(dresses[name][0], "rb") as source:
                check(["-"], "-t", 2, stdin=source)
        for _ in range(runs):
            check(parts, "-t", 8)
        for _ in range(runs // 2):
            check(parts, "-t", 8, "--device", "cpu:4")

    def dresses_of(self, rng, records, parts):
        """Other files with the sequences of four."""
        texts = [path.read_bytes() for path in parts]
        zipped = [self.file(f"part{i}.fq.gz", gzip.compress(text, 1)) for i, text in enumerate(texts)]
        shuffled = list(records)
        rng.shuffle(shuffled)
        fasta = []
        for i, text in enumerate(texts):
            lines = text.split(b"\n")
            reads = (b">%s\n%s\n" % (name[1:], read) for name, read in zip(lines[::4], lines[1::4]))
            fasta.append(self.file(f"part{i}.fa", b"".join(reads)))
        dresses = {
            "gzip": zipped,
            "joined": [self.file("joined.fq", b"".join(records))],
            "joined, gzip": [self.file("joined.fq.gz", b"".join(path.read_bytes() for path in zipped))],
            "shuffled reads": [self.file("shuffled.fq", b"".join(shuffled))],
            "FASTA": fasta,
            "list": ["@" + str(self.file("files.list", "".join(f"{path}\n" for path in zipped)))],
        }
        if shutil.which("bgzip"):
            blocked = [self.file(f"part{i}.bgzf.gz", subprocess.run(["bgzip", "-c", path], check=True, capture_output=True).stdout)
                       for i, path in enumerate(parts)]
            dresses |= {"BGZF": blocked, "mixed": [parts[0], zipped[1], blocked[2], parts[3]]}
        else:
            print("there is no bgzip, so no BGZF")
        return dresses

    def test_made_up_reads(self):
        rng = random.Random(20261121)
        genome = rng.randbytes(60_000).translate(BASES)
        genome += genome[:9000] + b"A" * 400 + b"AC" * 300 + reverse_complement(genome[20_000:24_000])
        records = make_reads(rng, genome, 8000, 150)
        parts = [self.file(f"part{i}.fq", b"".join(records[i * 2000 : (i + 1) * 2000])) for i in range(4)]
        dresses = self.dresses_of(rng, records, parts)
        for runs, *options in (
            (RUNS, "-k", 31),
            (RUNS // 2, "-k", 11),
            (0, "-k", 12),  # 16 times as much as 10 takes
            (0, "-k", 3),
            (0, "-k", 13),
            (0, "-k", 20, "--forward"),
            (RUNS // 2, "-k", 55),
            (0, "-k", 64, "--min-count", 2, "--max-count", 30),
        ):
            self.check_every_way(options, rng, parts, dresses, runs)

    def test_real_data(self):
        shared = oracle_common.shared_data(required=False)
        if not shared:
            self.skipTest("../shared/data is not there")
        names = ("ecoli_KAT_r1.1K.fastq.gz", "derived/illumina18.bgzf.fq.gz", "dm3_chr4_softmasked.fa.gz",
                 "lambda_ont_multiline.fastq.gz", "NA12878_hiseq_chr20_first500.bam", "mirbase_mature_RNA.fa.gz")
        self.check_every_way(["-k", 21], random.Random(1), [shared / "small" / name for name in names], {}, 0)


if __name__ == "__main__":
    main()
