#!/usr/bin/env python3
"""`query --reads` on several ranks prints what one process prints, for every kind of input, and fails as one.

ctest: release only (MPI is no place for sanitizers; unit/shared_reads runs ranks as threads)
"""

import gzip
import random

import common_cli as common
from common_cli import DONE, INPUT, NOTHING_FOUND, RESOURCE
from common_ranks import IN_SECOND_BATCH, RanksTest, bgzf


class RanksQuery(RanksTest):
    def setUp(self):
        super().setUp()
        self.file("genome.fa", common.fasta([("one", self.genome)]))
        self.index = self.count("genome.fa", k=21, output="index.wmi")

    def check_query(self, number, *arguments, stdin=b""):
        wanted = self.run_process("query", self.index, *arguments, stdin=stdin)
        self.done(wanted, arguments)
        process = self.ranks(number, "query", self.index, *arguments, stdin=stdin)
        self.done(process, arguments)
        self.assertTrue(process.stdout == wanted.stdout, (number, arguments))

    def test_kinds_of_input(self):
        self.file("reads.fq", self.reads)
        self.file("reads.fq.gz", bgzf(self.reads))
        self.file("plain.fq.gz", gzip.compress(self.reads, 1))
        self.file("list", "reads.fq\n# nothing\nsmall.fa\nempty.fq\nplain.fq.gz\n")
        self.file("small.fa", common.fasta([("a", self.genome[:500]), ("none", "")]))
        self.file("empty.fq", "")
        self.check_query(3, "-t", 2, "--reads", "reads.fq")
        self.check_query(2, "--profile", "--reads", "reads.fq.gz")
        self.check_query(4, "-t", 1, "--reads", "@list")
        self.check_query(1, "--reads", "plain.fq.gz")
        cut = self.reads[:1_500_000].rpartition(b"@read")[0]
        self.check_query(2, "--profile", "--no-header", "--reads", "small.fa", "-", "reads.fq", stdin=cut)

    def test_qualities_that_another_rank_has_read(self):
        def reads(offset, number):
            quality = "".join(chr(offset + score) for score in (40, 40, 2, 20, 38)) * 20
            return "".join(f"@r{i}\n{self.genome[i : i + 100]}\n+\n{quality}\n" for i in range(number))

        self.file("q33.fq", reads(33, 2000))
        self.file("q64.fq", reads(64, 2000))
        text = "q64.fq: qualities look like Phred+64"
        low = ("--min-base-quality", 20)
        for inputs in (("q33.fq", "q64.fq"), ("q64.fq", "q33.fq"), ("q64.fq",)):
            for command in (("query", self.index, *low, "-o", "out.tsv", "--reads"), ("count", "-k", 21, *low, "-o", "out.wmi")):
                with self.subTest(inputs=inputs, command=command):
                    process = self.ranks(3, *command, *inputs)
                    self.assertEqual((process.returncode, process.stderr.decode().count(text)), (DONE, 1), process.stderr)
        self.assertNotIn("Phred", self.ranks(3, "count", "-k", 21, *low, "-o", "out.wmi", "q33.fq", "reads.fq").stderr.decode())

    def test_formats_of_other_programs(self):
        self.file("reads.fq", self.reads)
        self.file("more.fq", self.reads[: len(self.reads) // 2].rpartition(b"@read")[0])
        for name, files in (("x.kff", ["x.kff"]), ("x.jf", ["x.jf"]), ("x.kmc_pre", ["x.kmc_pre", "x.kmc_suf"]),
                            ("x.tsv", ["x.tsv"])):
            with self.subTest(name):
                self.done(self.run_process("count", "-k", 21, "-o", name, "reads.fq", "more.fq"), name)
                wanted = [(self.folder / file).read_bytes() for file in files]
                for file in files:
                    (self.folder / file).unlink()
                self.done(self.ranks(3, "count", "-k", 21, "-o", name, "reads.fq", "more.fq"), name)
                written = [(self.folder / file).read_bytes() for file in files]
                if name == "x.jf":  # its header has the command line
                    wanted, written = (sorted(self.warpmer("convert", "--to", "tsv", "-o", "-", "x.jf").splitlines())
                                       for _ in range(2))
                self.assertEqual(written, wanted)

    def test_more_ranks_than_records(self):
        self.file("two.fq", "@a\n" + self.genome[:40] + "\n+\n" + "@" * 40 + "\n@b\nACGTT\n+\n@@@@@\n")
        self.check_query(5, "--reads", "two.fq")
        absent = self.file("absent.fa", common.fasta([("x", "A" * 50)]))
        process = self.ranks(5, "query", self.index, "--exit-status", "--reads", absent)
        self.assertEqual((process.returncode, process.stdout.count(b"\n")), (NOTHING_FOUND, 2), process.stderr)

    def test_long_sequences(self):
        sequences = [("none", ""), ("long", self.genome * 120), ("short", self.genome[:9000])]
        self.file("long.fa", common.fasta(sequences))
        self.check_query(3, "--reads", "long.fa")
        self.check_query(2, "--format", "bedgraph", "--reads", "long.fa")
        self.check_query(3, "--format", "bed", "--min-count", 0, "--max-count", 0, "--reads", "long.fa")

    def test_parts_that_are_not_whole_records(self):
        # Qualities of several lines, among which records of four lines seem to begin.
        quality = "\n".join(["@r\nACGT\n+\nIIII\n@x"] * 40)
        bases = self.genome[: len(quality) - quality.count("\n")]
        awkward = f"@awkward\n{bases}\n+\n{quality}\n".encode()
        self.file("lines.fq", self.reads[:1_000_000].rpartition(b"@read")[0] + awkward * 1500 + self.reads)
        self.file("after.fq", self.reads[:600_000].rpartition(b"@read")[0])
        self.check_query(3, "--reads", "lines.fq", "after.fq")
        damaged = self.reads[:1_500_000].rpartition(b"@read")[0] + b"@damaged\nACGT\n+\nI\n" + self.reads
        self.check_error("damaged", damaged)
        self.check_error("bad_base", damaged.replace(b"ACGT\n+\nI\n", b"AC!T\n+\nIIII\n"))

    def check_error(self, name, text):
        """The same sentence as of one process, and no file."""
        self.file(name, text)
        alone = self.run_process("query", self.index, "-q", "-o", "out.tsv", "--reads", "genome.fa", name, "genome.fa")
        self.assertEqual(alone.returncode, INPUT)
        process = self.ranks(3, "query", self.index, "-q", "-o", "out.tsv", "--reads", "genome.fa", name, "genome.fa")
        self.assertEqual((process.returncode, self.error_lines(process)), (INPUT, [alone.stderr.decode().rstrip("\n")]))
        self.assertNotIn("out.tsv", self.files())

    def test_failures(self):
        self.file("reads.fq", self.reads)
        self.check_refused(3, INPUT, "missing.fq", "query", self.index, "-o", "out", "--reads", "reads.fq", "missing.fq")
        cut = gzip.compress(self.reads, 1)[:-200_000]
        self.check_error("cut.gz", cut)
        limited = self.file("limited", f'#!/bin/sh\ntrap "" XFSZ\nulimit -f 100\nexec "{common.WARPMER}" "$@"\n')
        limited.chmod(0o755)
        arguments = ["query", self.index, "--profile", "-o", "out", "--reads", "reads.fq"]
        self.check_refused(3, RESOURCE, "write.*'out'.*ulimit", *arguments, program=limited)

    def test_killed_rank(self):
        self.file("reads.fq", self.reads * 3)
        for killed in 0, 2:
            self.check_killed(3, killed, IN_SECOND_BATCH, "query", self.index, "--profile", "-o", "killed.tsv", "--reads", "reads.fq")


if __name__ == "__main__":
    common.main()
