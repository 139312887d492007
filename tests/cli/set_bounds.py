#!/usr/bin/env python3
"""What set operations say of the counts in their results: bounds that all counts are within, nothing lost on the way to
other programs, a word when filtered parts are merged, and no index of parts taken for that of all reads.

ctest: one thread (what the threads do is tested in unit/set_operations)
"""

import random
import shutil
import subprocess
import unittest

from common_cli import DATA, INPUT, CliTest, fasta, main
from common_tier import by_tier, some

READS = DATA / "reads_2.fq.gz"
OPERATIONS = [("merge",), ("symmetric-difference",), ("subtract",), ("subtract", "--counts", "difference")] + [
    (operation, *samples, "--counts", rule)
    for operation, *samples in (("union",), ("union", "--min-samples", 2), ("intersect",))
    for rule in ("sum", "min", "max", "first", "last", "samples")
]
FILTERS = [(), ("--min-count", 2), ("--max-count", 1), ("--min-count", 2, "--max-count", 3), ("--min-count", 3)]


class SetBounds(CliTest):
    def said(self, *arguments):
        process = self.run_process(*arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return "".join(line for line in process.stderr.decode().splitlines(True) if "warning:" in line)

    def make_reads(self, k):
        """Of one genome, for indexes of k-mers of this size."""
        self.k = k
        chance = random.Random(k)
        genome = "".join(chance.choices("ACGT", k=400))
        for name in ("a", "b", "c"):
            starts = [chance.randrange(300) for _ in range(12)]
            self.file(f"{name}.fa", fasta([(i, genome[at : at + 100]) for i, at in enumerate(starts)]))

    def index(self, name, options=()):
        """An index of these reads, as a filter leaves it; made once."""
        output = f"{name}{FILTERS.index(options)}.wmi"
        if output not in self.files():
            self.count(f"{name}.fa", k=self.k, options=options, output=output)
        return output

    def check_bounds(self, index):
        counts, totals = list(self.dump(index).values()), self.totals(index)
        most = totals["max_count"] or 1 << 64
        self.assertTrue(all(totals["min_count"] <= count <= most for count in counts), (index, totals))
        kept = next(line for line in self.warpmer("stats", index).splitlines() if line.startswith("counts kept"))
        limit = f", at most {totals['max_count']}" if totals["max_count"] else ""
        chosen = "; of chosen k-mers" if totals["chosen"] else ""
        self.assertEqual(kept.split(maxsplit=2)[2], f"at least {totals['min_count']}{limit}{chosen}")

    def test_every_operation_of_filtered_indexes(self):
        self.make_reads(17)
        chance = random.Random(1)
        for operation in OPERATIONS[:4] + some(OPERATIONS[4:], 4):
            for _ in range(by_tier(4, 1)):
                inputs = [self.index(name, chance.choice(FILTERS)) for name in ("a", "b", "c")[: chance.choice((2, 3))]]
                with self.subTest(operation=operation, inputs=inputs):
                    self.said(*operation, "-o", "out.wmi", *inputs)
                    self.check_bounds("out.wmi")
                    self.said(*operation, "--min-count", 2, "--input-max-count", 4, "-o", "out.wmi", *inputs)
                    self.check_bounds("out.wmi")

    def test_bounds(self):
        self.make_reads(15)
        all_a, few_a, one_a, some_a = (self.index("a", options) for options in FILTERS[:4])
        all_b, few_b, one_b, some_b = (self.index("b", options) for options in FILTERS[:4])
        for operation, inputs, bounds in some((
            (("merge",), (all_a, all_b), (1, None)),
            (("intersect",), (all_a, all_b), (1, None)),
            (("merge",), (few_a, all_b), (1, None)),
            (("merge",), (few_a, few_b), (2, None)),
            (("merge",), (some_a, all_b), (1, None)),
            (("merge",), (one_a, some_b), (1, 4)),
            (("union",), (one_a, one_b), (1, 2)),
            (("union", "--counts", "max"), (some_a, some_b), (2, 3)),
            (("union", "--counts", "max"), (one_a, some_b), (1, 3)),
            (("intersect", "--counts", "sum"), (few_a, some_b), (4, None)),
            (("intersect",), (few_a, some_b), (2, 3)),
            (("intersect", "--counts", "max"), (few_a, all_b), (2, None)),
            (("intersect", "--counts", "min"), (some_a, all_b), (1, 3)),
            (("subtract",), (some_a, all_b), (2, 3)),
            (("subtract", "--counts", "difference"), (few_a, all_b), (1, None)),
            (("subtract", "--counts", "difference"), (some_a, one_b), (1, 3)),
            (("merge", "--min-count", 3, "--max-count", 9), (all_a, all_b), (3, 9)),
            (("merge", "--input-min-count", "2,1"), (all_a, all_b), (1, None)),
        ), 6):
            with self.subTest(operation=operation, inputs=inputs):
                self.said(*operation, "-o", "out.wmi", *inputs)
                totals = self.totals("out.wmi")
                self.assertEqual((totals["min_count"], totals["max_count"]), bounds)

    @unittest.skipUnless(all(map(shutil.which, ("kmc_tools", "kmc_dump"))), "no kmc_tools and kmc_dump")
    def test_kmc_leaves_nothing_out(self):
        def run(*command):
            subprocess.run([str(word) for word in command], cwd=self.folder, check=True, capture_output=True)

        def lines(name):
            return {k: int(n) for k, n in (line.split() for line in (self.folder / name).read_text().splitlines())}

        self.make_reads(25)
        chance = random.Random(2)
        for operation in some(OPERATIONS, 2):
            inputs = [self.index(name, chance.choice(FILTERS)) for name in ("a", "b")]
            with self.subTest(operation=operation, inputs=inputs):
                self.said(*operation, "-o", "out.wmi", *inputs)
                expected = self.dump("out.wmi")
                self.warpmer("convert", "--to", "kmc", "-o", "k", "out.wmi")
                run("kmc_dump", "k", "k.txt")
                run("kmc_tools", "-t1", "transform", "k", "dump", "tools.txt")
                self.assertEqual(lines("k.txt"), expected)
                self.assertEqual(lines("tools.txt"), expected)
                self.warpmer("convert", "-o", "back.wmi", "k")
                self.assertEqual(self.dump("back.wmi"), expected)
                self.check_bounds("back.wmi")
        # Counts that are capped below the smallest count kept.
        self.count("-", k=25, options=("--min-count", 300), stdin=fasta([(i, "ACGTTGCATGCCGATTACAGGATCC") for i in range(400)]))
        process = self.run_process("convert", "--to", "kmc", "--counter-bytes", 1, "--saturate", "-o", "k", "out.wmi")
        self.assertEqual(process.returncode, 0, process.stderr)
        run("kmc_dump", "k", "k.txt")
        self.assertEqual(list(lines("k.txt").values()), [255])

    def test_a_merge_of_filtered_parts_says_so(self):
        self.make_reads(13)
        all_a, few_a, one_b, all_b = self.index("a"), self.index("a", FILTERS[1]), self.index("b", FILTERS[2]), self.index("b")
        text = "not what counting all reads at once would give"
        self.assertRegex(self.said("merge", "-o", "m.wmi", few_a, all_b), rf"\Awarpmer: warning: '{few_a}' lacks [^\n]*{text}[^\n]*\n\Z")
        self.assertRegex(self.said("union", "-o", "u.wmi", few_a, one_b), rf"\Awarpmer: warning: '{few_a}' and 1 more lack [^\n]*{text}[^\n]*\n\Z")
        self.warned(text, "merge", "-o", "w.wmi", few_a, all_b)
        # What is made of parts is no more than they were, whatever its own counts are.
        self.assertIn(text, self.said("merge", "-o", "n.wmi", "m.wmi", all_a))
        self.assertEqual(self.totals("n.wmi")["min_count"], 1)
        for merged in ("m.wmi", "u.wmi", "n.wmi"):
            self.refused(INPUT, f"{merged} .*without --min-count and --max-count", "update", merged, "--add", READS, "-o", "x.wmi")
            self.assertIn(f"'{merged}'", self.said("qv", merged, "a.fa"))
        for quiet in (("merge", all_a, all_b), ("merge", "--min-count", 2, all_a, all_b), ("intersect", few_a, all_b),
                      ("subtract", few_a, all_b)):
            self.assertEqual(self.said(*quiet, "-o", "q.wmi"), "")
        self.said("merge", "-o", "whole.wmi", all_a, all_b)
        self.warpmer("update", "whole.wmi", "--add", READS, "-o", "x.wmi")
        # All that was counted is known, as far as the parts know it.
        whole, m = self.totals("whole.wmi"), self.totals("m.wmi")
        self.assertEqual(m["counted_kmers"], whole["counted_kmers"])
        self.assertLess(m["stored_kmers"], whole["stored_kmers"])


if __name__ == "__main__":
    main()
