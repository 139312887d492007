#!/usr/bin/env python3
"""Several processes under mpirun write what one process writes, and fail together. Skipped where there is no mpirun, or
no module for MPI beside warpmer.

ctest: long; ctest: release only (MPI is no place for sanitizers; unit/ranks runs ranks as threads)
"""

import gzip
import json
import shutil

import common_cli as common
from common_cli import DONE, INPUT, RESOURCE, USAGE
from common_ranks import IN_SECOND_BATCH, RanksTest, bgzf


class Ranks(RanksTest):
    def check_count(self, number, k, *inputs, options=(), stdin=b""):
        """The same command as one process and as ranks: the same file, provenance and all."""
        command = ["count", "-k", k, "-t", 2, "-o", "out.wmi", *options, *inputs]
        self.warpmer(*command, stdin=stdin)
        wanted = (self.folder / "out.wmi").read_bytes()
        (self.folder / "out.wmi").unlink()
        process = self.ranks(number, *command, stdin=stdin)
        self.done(process, command)
        self.assertTrue((self.folder / "out.wmi").read_bytes() == wanted, (number, command))

    def check_query(self, number, *arguments, stdin=b""):
        wanted = self.warpmer("query", *arguments, stdin=stdin)
        process = self.ranks(number, "query", *arguments, stdin=stdin)
        self.done(process, arguments)
        self.assertTrue(process.stdout.decode() == wanted, (number, arguments))

    def test_one_large_file(self):
        self.file("reads.fq", self.reads)
        self.file("reads.fq.gz", bgzf(self.reads))
        self.check_count(1, 31, "reads.fq")
        self.check_count(3, 21, "reads.fq")
        self.check_count(2, 31, "reads.fq.gz")
        self.check_count(2, 31, "reads.fq", options=("--device", "cpu:2", "--min-count", 2))

    def test_streams(self):
        self.file("reads.gz", gzip.compress(self.reads, 1))
        self.check_count(5, 5, "reads.gz")
        self.check_count(3, 55, "-", stdin=self.reads)
        wanted = self.run_process("count", "-k", 31, "-o", "-", "reads.gz").stdout
        process = self.ranks(3, "count", "-k", 31, "-o", "-", "reads.gz")
        self.assertEqual(process.returncode, DONE)
        self.assertTrue(process.stdout == wanted)

    def test_many_files_and_few_records(self):
        names = [self.file(f"{i}.fa", common.fasta([(f"s{i}", self.genome[i * 1000 : i * 1500 + 40])])).name for i in range(7)]
        self.file("list", "\n".join([*names, "empty.fq"]))
        self.file("empty.fq", "")
        self.check_count(4, 55, "@list")
        self.check_count(4, 55, "@-", stdin=(self.folder / "list").read_bytes())
        self.check_count(5, 12, names[1], names[3])
        self.file("two.fq", "@a\n" + self.genome[:40] + "\n+\n" + "@" * 40 + "\n@b\nACGTT\n+\n@@@@@\n")
        self.check_count(5, 31, "two.fq")

    def test_file_that_cannot_be_divided(self):
        # Records of several lines: what looks like a record of four lines in the middle of one is none.
        false_start = "@read 7\n" + "A" * 7 + "\n+\n" + "@" * 7 + "\n"
        lines = [self.genome[i * 150 : i * 150 + 150] for i in range(4)]
        record = "@long\n" + "\n".join(lines) + "\n+\n" + "\n".join("I" * 150 for _ in lines) + "\n"
        self.file("lines.fq", (record * 3 + false_start) * 700)
        self.check_count(3, 31, "lines.fq")
        self.check_count(3, 31, "@-", stdin=b"lines.fq\n")  # whatever is read again is no list
        (self.folder / "out.wmi").unlink()
        self.file("damaged.fq", self.reads[:1_500_000] + b"@damaged\nACGT\n+\nI\n" + self.reads[1_500_000:])
        alone = self.run_process("count", "-o", "out.wmi", "damaged.fq")
        process = self.ranks(3, "count", "-o", "out.wmi", "damaged.fq")
        self.assertEqual(process.returncode, INPUT)
        self.assertEqual(self.error_lines(process), [alone.stderr.decode().rstrip("\n")])
        self.assertNotIn("out.wmi", self.files())

    def test_stats(self):
        self.file("reads.fq", self.reads)
        process = self.ranks(3, "count", "-o", "out.wmi", "--stats", "stats.json", "reads.fq")
        self.done(process)
        stats = json.loads((self.folder / "stats.json").read_text())
        self.assertEqual(len(stats["ranks"]), 3)
        self.assertEqual(sum(rank["distinct_kmers"] for rank in stats["ranks"]), stats["totals"]["counted_distinct"])
        self.assertTrue(all(rank["super_kmers"] > 0 for rank in stats["ranks"]))

    def test_query(self):
        self.file("reads.fq", self.reads)
        self.file("reads.fq.gz", bgzf(self.reads))
        self.file("genome.fa", common.fasta([("one", self.genome), ("none", ""), ("two", self.genome[:9000] * 500)]))
        self.count("reads.fq", k=21, output="index.wmi")
        self.check_query(3, "index.wmi", "--reads", "reads.fq.gz", "genome.fa")
        self.check_query(2, "index.wmi", "--profile", "--reads", "-", stdin=self.reads[:1_500_000].rpartition(b"@read")[0])
        self.check_query(3, "index.wmi", "--format", "bedgraph", "--reads", "genome.fa")

    def test_killed_rank(self):
        self.file("reads.fq", self.reads * 3)
        for killed in 0, 1:
            self.check_killed(3, killed, IN_SECOND_BATCH, "count", "-k", 21, "-o", "killed.wmi", "reads.fq")

    def test_failing_rank(self):
        self.file("reads.fq", self.reads)
        self.file("bad.fa", ">bad\nACGT!CGT\n")
        self.check_refused(3, INPUT, "bad.fa.*'!'", "count", "-o", "out.wmi", "reads.fq", "bad.fa")
        self.check_refused(3, INPUT, "missing.fq", "count", "-o", "out.wmi", "reads.fq", "missing.fq")
        self.check_refused(3, INPUT, "missing.fq.*line 2 of standard input", "count", "-o", "out.wmi", "@-", stdin=b"reads.fq\nmissing.fq\n")
        self.check_refused(3, RESOURCE, "with 1 thread: [0-9]+ MiB would do; raise -m$", "count", "-t", 1, "-m", "40M", "-o", "out.wmi", "reads.fq")
        self.check_refused(2, USAGE, "-k", "count", "-k", 0, "-o", "out.wmi", "reads.fq")
        self.check_refused(2, RESOURCE, "folder/out.wmi", "count", "-o", "folder/out.wmi", "reads.fq")
        script = self.file("limited", f'#!/bin/sh\ntrap "" XFSZ\nulimit -f 100\nexec "{common.WARPMER}" "$@"\n')
        script.chmod(0o755)
        self.check_refused(3, RESOURCE, "out.wmi.*ulimit", "count", "-o", "out.wmi", "reads.fq", program=script)

    def test_ranks_that_are_told_otherwise(self):
        """Each by its own command line: one job would have been made of several, or none."""
        self.file("reads.fq", self.reads)
        self.file("other.fq", self.reads[: len(self.reads) // 2])
        count = ["count", "-t", 1, "--device", "cpu"]
        first = [*count, "-k", 21, "-o", "a.wmi", "reads.fq"]
        for second in (
            [*count, "-k", 21, "-o", "b.wmi", "reads.fq"],
            [*count, "-k", 21, "-o", "a.wmi", "other.fq"],
            [*count, "-k", 31, "-o", "a.wmi", "reads.fq"],
            [*count, "-k", 21, "-o", "a.wmi", "--forward", "reads.fq"],
            ["count", "-t", 1, "-k", 21, "-o", "a.wmi", "reads.fq"],
            ["histo", "reads.fq"],
            ["--version"],
            ["count", "--help"],
            [],
        ):
            for one, two in (first, second), (second, first):
                words = ["-n", 1, common.WARPMER, *one, ":", "-n", 1, common.WARPMER, *two]
                self.check_mpirun_refused(words, USAGE, "rank 1 of MPI was started with another command line.*srun --mpi=none")
        own = ["count", "--output=a.wmi", "-k21", "--tmp-dir", ".", "-m", "1G", "-q", "--device", "cpu", "reads.fq"]
        self.done(self.mpirun(["-n", 1, common.WARPMER, *first, ":", "-n", 1, common.WARPMER, *own]), own)
        self.assertEqual(self.ranks(2, "--version").stdout.count(b"warpmer"), 1)
        self.assertEqual(self.ranks(2, "devices").stdout.count(b"instruction set"), 1)

    def test_memory_above_the_grant(self):
        """One warns for all."""
        self.file("reads.fq", self.reads)
        command = ["count", "-t", 1, "-m", "300M", "-o", "out.wmi", "reads.fq"]
        process = self.ranks(3, *command, environment={"SLURM_MEM_PER_NODE": "600"})
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr.count(b"-m 300 MiB is more than the 200 MiB"), 1, process.stderr)
        self.check_refused(3, INPUT, "-m 300 MiB is more.*strict", *command[:-2], "new.wmi", "reads.fq", "--strict", environment={"SLURM_MEM_PER_NODE": "600"})

    def test_ranks_with_other_indexes(self):
        """By one name, as where an old copy is on a node's own disk."""
        self.file("reads.fq", self.reads)
        for folder, k in ("new", 21), ("old", 15):
            (self.folder / folder).mkdir()
            self.count("reads.fq", k=k, output=f"{folder}/i.wmi")
        command = [common.WARPMER, "query", "i.wmi", "--reads", self.folder / "reads.fq"]
        words = ["-n", 1, "--wdir", self.folder / "new", *command, ":", "-n", 1, "--wdir", self.folder / "old", *command]
        self.check_mpirun_refused(words, INPUT, "i.wmi: rank 1 of MPI has opened another index")

    def test_gpus_of_ranks(self):
        """What has to be said where there are no GPUs for them, or not for all."""
        self.file("reads.fq", self.reads)
        command = ("count", "-o", "out.wmi", "reads.fq", "--device")
        self.check_refused(2, RESOURCE, "--device cuda: .*--device cpu", *command, "cuda", environment={"CUDA_VISIBLE_DEVICES": ""})

    def test_not_for_ranks(self):
        self.file("reads.fq", "@a\nACGTACGT\n+\nIIIIIIII\n")
        self.count("reads.fq", k=5)
        self.check_refused(2, USAGE, "only count, query and devices run on several ranks", "histo", "out.wmi")
        self.check_refused(2, USAGE, "--reads", "query", "out.wmi", "ACGTA")
        alone = shutil.copy(common.WARPMER, self.folder / "warpmer")
        self.check_refused(2, RESOURCE, "a job of 2 processes needs the module warpmer_mpi.so, which is not beside", "count", "-o", "new.wmi", "reads.fq", program=alone)


if __name__ == "__main__":
    common.main()
