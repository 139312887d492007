#!/usr/bin/env python3
"""What GPUs write, bytes and text, is what a CPU writes: random reads, shallow and deep, with errors and repeats.

Without a GPU, a CPU takes its place: one that acts as three devices where k-mers are counted.
"""

import json
import random
import subprocess

from common_cli import DONE, WARPMER, CliTest, main, random_bases, reverse_complement
from common_tier import UNDER_TSAN, by_tier

LENGTHS = (13, 15, 17, 21, 21, 27, 31, 31, 31, 32, 33, 35, 36, 47, 48, 55, 55, 63, 64)
SOCKET = "s.sock"


class Sample:
    """Reads of a genome, and how they are counted."""

    def __init__(self, seed, has_gpu):
        self.chance = chance = random.Random(seed)
        self.k = chance.choice(LENGTHS)
        genome = random_bases(chance, chance.choice((300, 2000, 10_000)))
        if chance.random() < 0.5:  # repeats
            genome = genome + genome[: len(genome) // 2] + genome[: len(genome) // 4]
        self.genome = genome
        self.coverage = min(chance.choice((3, 30, 300, 1000)), by_tier(3_000_000, 1_000_000) // len(genome))
        self.error_rate = chance.choice((0, 0.002, 0.01, 0.05))
        self.strand = chance.choice(([], [], ["--forward"]))
        self.bounds = chance.choice(([], [], ["--min-count", 2], ["--max-count", 9]))
        self.table = chance.choice(([], [], ["--table", "slab"], ["--table", "hashgraph"], ["--table", "bcht"], ["--table", "iceberg"]))
        self.memory = chance.choice(([], ["--device-memory", "600M"])) if has_gpu else []

    def __str__(self):
        return (f"k {self.k}, {len(self.genome)} bp, {self.coverage}x, errors {self.error_rate}, "
                f"{self.strand} {self.bounds} {self.table} {self.memory}")

    @classmethod
    def deep(cls):
        """Many groups of so many k-mers that several of them share a bucket of the index."""
        sample = cls(0, False)
        sample.k, sample.genome, sample.coverage, sample.error_rate = 55, random_bases(sample.chance, 40_000), 300, 0.02
        sample.strand, sample.bounds, sample.table = [], [], []
        return sample

    def reads(self, share):
        length = min(150, len(self.genome))
        gap = 1  # bases up to the next error
        lines = []
        for i in range(max(1, int(share * self.coverage * len(self.genome) / length))):
            begin = self.chance.randrange(len(self.genome) - length + 1)
            read = self.genome[begin : begin + length]
            while self.error_rate and gap <= length:
                read = read[: gap - 1] + self.chance.choice("ACGT") + read[gap:]
                gap += 1 + int(self.chance.expovariate(self.error_rate))
            gap -= length if self.error_rate else 0
            if self.chance.random() < 0.5:
                read = reverse_complement(read)
            lines.append(f"@{i}\n{read}\n+\n{'I' * length}\n")
        return "".join(lines)


class DeviceResults(CliTest):
    def setUp(self):
        super().setUp()
        devices = json.loads(self.warpmer("devices", "--json"))
        self.has_gpu = any(gpu["problem"] is None for gpu in devices["gpus"])
        self.device = "cuda" if self.has_gpu else "cpu"
        self.counting_device = "cuda" if self.has_gpu else "cpu:3"

    def with_samples(self, seed, check):
        """Calls `check(sample)` of samples. Some reads of each are x.fq, and others y.fq."""
        seeds = range(1000 * seed, 1000 * seed + (by_tier(30, 10) if self.has_gpu else by_tier(8, 2)))
        deep = [Sample.deep()] if self.has_gpu or (seed == 1 and not UNDER_TSAN) else []
        for sample in (*deep, *(Sample(each, self.has_gpu) for each in seeds)):
            self.file("x.fq", sample.reads(1))
            self.file("y.fq", sample.reads(0.2))
            with self.subTest(sample=str(sample)):
                check(sample)

    def same_index(self, command, *arguments, on_device):
        """Makes an index on a CPU, and another one on the device."""
        self.warpmer(command, *arguments, "--device", "cpu", "-t", 2, "-o", "cpu.wmi", "--force", "-q")
        self.warpmer(command, *arguments, *on_device, "-t", 3, "-o", "device.wmi", "--force", "-q")
        self.assertEqual(self.checksum("device.wmi"), self.checksum("cpu.wmi"), (command, arguments))
        self.warpmer("dump", "device.wmi", "-o", "/dev/null")  # reads it all

    def test_counts_and_changes(self):
        def check(sample):
            counting = ["count", "-k", sample.k, *sample.strand]
            self.same_index(*counting, *sample.bounds, "x.fq", on_device=[*sample.table, *sample.memory, "--device", self.counting_device])
            self.warpmer(*counting, "-o", "was.wmi", "--force", "x.fq")
            update = [*sample.memory, "--device", self.device]
            self.same_index("update", "was.wmi", "--add", "y.fq", on_device=update)
            self.warpmer("update", "was.wmi", "--add", "y.fq", "-o", "now.wmi", "--force")
            self.same_index("update", "now.wmi", "--remove", "y.fq", on_device=update)
            self.assertEqual(self.checksum("device.wmi"), self.checksum("was.wmi"))

        self.with_samples(1, check)

    def test_lookups(self):
        def check(sample):
            self.warpmer("count", "-k", sample.k, *sample.strand, "-o", "x.wmi", "--force", "x.fq")
            rules = ([], ["-v"], ["--min-kmers", 5], ["--min-count", 2], ["--trim"], ["--mask"], ["--max-fraction", 0.5])
            for arguments in (["query", "x.wmi", "--reads", "y.fq"], ["query", "x.wmi", "--profile", "--reads", "y.fq"],
                              ["filter", "x.wmi", "y.fq", *sample.chance.choice(rules)]):
                expected = self.warpmer(*arguments, "-q", "--device", "cpu", "-t", 2)
                self.assertTrue(self.warpmer(*arguments, "-q", "--device", self.device, "-t", 3) == expected, arguments)

        self.with_samples(2, check)

    def test_live_tables(self):
        def check(sample):
            device = ["--device", "cpu"]
            if self.has_gpu:
                tables = ([], ["--table", "slab"], ["--table", "starfish", "-m", "3G"])
                device = ["--device", "cuda", "--device-memory", "3G", *sample.chance.choice(tables)]
            self.warpmer("count", "-k", sample.k, *sample.strand, "-o", "x.wmi", "--force", "x.fq")
            server = subprocess.Popen([WARPMER, "serve", "-k", str(sample.k), *sample.strand, *device, "--socket", SOCKET],
                                      cwd=self.folder, stderr=subprocess.PIPE)
            try:
                self.assertIn(b" serves ", server.stderr.readline(), device)
                for command, reads in (("add", "x.fq"), ("add", "y.fq"), ("remove", "y.fq")):
                    self.warpmer(command, "--server", SOCKET, reads)
                self.warpmer("save", "--server", SOCKET, "-o", "live.wmi", "--force")
            finally:
                server.terminate()
                server.stderr.close()
                status = server.wait(timeout=60)
            self.assertEqual((self.checksum("live.wmi"), status), (self.checksum("x.wmi"), DONE), device)

        self.with_samples(3, check)


if __name__ == "__main__":
    main()
