#!/usr/bin/env python3
"""Predictions of `warpmer plan` against what counting then finds and takes.

ctest: release only
"""

import gzip
import json
import os
import pathlib
import re
import subprocess

from common_cli import INPUT, RESOURCE, USAGE, CliTest, main

BUILD = pathlib.Path(os.environ.get("WARPMER_BUILD", "build/cpu"))
SHARED = pathlib.Path(os.environ.get("WARPMER_SHARED", "/nonexistent")) / "data"


class Plan(CliTest):
    def simulate(self, *options):
        program = BUILD / "bin" / "simulate_reads"
        if not program.exists():
            self.skipTest("no simulate_reads")
        subprocess.run([program, "-t", "2", *map(str, options)], cwd=self.folder, check=True, capture_output=True)

    def plan(self, *arguments, stdin=b""):
        return json.loads(self.warpmer("plan", "--json", *arguments, stdin=stdin))

    def within(self, prediction, truth, what):
        self.assertLessEqual(prediction["low"], prediction["estimate"], what)
        self.assertLessEqual(prediction["estimate"], prediction["high"], what)
        self.assertLessEqual(prediction["low"], truth, what)
        self.assertGreaterEqual(prediction["high"], truth, what)

    def check(self, plans, *arguments):
        """Each plan of these arguments, with options of its own, against the one job."""
        self.warpmer("count", *arguments, "-o", "out.wmi", "--stats", "stats.json")
        stats = json.loads((self.folder / "stats.json").read_text())
        found = []
        for options in plans:
            with self.subTest(options=options, arguments=arguments):
                plan = self.plan(*options, *arguments)
                self.within(plan["kmers"], stats["totals"]["counted_kmers"], "kmers")
                self.within(plan["distinct_kmers"], stats["totals"]["counted_distinct"], "distinct")
                self.within(plan["stored_kmers"], stats["totals"]["stored_distinct"], "stored")
                self.within(plan["index_bytes"], stats["index_bytes"], "index")
                self.within(plan["peak_resident_bytes"], stats["peak_resident_bytes"], "peak memory")
                self.within(plan["temporary_bytes"], stats["spilled"]["written_bytes"], "temporary bytes")
                self.assertTrue(plan["fits"])
                self.assertEqual(plan["read_everything"], "--sample" not in options)
                found.append(plan)
        return found

    def test_reads(self):
        self.simulate("--genome-length", "2M", "--coverage", 6, "--write-genome", "genome.fa", "-o", "reads.fq")
        plans = (["--full"], ["--sample", "12M"], ["--sample", "2M"])
        full, half, _ = self.check(plans, "-t", 2, "-m", "1G", "--min-count", 2, "reads.fq")
        self.assertEqual(full["distinct_kmers"]["low"], full["distinct_kmers"]["high"])
        self.assertLess(half["distinct_kmers"]["high"], 1.5 * half["distinct_kmers"]["low"])
        self.check((["--full"], ["--sample", "1M"]), "-t", 2, "-m", "200M", "-k", 21, "genome.fa")
        # In order only, and the beginning is all there is to see.
        with gzip.open(self.folder / "reads.fq.gz", "wb", compresslevel=1) as file:
            file.write((self.folder / "reads.fq").read_bytes())
        (begun,) = self.check((["--sample", "2M"],), "-t", 1, "-m", "1G", "-k", 50, "reads.fq.gz")
        self.assertEqual(begun["inputs_begun_only"], 1)
        # The same for any number of threads, and from count.
        names = ("kmers", "distinct_kmers", "stored_kmers", "index_bytes", "super_kmer_bytes", "locality")
        numbers = [[self.plan("--sample", "3M", "-t", threads, "reads.fq")[name] for name in names] for threads in (1, 2)]
        self.assertEqual(numbers[0], numbers[1])
        planned, dry = self.warpmer("plan", "reads.fq"), self.warpmer("count", "--dry-run", "reads.fq")
        self.assertEqual(planned.partition("device")[0], dry.partition("device")[0])
        self.assertIn("\nfits                yes\n", dry)

    def test_only(self):
        """Of chosen k-mers: what `count --only` finds and takes."""
        self.simulate("--genome-length", "2M", "--coverage", 6, "--write-genome", "genome.fa", "-o", "reads.fq")
        lines = (self.folder / "genome.fa").read_text().splitlines()
        self.file("panel.fa", ">p\n" + "".join(line for line in lines if not line.startswith(">"))[:200_000] + "\n")
        self.warpmer("count", "panel.fa", "-o", "panel.wmi")
        before = self.files()
        for only in ("panel.fa", "panel.wmi"):
            full, _ = self.check((["--full"], ["--sample", "6M"]), "-t", 2, "-m", "1G", "--only", only, "reads.fq")
            self.assertTrue(0 < full["distinct_kmers"]["high"] <= 200_000)
        planned, dry = (self.warpmer(*command, "--only", "panel.fa", "reads.fq") for command in (["plan"], ["count", "--dry-run"]))
        self.assertEqual(planned.partition("device")[0], dry.partition("device")[0])
        self.assertEqual(self.files(), sorted([*before, "out.wmi", "stats.json"]))
        self.warned("none of the k-mers of other.fa is in what was read", "plan", "--only", self.file("other.fa", ">x\n" + "ACGGT" * 20 + "\n").name, "reads.fq")
        self.refused(USAGE, "panel.wmi of --only was made with k = 31", "plan", "-k", 21, "--only", "panel.wmi", "reads.fq")
        self.refused(USAGE, "standard input is named twice", "plan", "--full", "--only", "-", "-")

    def test_real_data(self):
        names = ("small/illumina18_150bp.fq.gz", "small/NA12878_hiseq_chr20_first500.bam", "small/ebola_many.fasta.gz",
                 "medium/portiera_SRR2838702_R2.fastq.gz", "medium/sarscov2_418genomes_nextstrain.fasta.gz")
        paths = [SHARED / name for name in names if (SHARED / name).exists()]
        if not paths:
            self.skipTest("no shared data")
        for path in paths:
            plans = [["--full"]] + ([["--sample", "1M"]] if path.stat().st_size > 1 << 20 else [])
            self.check(plans, "--lenient", "-t", 2, "-m", "1G", path)

    def test_memory_too_small(self):
        self.simulate("--genome-length", "24M", "--coverage", 0.01, "--write-genome", "genome.fa", "-o", "reads.fq")

        def refusal(memory):
            plan = self.plan("--full", "-t", 1, "-m", f"{memory}M", "genome.fa")
            self.assertFalse(plan["fits"])
            self.assertIn("raise -m", plan["refusal"])
            self.refused(RESOURCE, "raise -m", "count", "-t", 1, "-m", f"{memory}M", "-o", "out.wmi", "genome.fa")
            return plan["refusal"], plan["needed_memory_bytes"]["high"] >> 20

        text, needed = refusal(30)
        self.assertIn("-m 30 MiB is too little for counting 31-mers with 1 thread: ", text)
        cap = f"{needed + 1}M"
        plan = self.plan("--full", "-t", 1, "-m", cap, "genome.fa")
        self.assertTrue(plan["fits"])
        self.warpmer("count", "-t", 1, "-m", cap, "--stats", "stats.json", "-o", "out.wmi", "genome.fa")
        spilled = json.loads((self.folder / "stats.json").read_text())["spilled"]["written_bytes"]
        self.assertGreater(spilled, 0)
        self.within(plan["temporary_bytes"], spilled, "temporary bytes")

    def test_the_cap_that_a_refusal_names_will_do(self):
        self.file("one.fq", "@r\n" + "ACGTTGCA" * 5 + "\n+\n" + "I" * 40 + "\n")
        for k in (31, 12, 5):
            for threads in (1, 3):
                with self.subTest(k=k, threads=threads):
                    job = ("-k", k, "-t", threads, "one.fq")
                    named = re.search(r"(\d+) MiB would do", self.plan("-m", "10M", *job)["refusal"])[1]
                    self.assertTrue(self.plan("-m", f"{named}M", *job)["fits"])
                    self.warpmer("count", "-m", f"{named}M", "-o", "out.wmi", *job)

    def test_a_tmp_directory_that_cannot_do(self):
        """As in counting: one that was chosen is looked at, if anything may be spilled."""
        self.file("one.fq", "@r\n" + "ACGTTGCA" * 5 + "\n+\n" + "I" * 40 + "\n")
        for directory in ("not/there", "one.fq"):
            plan = self.plan("--tmp-dir", directory, "one.fq")
            self.assertFalse(plan["fits"])
            self.assertIn(f"cannot make a temporary file in '{directory}'", plan["refusal"])
            self.assertIn(f"'{directory}'", self.warpmer("count", "--dry-run", "--tmp-dir", directory, "one.fq"))
            self.refused(RESOURCE, f"'{directory}'", "count", "--tmp-dir", directory, "-o", "out.wmi", "one.fq")
            self.assertTrue(self.plan("-k", 12, "--tmp-dir", directory, "one.fq")["fits"])
            self.assertIn("-m", self.plan("-m", "10M", "--tmp-dir", directory, "one.fq")["refusal"])
        self.assertTrue(self.plan("--tmp-dir", "new", "one.fq")["fits"])
        self.assertEqual(self.files(), ["one.fq"])

    def test_counted_early(self):
        # One read again and again: at first nothing says that counting early would pay.
        self.simulate("--genome-length", 150, "--reads", 600000, "--error-rate", 0.005, "-o", "reads.fq")
        (plan,) = self.check((["--full"],), "-t", 1, "-m", "100M", "-k", 31, "reads.fq")
        self.assertEqual(plan["temporary_bytes"]["low"], 0)

    def test_next_to_nothing(self):
        self.file("empty.fq", "")
        self.file("short.fa", ">a\nACGT\n")
        self.file("one.fq", "@r\n" + "ACGTTGCA" * 5 + "\n+\n" + "I" * 40 + "\n")
        for name, kmers in (("empty.fq", 0), ("short.fa", 0), ("one.fq", 10)):
            for options in ([], ["--full"]):
                plan = self.plan("-q", *options, name)
                self.assertEqual(plan["kmers"], {"estimate": kmers, "low": kmers, "high": kmers})
            self.warpmer("plan", "-q", name)
        self.assertEqual(self.plan("-k", 5, "one.fq")["kmers"]["estimate"], 36)

    def test_standard_input(self):
        reads = ">a\n" + "ACGTTGCATT" * 10 + "\n"
        process = subprocess.run(["cat"], input=reads.encode(), capture_output=True, check=True)
        self.assertEqual(self.plan("--full", "-", stdin=process.stdout)["kmers"]["estimate"], 70)
        self.refused(USAGE, "read all of it with --full", "plan", "-", stdin=reads)

    def test_refusals(self):
        self.file("reads.fq", "@r\nACGT\n+\nIII\n")
        self.refused(INPUT, "reads.fq", "plan", "reads.fq")
        self.refused(INPUT, "none.fq", "plan", "none.fq")
        self.refused(USAGE, "--sample", "plan", "--sample", "64", "reads.fq")
        self.refused(USAGE, "leave one of them out", "plan", "--full", "--sample", "64M", "reads.fq")
        self.refused(USAGE, "nothing would be kept", "plan", "--min-count", 3, "--max-count", 2, "reads.fq")
        self.refused(USAGE, "--stats", "count", "--dry-run", "--stats", "s.json", "reads.fq")


if __name__ == "__main__":
    main()
