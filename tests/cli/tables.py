#!/usr/bin/env python3
"""`warpmer count --table`: whatever shards are counted in, the index is the same.

ctest: one thread
"""

import json
import re
import subprocess

from common_cli import DATA, USAGE, WARPMER, CliTest, main
from common_tier import some

OLD = ("auto", "warpdrive", "slab", "bcht", "iceberg", "hashgraph")
INPUTS = (DATA / "reads_1.fq.gz", DATA / "low_complexity.fa", DATA / "genome.fa")


class Tables(CliTest):
    @classmethod
    def setUpClass(cls):
        """Those that the help names."""
        usage = subprocess.run([WARPMER, "count", "--help"], check=True, capture_output=True, text=True).stdout
        cls.tables = re.search(r"--table (\S+)", usage).group(1).split("|")

    def test_none_is_missing(self):
        self.assertEqual([table for table in self.tables if table in OLD], list(OLD))

    def test_the_same_index_and_the_same_dump(self):
        for k in some((31, 64, 9)):
            wanted = None
            for table in self.tables:
                with self.subTest(k=k, table=table):
                    index = self.count(*INPUTS, k=k, options=("-t", 1, "--table", table, "--stats", "run.json"))
                    self.assertEqual(json.loads((self.folder / "run.json").read_text())["table"], table)
                    found = (self.content(index), self.warpmer("dump", index))
                    wanted = wanted or found
                    self.assertEqual(found, wanted)
            self.assertNotEqual(wanted[1], "")

    def test_the_default_is_auto(self):
        wanted = self.content(self.count(*INPUTS, k=31, options=("--table", "auto")))
        index = self.count(*INPUTS, k=31, options=("--stats", "run.json"))
        self.assertEqual(self.content(index), wanted)
        self.assertEqual(json.loads((self.folder / "run.json").read_text())["table"], "auto")

    def test_other_names_are_refused_with_those_there_are(self):
        for name in ("chain", "", "WarpDrive", "auto|slab"):
            with self.subTest(name):
                self.refused(USAGE, "--table .*choose " + ", ".join(self.tables), "count", "--table", name, "-o", "x.wmi",
                             DATA / "forty.fa")


if __name__ == "__main__":
    main()
