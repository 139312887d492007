#!/usr/bin/env python3
"""`warpmer devices` and `--device`, on whatever machine this is: with a GPU or without, with CUDA or without."""

import json
import random

from common_cli import DATA, RESOURCE, CliTest, main, naive_count, read_sequences

READS = DATA / "forty.fa"


class Devices(CliTest):
    def setUp(self):
        super().setUp()
        self.devices = json.loads(self.warpmer("devices", "--json"))
        self.usable = [gpu["device"] for gpu in self.devices["gpus"] if gpu["problem"] is None]

    def test_list(self):
        text = self.warpmer("devices")
        for part in ("cpu\n", "instruction set", "cores", "auto", *(gpu["device"] for gpu in self.devices["gpus"])):
            self.assertIn(part, text)
        self.assertGreater(self.devices["cpu"]["cores"], 0)
        self.assertGreater(self.devices["cpu"]["memory_bytes"], 0)
        self.assertIn(self.devices["auto"]["device"], ["cpu", *self.usable])
        self.assertTrue(self.devices["auto"]["why"])
        if not self.devices["gpus"]:
            self.assertTrue(self.devices["problem"])
            self.assertEqual([line for line in text.splitlines() if line.startswith("no GPU ")],
                             [f"{'no GPU':20}{self.devices['problem']}"])

    def test_list_to_a_file(self):
        self.warpmer("devices", "-o", "devices.txt")
        self.assertEqual(self.files(), ["devices.txt"])

    def test_auto_is_reported(self):
        self.count(READS, k=21, options=["--stats", "run.json", "--device", "auto"])
        report = json.loads((self.folder / "run.json").read_text())
        self.assertTrue(report["device"].startswith("cpu"))  # for so few reads
        self.assertTrue(report["device_choice"])
        self.assertIn("overlap", report)

    def test_loads_of_owners(self):
        """All super-k-mers and distinct k-mers are somebody's, and nobody has many more than others."""
        chance = random.Random(3)
        genome = "".join(chance.choices("ACGT", k=500_000))
        self.file("genome.fa", f">g\n{genome}\n")
        super_kmers = set()
        for owners in (1, 2, 5, 16):
            self.count("genome.fa", k=31, options=["--stats", "run.json", "--device", f"cpu:{owners}", "-t", "2"])
            report = json.loads((self.folder / "run.json").read_text())
            self.assertEqual(len(report["owners"]), owners)
            distinct = [owner["distinct_kmers"] for owner in report["owners"]]
            self.assertEqual(sum(distinct), report["totals"]["counted_distinct"])
            self.assertLess(max(distinct) * owners / sum(distinct), 1.1)
            super_kmers.add(sum(owner["super_kmers"] for owner in report["owners"]))
        self.assertEqual(len(super_kmers), 1)
        self.assertGreater(super_kmers.pop(), 500_000 / 18)  # there are 18 m-mers in a k-mer
        self.count(READS, k=11, options=["--stats", "run.json", "--device", "cpu:4"])  # one array, no shards
        self.assertEqual(json.loads((self.folder / "run.json").read_text())["owners"], [])

    def test_a_gpu_that_cannot_be_used_is_no_cpu(self):
        index = self.count(READS, k=21)
        absent = ["cuda:9999"] if self.usable else ["cuda", "cuda:0", "cuda:9999"]
        for device in absent:
            self.refused(RESOURCE, f"--device {device}: ", "count", "--device", device, "-o", "gpu.wmi", READS)
            self.refused(RESOURCE, f"--device {device}: ", "query", "--device", device, index, "--reads", READS)

    def test_every_usable_gpu_counts_and_looks_up_as_the_cpu(self):
        if not self.usable:
            self.skipTest("no GPU that warpmer can use")
        index = self.count(READS, k=21, options=["--device", "cpu"])
        self.assertEqual(self.dump(index), naive_count([s for _, s in read_sequences(READS)], 21))
        on_cpu = self.warpmer("query", "--device", "cpu", "--profile", index, "--reads", READS)
        for device in ("cuda", *self.usable):
            on_gpu = self.count(READS, k=21, options=["--device", device], output=f"{device}.wmi")
            self.assertEqual(self.dump(on_gpu), self.dump(index))
            options = ["--device", device, "--profile"]
            self.assertEqual(self.warpmer("query", *options, index, "--reads", READS), on_cpu)


if __name__ == "__main__":
    main()
