#!/usr/bin/env python3
"""`warpmer-bench starfish` from outside: every figure, tiny, on the CPU; what it reports, and what it refuses."""
# ctest: one thread

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BENCH = os.environ["WARPMER_BENCH"]


def run(*arguments):
    device = () if "--device" in arguments else ("--device", "cpu")
    return subprocess.run([BENCH, "starfish", "--child", "2000", "--rounds", "1", *device, *arguments],
                          capture_output=True, text=True, check=False)


class Starfish(unittest.TestCase):
    def measure(self, *arguments):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "rows.json"
            done = run("--json", path, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads(path.read_text(encoding="utf-8"))
        for row in rows:
            self.assertEqual(row["wrong"], 0)
            self.assertEqual(row["verified"], "ok")
            self.assertGreater(row["mops"], 0)
        return rows

    def test_builds(self):
        rows = self.measure("--figure", "4,5,7", "--children", "1,6", "--resident", "1,2,8")
        tables = [("starfish", 1), ("iceberg", None), ("slab", None)]
        larger = [("starfish", 1), ("starfish", 2), ("iceberg", None), ("slab", None)]
        self.assertEqual([(row["table"], row["resident"]) for row in rows], 3 * (tables + larger))
        for row in rows:
            if row["table"] != "starfish":
                continue
            children, resident = row["children"], row["resident"]
            self.assertIn(children, (1, 6))
            # Each child that is full goes, once, and none comes back.
            self.assertEqual(row["written"], children - resident)
            self.assertEqual(row["fetches"], 0)
            self.assertEqual(row["rebuild_ms"] is None, row["figure"] != 5)
        memory = {(row["table"], row["resident"], row["pairs"]): row["table_mb"] for row in rows}
        self.assertEqual(memory["starfish", 1, 2000], memory["starfish", 1, 12000])
        self.assertGreater(memory["iceberg", None, 12000], 2.5 * memory["starfish", 2, 12000])

    def test_queries(self):
        rows = self.measure("--figure", "6", "--asked", "5", "--resident", "2,5", "--queries", "700,3000")
        self.assertEqual(len(rows), 4 * 3 * 2)
        for row in rows:
            if row["table"] == "starfish":
                # What is asked for of two children brings none when two are there; else the others come.
                self.assertEqual(row["fetches"], 3 if row["resident"] == 2 and row["span"] == 10000 else 0)

    def test_refusals(self):
        for arguments, words in ((("--figure", "3"), "there are 4 to 7"), (("--resident", "0"), "--resident 0"),
                                 (("--load", "0.95"), "--load 0.95"), (("--children", "9999999"), "32-bit keys"),
                                 (("--asked", "1"), "at least 2"), (("--device", "gpu"), "--device gpu"),
                                 (("--children", "0"), "nothing to build")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
