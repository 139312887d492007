#!/usr/bin/env python3
"""`warpmer-bench distributed`, `exchange` and `multisplit` from outside: what they refuse; and on a GPU, which acts as
several, that rows are right and reports agree."""

import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BENCH = os.environ["WARPMER_BENCH"]


def run(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False)


HAS_GPU = run("multisplit", "--size", "4", "--parts", "2", "--element", "8", "--rounds", "1").returncode == 0


class Refusals(unittest.TestCase):
    def check(self, status, word, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, status, (arguments, done.stderr))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(word, done.stderr)

    def test_usage(self):
        for command, option, value in (
            ("distributed", "--size", "33"), ("distributed", "--size", "3"), ("distributed", "--keys", "gauss"),
            ("distributed", "--side", "disk"), ("distributed", "--load", "1"), ("distributed", "--load", "0"),
            ("distributed", "--repeats", "0.5"), ("distributed", "--pipelines", "0"), ("distributed", "--batch", "31"),
            ("distributed", "--rounds", "0"), ("exchange", "--part", "0"), ("exchange", "--rounds", "0"),
            ("multisplit", "--parts", "65"), ("multisplit", "--parts", "0"), ("multisplit", "--element", "12"),
            ("multisplit", "--what", "1"),
        ):
            self.check(2, option, command, option, value)

    def test_no_such_device(self):
        for command in ("distributed", "exchange", "multisplit"):
            self.check(4, "--device 99" if HAS_GPU else "GPU", command, "--device", "99")

    @unittest.skipIf(HAS_GPU, "there is a GPU")
    def test_no_gpu(self):
        for command in ("distributed", "exchange", "multisplit"):
            self.check(4, "GPU", command)


@unittest.skipUnless(HAS_GPU, "there is no GPU")
class OnOneGpu(unittest.TestCase):
    def rows(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            done = run(*arguments, "--csv", scratch / "rows.csv", "--json", scratch / "rows.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads((scratch / "rows.json").read_text())
            with open(scratch / "rows.csv", encoding="utf-8", newline="") as file:
                lines = list(csv.DictReader(file))
        self.assertEqual(len(rows), len(lines))
        self.assertEqual(len(done.stdout.splitlines()), len(rows) + 1)
        for row, line in zip(rows, lines):
            self.assertEqual(list(row), list(line))
            self.assertEqual(row["verified"], "ok", row)
        return rows

    def test_distributed(self):
        rows = self.rows("distributed", "--device", "0,0,0", "--count", "1,3", "--size", "16", "--batch", "12", "--keys",
                         "unique,uniform,zipf", "--side", "device,host", "--pipelines", "1,2", "--rounds", "2")
        self.assertEqual(len(rows), 2 * 3 * 2 * 2 * 2)
        for row in rows:
            self.assertEqual((row["pairs"], row["gpus"], row["overflow"]), (1 << 16, 1, 0))
            self.assertGreater(row["load"], 0.85)
            self.assertEqual(row["distinct"] == row["pairs"], row["keys"] == "unique")
            self.assertGreater(row["table"], 0)
            if row["devices"] == 1:
                self.assertAlmostEqual(row["efficiency"], 1)
            if row["operation"] == "insert":
                self.assertEqual((row["give_back"], row["restore"], row["download"]), (0, 0, 0))
        (weak,) = [row for row in self.rows("distributed", "--device", "0,0", "--size", "14", "--each")
                   if row["operation"] == "find"]
        self.assertEqual(weak["pairs"], 1 << 15)

    def test_exchange(self):
        for route in ((), ("--through-host",)):
            rows = self.rows("exchange", "--device", "0,0,0", "--part", "0.01,1", *route)
            self.assertEqual([row["order"] for row in rows], ["ring", "same"] * 2)
            self.assertEqual({row["route"] for row in rows}, {"host" if route else "direct"})

    def test_multisplit(self):
        rows = self.rows("multisplit", "--size", "15", "--parts", "1,2,64")
        self.assertEqual([(row["bytes"], row["parts"]) for row in rows],
                         [(bytes, parts) for bytes in (4, 8, 16, 32) for parts in (1, 2, 64)])


if __name__ == "__main__":
    unittest.main()
