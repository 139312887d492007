#!/usr/bin/env python3
"""`warpmer-bench tables` from outside: every table, tiny, on the CPU; what it reports, and what it refuses."""

import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BENCH = os.environ["WARPMER_BENCH"]
THRESHOLDS = {"iceberg"} | {f"iceberg-{percent}" for percent in (50, 60, 65, 95)}
WORD_TABLES = {"warpdrive", "bcht", "1cht", "megakv"} | THRESHOLDS
SLAB_HASHES = {"slab": (8, 15), "slab-full": (8, 15), "slab64": (12, 10)}  # bytes of an element, slots of a slab
GROUPED = {"hashgraph-v2-grouped", "hashgraph-v2-grouped-new"}
BINNED = {f"hashgraph-v2-{bins}-bins" for bins in (32, 256, 1024, 4096, 8192)}
UNBINNED = {"hashgraph-v1", "hashgraph-v2", "hashgraph-v2-new"} | GROUPED
HASH_GRAPHS = UNBINNED | BINNED
LISTS = HASH_GRAPHS | {"chained"}  # whose load is elements by lists, and which count no probes
TABLES = WORD_TABLES | set(SLAB_HASHES) | LISTS


def run(*arguments):
    device = () if "--device" in arguments else ("--device", "cpu")
    return subprocess.run([BENCH, "tables", "--threads", "2", *device, *arguments], capture_output=True, text=True,
                          check=False)


