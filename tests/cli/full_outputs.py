#!/usr/bin/env python3
"""Outputs that do not fit: the error names the path, how much is written and, about, how much more it takes."""

import gzip
import random
import re

from common_cli import RESOURCE, CliTest, file_size_limit, main, random_bases
from common_tier import one_thread, some

GENOME_BASES = 150_000
READS = 60_000
READ_BASES = 100


class FullOutputs(CliTest):
    """A limit on the sizes of files stands in for a full disk."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rng = random.Random(7)
        cls.genome = random_bases(rng, GENOME_BASES)
        cls.relative = cls.genome[: GENOME_BASES // 2] + random_bases(rng, GENOME_BASES // 2)
        starts = [rng.randrange(GENOME_BASES - READ_BASES) for _ in range(READS)]
        reads = [f"@read{i:06}\n{cls.genome[at : at + READ_BASES]}\n+\n{'I' * READ_BASES}\n" for i, at in enumerate(starts)]
        cls.reads = "".join(reads).encode()

    def setUp(self):
        super().setUp()
        for name, genome in (("a", self.genome), ("b", self.relative)):
            self.count(self.file(f"{name}.fa", f">{name}\n{genome}\n"), output=f"{name}.wmi")

    def whole_size(self, command, output, file):
        """Of what the command writes where there is room."""
        before = self.files()
        self.warpmer(*command, "-q", "-o", output)
        size = (self.folder / file).stat().st_size
        for name in set(self.files()) - set(before):
            (self.folder / name).unlink()
        return size

    def amounts_named(self, room, command, output="out", file="out", stdin=b""):
        """It must end with exit code 4 and one line that names the file, and leave nothing. Is it "about", how much
        more, and after what?"""
        before = self.files()
        process = self.run_process(*command, "-q", "-o", output, stdin=stdin, preexec_fn=lambda: file_size_limit(room))
        error = process.stderr.decode()
        self.assertEqual(process.returncode, RESOURCE, error)
        self.assertEqual(self.files(), before)
        pattern = rf"warpmer: error: cannot write (about )?(\d+) more bytes, after (\d+), to '{file}': [^\n]*ulimit[^\n]*\n"
        found = re.fullmatch(pattern, error)
        self.assertTrue(found, error)
        return found[1] is not None, int(found[2]), int(found[3])

    def check_amounts(self, *command, output="out", file=None, rooms=(0.1, 0.6)):
        """What is named is within a tenth of the truth."""
        file = file or output
        size = self.whole_size(command, output, file)
        for part in some(rooms):
            with self.subTest(command=command, room=part):
                room = int(size * part)
                _, more, after = self.amounts_named(room, command, output, file)
                self.assertEqual(after, room)
                self.assertAlmostEqual(more, size - room, delta=(size - room) / 10)

    def test_kmers(self):
        for options in ([], ["--sort"], ["--format", "fasta", "--min-count", 1]):
            self.check_amounts("dump", *options, "-t", 2, "a.wmi")

    def test_indexes(self):
        """Small ones are mostly directory."""
        for k in (9, 21, 55):
            command = ("count", "-k", k, "-t", 2, "a.fa")
            size = self.whole_size(command, "out", "out")
            _, more, after = self.amounts_named(size // 10, command)
            self.assertAlmostEqual(more + after, size, delta=size / 10, msg=k)

    def test_conversions(self):
        for form in ("tsv", "kff", "jellyfish"):
            self.check_amounts("convert", "--to", form, "-t", 2, "a.wmi")
        self.check_amounts("convert", "--to", "kmc", "-t", 2, "a.wmi", output="db", file="db.kmc_suf")

    def test_matrices(self):
        for options in ([], ["--min-samples", 2], ["--input-min-count", "1,2", "--presence"]):
            self.check_amounts("matrix", *options, "-t", 2, "a.wmi", "b.wmi")
        self.check_amounts("matrix", "-t", 2, "a.wmi", "b.wmi", output="out.gz")

    def test_matrices_that_grow(self):
        for old in ("old.tsv", "old.tsv.gz"):
            self.warpmer("matrix", "a.wmi", "-o", old)
            self.check_amounts("matrix", "-t", 2, "--append", old, "b.wmi")

    @one_thread
    def test_comparisons(self):
        """Of samples with names that make many rows long."""
        self.count(self.file("small.fa", f">s\n{self.genome[:100]}\n"), output="small.wmi")
        for i in range(150):
            (self.folder / f"{'sample' * 30}{i:03}.wmi").symlink_to("small.wmi")
        samples = [name for name in self.files() if name.startswith("sample")]
        self.check_amounts("compare", "-t", 2, *samples)
        self.check_amounts("compare", "--format", "matrix", "-t", 2, *samples)

    def test_lists(self):
        self.file("k.txt", self.warpmer("dump", "a.wmi"))
        self.check_amounts("query", "b.wmi", "-t", 2, "--kmers", "k.txt")
        self.warpmer("positions", "-k", 31, "-o", "a.wmp", "a.fa")
        self.check_amounts("locate", "a.wmp", "-t", 2, "--kmers", "k.txt")

    def test_reads(self):
        self.file("r.fq", self.reads)
        self.file("r.fq.gz", gzip.compress(self.reads, 1))
        self.warpmer("positions", "-k", 31, "-o", "a.wmp", "a.fa")
        commands = [
            ("query", "b.wmi", "--reads", "r.fq"),
            ("query", "b.wmi", "--reads", "r.fq.gz"),
            ("query", "b.wmi", "--profile", "--reads", "r.fq"),
            ("query", "b.wmi", "--profile", "--reads", "r.fq.gz"),
            ("filter", "a.wmi", "r.fq"),
            ("filter", "a.wmi", "r.fq.gz"),
            ("filter", "a.wmi", "-1", "r.fq", "-2", "r.fq.gz"),
            ("locate", "a.wmp", "--reads", "r.fq"),
            ("locate", "a.wmp", "--summary", "--reads", "r.fq.gz"),
        ]
        for command in some(commands, 3):
            self.check_amounts(*command, "-t", 2)
        self.check_amounts("filter", "a.wmi", "-t", 2, "r.fq", output="out.gz")

    def test_what_is_not_known(self):
        """Of a pipe, and of files of which some are compressed: only what could not be written is named."""
        self.file("r.fq", self.reads)
        self.file("r.fq.gz", gzip.compress(self.reads, 1))
        for command, stdin in ((["--reads", "-"], self.reads), (["--reads", "r.fq", "--reads", "r.fq.gz"], b"")):
            with self.subTest(command):
                is_estimate, more, after = self.amounts_named(100_000, ["query", "b.wmi", *command], stdin=stdin)
                self.assertFalse(is_estimate)
                self.assertEqual(after, 100_000)
                self.assertLess(more, 1 << 20)


if __name__ == "__main__":
    main()
