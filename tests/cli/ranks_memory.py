#!/usr/bin/env python3
"""Ranks keep to -m while their parts of the index wait for their places: what is more goes to --tmp-dir, and nothing is
left there whatever happens.

ctest: release only (resident sets are those of sanitizers)
"""

import json
import os
import random
import re

import common_cli as common
from common_cli import DONE, RESOURCE
from common_ranks import RanksTest

MEGABYTE = 1 << 20
BASES = bytes(b"ACGT"[byte & 3] for byte in range(256))


class RanksMemory(RanksTest):
    @classmethod
    def setUpClass(cls):
        chance = random.Random(9)
        cls.text = b"".join(b">r\n%s\n" % chance.randbytes(1000).translate(BASES) for _ in range(36000))

    def setUp(self):
        super().setUp()
        self.input = self.file("in.fa", self.text)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()

    def smallest_cap(self, number):
        process = self.ranks(number, "count", "-t", 1, "-m", "2M", "-o", "none.wmi", "in.fa")
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        return int(re.search(rb"(\d+) MiB would do", process.stderr)[1])

    def command(self, cap, output="out.wmi"):
        return ["count", "-t", 1, "-m", f"{cap}M", "--tmp-dir", "tmp", "--stats", "stats.json", "-o", output, "in.fa"]

    def test_part_of_an_index_that_does_not_fit(self):
        cap = self.smallest_cap(2)
        for output in "out.wmi", "-":
            alone = self.run_process(*self.command(cap, output)).stdout
            wanted = alone or self.folder.joinpath(output).read_bytes()
            process = self.ranks(2, *self.command(cap, output))
            self.done(process)
            self.assertTrue((process.stdout or self.folder.joinpath(output).read_bytes()) == wanted, output)
            stats = json.loads(self.folder.joinpath("stats.json").read_text())
            for rank in stats["ranks"]:
                self.assertLessEqual(rank["peak_resident_bytes"], cap * MEGABYTE, stats["ranks"])
            # The other one's part is more than it may keep, and goes to the file, but for the last of it.
            self.assertGreater(stats["index_bytes"] / 2, 1.2 * cap * MEGABYTE / 16)
            self.assertGreater(stats["ranks"][1]["spilled_bytes"], stats["index_bytes"] / 4)
            self.assertEqual(os.listdir(self.tmp), [])

    def test_temporary_file_that_is_full(self):
        cap = self.smallest_cap(3)
        limit = 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then trap "" XFSZ; ulimit -f 2048; fi'
        script = self.file("limited", f'#!/bin/sh\n{limit}\nexec "{common.WARPMER}" "$@"\n')
        script.chmod(0o755)
        for output in "out.wmi", "-":
            pattern = rf"error: rank 1 on {re.escape(os.uname().nodename)}: cannot write \d+ more bytes, after \d+, of the temporary file in 'tmp'.*too large.*-m"
            self.check_refused(3, RESOURCE, pattern, *self.command(cap, output), program=script)
            self.assertEqual(os.listdir(self.tmp), [])

    def test_rank_killed_between_writes(self):
        cap = self.smallest_cap(3)
        self.check_killed(3, 2, "spill:1", *self.command(cap))
        self.assertEqual(os.listdir(self.tmp), [])


if __name__ == "__main__":
    common.main()