class Tables(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def measure(self, *arguments):
        """(rows of the JSON, rows of the CSV, text)."""
        done = run("--csv", self.scratch / "rows.csv", "--json", self.scratch / "rows.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((self.scratch / "rows.json").read_text())
        with open(self.scratch / "rows.csv", encoding="utf-8", newline="") as file:
            return rows, list(csv.DictReader(file)), done.stdout

    def check_sizes(self, row, asked):
        """Of a table of 4096 unique keys: load, bytes and utilization."""
        self.assertAlmostEqual(row["load"], 4096 / row["slots"], places=6)
        if row["table"] in SLAB_HASHES:
            element, slots = SLAB_HASHES[row["table"]]
            used = 128 * row["slots"] / slots
            # As it turns out, not as it is planned.
            self.assertAlmostEqual(row["load"], asked, delta=0.03)
        elif row["table"] in HASH_GRAPHS:
            element, used = 8, 4 * (row["slots"] + 1) + 8 * 4096
            self.assertAlmostEqual(row["load"], asked, places=2)
        elif row["table"] == "chained":
            element, used = 8, 4 * row["slots"] + 16 * 4096
            self.assertAlmostEqual(row["load"], asked, places=2)
        else:
            element, used = 8, 8 * (row["slots"] + (0 if row["table"] == "warpdrive" else 128))
            # Numbers of windows are prime: a little more room than asked for.
            self.assertLess(row["load"], asked + 0.01)
            self.assertGreater(row["load"], asked - 0.05)
        self.assertAlmostEqual(row["bytes_per_key"], used / 4096, places=6)
        self.assertAlmostEqual(row["utilization"], element * 4096 / used, places=6)

    def test_all_tables(self):
        rows, lines, text = self.measure("--size", "12", "--load", "0.5,0.8", "--builds", "2")
        self.assertEqual({row["table"] for row in rows}, TABLES)
        self.assertEqual(len(lines), 4 * len(rows))
        self.assertEqual(len(text.splitlines()), len(rows) + 1)
        for number, row in enumerate(rows):
            self.assertEqual((row["verified"], row["overflow"], row["builds"]), ("ok", 0, 2), row)
            self.assertEqual((row["pairs"], row["distinct"], row["repeats"]), (4096, 4096, 1))
            self.check_sizes(row, 0.5 if number % 2 == 0 else 0.8)
            self.assertEqual([find["hits"] for find in row["find"]], [100, 50, 0])
            for operation in (row["insert"], *row["find"]):
                self.assertGreater(operation["mops"], 0)
                self.assertEqual("probes" in operation, row["table"] not in LISTS)
            if row["table"] in LISTS:
                continue
            probes = [operation["probes"] for operation in (row["insert"], *row["find"])]
            self.assertGreaterEqual(min(probes), 1)
            self.assertLessEqual(probes[1], probes[2] + 0.05)
            self.assertLessEqual(probes[2], probes[3] + 0.05)
            # Awad et al. 2023, section 7.4, of a load a little higher.
            if row["table"] == "bcht" and row["bucket"] == 16 and row["load"] > 0.7:
                self.assertLess(probes[1], 1.15)
            if row["table"] == "megakv":
                self.assertLessEqual(probes[3], 2)
            # At half the load nearly all lists are one slab.
            if row["table"] in SLAB_HASHES and row["load"] < 0.6:
                self.assertLess(probes[3], 1.05)

    def test_csv_and_json_agree(self):
        rows, lines, _ = self.measure("--size", "3000", "--table", "megakv", "--load", "0.7", "--hits", "25")
        (row,) = rows
        insert, find = lines
        self.assertEqual((insert["operation"], insert["hits"]), ("insert", ""))
        self.assertEqual((find["operation"], find["hits"]), ("find", "25"))
        for line in lines:
            for name in ("table", "group", "bucket", "hashes", "pairs", "distinct", "slots", "builds", "overflow"):
                self.assertEqual(line[name], str(row[name]))
            self.assertEqual(line["verified"], "ok")
        self.assertAlmostEqual(float(insert["mops"]), row["insert"]["mops"], delta=0.06)
        self.assertAlmostEqual(float(find["probes"]), row["find"][0]["probes"], delta=1e-4)

    def test_keys_that_repeat(self):
        rows, _, _ = self.measure("--size", "13", "--keys", "uniform,zipf", "--repeats", "4", "--ahead")
        for keys, left_out in (("uniform", {"slab", "slab-full", "chained"}),
                               ("zipf", {"slab", "slab-full", "chained"} | HASH_GRAPHS - GROUPED)):
            self.assertEqual({row["table"] for row in rows if row["keys"] == keys}, TABLES - left_out)
        for row in rows:
            self.assertEqual(row["verified"], "ok", row)
            self.assertLess(row["distinct"], 2049)
            self.assertEqual(row["repeats"], 4)
            self.assertNotIn("probes", row["insert"])
            self.assertEqual((row["ahead"], row["split"]), (row["table"] in WORD_TABLES, False))
            if row["table"] in HASH_GRAPHS:  # which keep every pair
                self.assertAlmostEqual(row["load"], 8192 / row["slots"], places=6)
        by_keys = {row["keys"]: row["distinct"] for row in rows}
        # Of 2048 keys that are drawn from 4 times as often, all but e^-4 come.
        self.assertAlmostEqual(by_keys["uniform"], 2048 * (1 - 0.0183), delta=25)
        self.assertLess(by_keys["zipf"], by_keys["uniform"])

    def test_the_last_writers_value_stays(self):
        rows, lines, _ = self.measure("--size", "13", "--keys", "uniform,zipf", "--repeats", "4", "--last-writer")
        for keys in ("uniform-last", "zipf-last"):
            self.assertEqual({row["table"] for row in rows if row["keys"] == keys}, {"warpdrive", "slab", "slab-full", "chained"})
        self.assertEqual({row["verified"] for row in rows}, {"ok"})
        self.assertEqual({line["keys"] for line in lines}, {"uniform-last", "zipf-last"})
        rows, _ = self.figure("warpdrive8-last", "8")
        self.assertEqual({(row["table"], row["keys"]) for row in rows}, {("warpdrive", "zipf-last")})

    def figure(self, name, size):
        rows, lines, _ = self.measure("--figure", name, "--size", size, "--no-probes", "--builds", "2")
        self.assertTrue(all(row["verified"] in ("ok", "incomplete") for row in rows))
        self.assertEqual({line["figure"] for line in lines}, {name})
        return rows, lines

    def test_figures(self):
        for figure in ("warpdrive7", "warpdrive8", "bcht-table3", "peers"):
            rows, _ = self.figure(figure, "8")
            self.assertGreater(len({row["load"] for row in rows}), 3)
            self.assertLessEqual({row["table"] for row in rows}, WORD_TABLES)
            if figure == "warpdrive8":
                self.assertEqual({row["keys"] for row in rows}, {"zipf"})
            if figure == "bcht-table3":
                self.assertEqual(max(row["builds"] for row in rows), 200)

    def test_thresholds_of_iceberg_tables(self):
        rows, _, _ = self.measure("--figure", "iceberg-threshold", "--size", "14", "--builds", "1", "--rounds", "1")
        self.assertEqual({row["table"] for row in rows}, THRESHOLDS)
        # Awad et al. 2023, section 7.1.2, of thresholds of 60 and 80 %.
        for table, inserting, finding in (("iceberg-60", 1.89, 1.6), ("iceberg", 1.49, 1.33)):
            (row,) = [r for r in rows if (r["table"], r["bucket"]) == (table, 16) and r["load"] > 0.85]
            self.assertAlmostEqual(row["insert"]["probes"], inserting, delta=0.05)
            self.assertAlmostEqual(row["find"][0]["probes"], finding, delta=0.05)

    def test_utilizations_and_sizes(self):
        for figure, size in (("slabhash4", "9"), ("slabhash5", "13")):
            rows, _ = self.figure(figure, size)
            self.assertEqual({row["table"] for row in rows}, {"bcht", *SLAB_HASHES})
            slabs = [row["utilization"] for row in rows if row["table"] in SLAB_HASHES]
            if figure == "slabhash4":
                self.assertAlmostEqual(min(slabs), 0.2, delta=0.03)
                self.assertAlmostEqual(max(slabs), 0.9, delta=0.03)
            else:
                self.assertEqual({row["pairs"] for row in rows}, {1 << log for log in range(2, 14)})
                largest = [row for row in rows if row["pairs"] == 1 << 13 and row["table"] in SLAB_HASHES]
                for row in largest:
                    self.assertAlmostEqual(row["utilization"], 0.6, delta=0.03)

    def test_batches(self):
        rows, lines = self.figure("slabhash6", "12")
        self.assertEqual({row["table"] for row in rows}, {"bcht", *SLAB_HASHES})
        self.assertEqual({line["operation"] for line in lines}, {"batches", "rebuilds"})
        for row in rows:
            self.assertIn(row["batch"], (64, 128, 256))
            self.assertEqual("rebuilds" in row, row["table"] == "bcht")
            self.assertEqual(row["pairs"] % row["batch"], 0)
        for batch in (64, 128, 256):
            ends = [row["pairs"] for row in rows if (row["table"], row["batch"]) == ("slab", batch)]
            self.assertEqual(ends, [256 * i for i in range(1, 17)])
        slabs = [row["utilization"] for row in rows if row["table"] == "slab" and row["pairs"] == 4096]
        self.assertAlmostEqual(slabs[0], 0.65, delta=0.05)

    def test_mixes(self):
        rows, lines = self.figure("slabhash7", "11")
        self.assertEqual({row["table"] for row in rows}, set(SLAB_HASHES))
        self.assertEqual({row["mix"] for row in rows}, {"50/50/0/0", "20/20/30/30", "10/10/40/40"})
        self.assertEqual({line["operation"] for line in lines}, {"mixed"})
        self.assertTrue(all(row["mixed"]["mops"] > 0 for row in rows))

    def test_lists_of_slabs_beside_lists_of_nodes(self):
        rows, _ = self.figure("slabhash7-chained", "12")
        self.assertEqual({row["table"] for row in rows}, {"slab", "chained"})
        self.assertEqual({row["mix"] for row in rows}, {"50/50/0/0", "20/20/30/30", "10/10/40/40"})
        self.assertEqual(len(rows), 2 * 3 * 5)
        self.assertEqual({row["verified"] for row in rows}, {"ok"})
        chained = [row["load"] for row in rows if row["table"] == "chained"]
        self.assertLess(max(chained), 12)
        self.assertGreater(min(chained), 1)

    def test_allocators(self):
        rows, lines = self.figure("slaballoc", "5000")
        self.assertEqual({row["table"] for row in rows}, {"slaballoc", "slaballoc-light", "malloc"})
        self.assertEqual({line["operation"] for line in lines}, {"allocate", "free"})
        for row in rows:
            self.assertEqual((row["pairs"], row["overflow"], row["verified"]), (5000, 0, "ok"))
            self.assertAlmostEqual(row["load"], 5000 / row["slots"], places=6)

    def test_figures_of_the_hash_graph(self):
        rows, _ = self.figure("hashgraph-duplicates", "10")
        self.assertEqual({row["table"] for row in rows}, UNBINNED)
        self.assertEqual({row["repeats"] for row in rows}, {1, 2, 4, 8, 16, 32})
        rows, _ = self.figure("hashgraph-load", "10")
        self.assertEqual({row["table"] for row in rows}, UNBINNED)
        self.assertEqual({round(row["load"], 1) for row in rows}, {0.5, 0.7, 1, 1.5, 2, 3, 4} - {0.7} | {0.8})

    def test_hash_graphs_by_bins_sizes_and_beside_others(self):
        rows, _ = self.figure("hashgraph-bins", "12")
        self.assertEqual({row["table"] for row in rows}, BINNED)
        self.assertEqual({row["pairs"] for row in rows}, {1 << log for log in (8, 10, 12)})
        rows, _ = self.figure("hashgraph-sizes", "14")
        self.assertEqual({row["table"] for row in rows}, {"hashgraph-v2"})
        self.assertEqual({row["pairs"] for row in rows}, {1 << log for log in (6, 8, 10, 12, 14)})
        self.assertEqual({row["repeats"] for row in rows}, {1, 8, 32})
        rows, _ = self.figure("hashgraph-peers", "12")
        self.assertEqual({row["table"] for row in rows}, UNBINNED - GROUPED | {"warpdrive", "1cht"})
        self.assertEqual({row["keys"] for row in rows}, {"unique"})
        self.assertEqual({len({row["load"] > 0.85 for row in rows if row["table"] == table})
                          for table in ("1cht", "hashgraph-v2")}, {2})

    def test_choice(self):
        rows, _, _ = self.measure("--size", "10", "--table", "warpdrive", "--bucket", "8", "--window", "8")
        self.assertEqual([(row["table"], row["bucket"], row["window"]) for row in rows], [("warpdrive", 8, 8)])

    def test_refusals(self):
        for arguments, word in (
            (["--load", "1.5"], "--load"),
            (["--load", "0"], "--load"),
            (["--load", "1.5", "--table", "slab,hashgraph-v1"], "--load"),
            (["--load", "17", "--table", "hashgraph-v1"], "--load"),
            (["--split"], "--split"),
            (["--table", "btree"], "--table"),
            (["--keys", "gauss"], "--keys"),
            (["--hits", "101"], "--hits"),
            (["--figure", "12"], "--figure"),
            (["--size", "33"], "--size"),
            (["--size", "30", "--keys", "zipf", "--repeats", "0.1"], "--size"),
            (["--repeats", "0"], "--repeats"),
            (["--builds", "0"], "--builds"),
            (["--device", "gpu"], "--device"),
            (["--device", "cuda:x"], "--device"),
            (["--group", "3"], "no table"),
            (["--what"], "--what"),
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(word, done.stderr)
        done = run("--size", "8", "--csv", "/no/such/folder/rows.csv")
        self.assertEqual(done.returncode, 4)
        self.assertIn("/no/such/folder/rows.csv", done.stderr)

    def test_csv_on_standard_output(self):
        done = run("--size", "8", "--table", "bcht", "--csv", "-")
        text = done.stdout[done.stdout.index("figure,"):]
        self.assertTrue(all(line["table"] == "bcht" for line in csv.DictReader(io.StringIO(text))))


if __name__ == "__main__":
    unittest.main()
