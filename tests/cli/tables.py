#!/usr/bin/env python3
"""`warpmer count --table`: whatever shards are counted in, the index is the same.

ctest: one thread
"""

import hashlib
import json

from common_cli import DATA, USAGE, CliTest, main
from common_tier import some

TABLES = ("auto", "warpdrive", "slab", "bcht", "iceberg", "hashgraph")
INPUTS = (DATA / "reads_1.fq.gz", DATA / "low_complexity.fa", DATA / "genome.fa")


class Tables(CliTest):
    def content(self, index):
        """Of an index, all that comes before its provenance."""
        size = json.loads(self.warpmer("info", "--json", index))["content_bytes"]
        return hashlib.sha256((self.folder / index).read_bytes()[:size]).hexdigest()

    def test_the_same_index_and_the_same_dump(self):
        for k in some((31, 64, 9)):
            wanted = None
            for table in TABLES:
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
                self.refused(USAGE, "--table .*choose " + ", ".join(TABLES), "count", "--table", name, "-o", "x.wmi",
                             DATA / "forty.fa")


if __name__ == "__main__":
    main()
