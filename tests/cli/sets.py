#!/usr/bin/env python3
"""Set algebra on indexes: the union of parts is the whole, the rest is as k-mer by k-mer and as kmc_tools has it.

ctest: one thread (what the threads do is tested in unit/set_operations)
"""

import json
import os
import random
import resource
import shutil
import subprocess

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, fasta, main
from common_tier import by_tier, some
from read_wmi import read_index

READS_1, READS_2 = DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"
COMMANDS = ("union", "intersect", "subtract", "symmetric-difference", "merge")


class Sets(CliTest):
    def combine(self, command, *arguments, output="result.wmi"):
        self.warpmer(command, *arguments, "-o", output)
        return output

    def two(self, k):
        return self.count(READS_1, k=k, output="one.wmi"), self.count(READS_2, k=k, output="two.wmi")

    def test_the_union_of_parts_is_the_whole(self):
        for k, options in some(((31, ()), (9, ()), (40, ("--forward",))), 2):
            with self.subTest(k=k, options=options):
                parts = [self.count(path, k=k, options=options, output=f"{path.name}.wmi")
                         for path in (READS_1, READS_2, DATA / "forty.fa")]
                whole = self.count(READS_1, READS_2, DATA / "forty.fa", k=k, options=options, output="whole.wmi")
                self.assertEqual(self.content(self.combine("union", *parts, "-t", 3)), self.content(whole))
                self.assertEqual(self.content(self.combine("merge", *parts[::-1], "-t", 1)), self.content(whole))
                # And with the parts taken away again nothing is left.
                rest = self.combine("subtract", "--counts", "difference", whole, *parts)
                self.assertEqual(self.totals(rest)["stored_distinct"], 0)

    def test_every_operation_and_rule(self):
        one, two = self.two(21)
        three = self.count(DATA / "genome.fa", k=21, output="three.wmi")
        a, b, c = self.dump(one), self.dump(two), self.dump(three)
        every = set(a) | set(b) | set(c)
        there = {kmer: [counts[kmer] for counts in (a, b, c) if kmer in counts] for kmer in every}
        rules = {"sum": sum, "min": min, "max": max, "first": lambda x: x[0], "last": lambda x: x[-1], "samples": len}
        for rule, f in some(rules.items(), 2):
            with self.subTest(rule):
                union = self.combine("union", "--counts", rule, one, two, three)
                self.assertEqual(self.dump(union), {kmer: f(counts) for kmer, counts in there.items()})
                shared = self.combine("intersect", "--counts", rule, one, two, three)
                self.assertEqual(self.dump(shared), {kmer: f(x) for kmer, x in there.items() if len(x) == 3})
                if rule not in ("sum", "samples"):
                    continue
                some_of = self.combine("union", "--min-samples", 2, "--counts", rule, one, two, three)
                self.assertEqual(self.dump(some_of), {kmer: f(x) for kmer, x in there.items() if len(x) >= 2})
        both = self.combine("intersect", "--min-samples", 2, one, two, three)
        self.assertEqual(self.dump(both), {kmer: min(x) for kmer, x in there.items() if len(x) >= 2})
        only = self.combine("subtract", one, two, three)
        self.assertEqual(self.dump(only), {kmer: n for kmer, n in a.items() if kmer not in b and kmer not in c})
        less = self.combine("subtract", "--counts", "difference", one, two)
        self.assertEqual(self.dump(less), {kmer: n - b.get(kmer, 0) for kmer, n in a.items() if n > b.get(kmer, 0)})
        unlike = self.combine("symmetric-difference", one, two, three)
        self.assertEqual(self.dump(unlike), {kmer: x[0] for kmer, x in there.items() if len(x) == 1})

    def test_filters(self):
        one, two = self.two(17)
        a, b = self.dump(one), self.dump(two)

        def merged(a, b):
            return {kmer: a.get(kmer, 0) + b.get(kmer, 0) for kmer in set(a) | set(b)}

        def within(counts, low, high=1 << 64):
            return {kmer: n for kmer, n in counts.items() if low <= n <= high}

        self.assertEqual(self.dump(self.combine("merge", "--input-min-count", 2, one, two)),
                         merged(within(a, 2), within(b, 2)))
        self.assertEqual(self.dump(self.combine("merge", "--input-min-count", "2,5", "--input-max-count", "30,9", one, two)),
                         merged(within(a, 2, 30), within(b, 5, 9)))
        result = self.combine("merge", "--min-count", 3, "--max-count", 40, one, two)
        self.assertEqual(self.dump(result), within(merged(a, b), 3, 40))
        totals = self.totals(result)
        self.assertEqual((totals["min_count"], totals["max_count"]), (3, 40))
        self.assertEqual(totals["counted_distinct"], len(merged(a, b)))
        # One input is enough: then it is a filter.
        self.assertEqual(self.dump(self.combine("union", "--min-count", 4, one)), within(a, 4))
        # What a filter left out is not known later, either.
        few = self.count(READS_1, k=17, options=("--min-count", 2), output="few.wmi")
        self.assertGreater(self.totals(few)["counted_distinct"], self.totals(few)["stored_distinct"])
        self.assertIsNone(self.totals(self.combine("union", "-q", few, two))["counted_distinct"])
        for others in (few, two):
            self.refused(INPUT, "without --min-count", "update", self.combine("union", "-q", few, others), "--add", READS_2, "-o", "x.wmi")
        # Counts of which all together are too many, of which the result has few.
        self.warpmer("convert", "-o", "most.wmi", "-", stdin=f"ACGTTGC\t{(1 << 64) - 1}\n")
        self.warpmer("convert", "-o", "other.wmi", "-", stdin=f"GGATTAC\t{(1 << 64) - 2}\nACCATTG\t1\n")
        self.refused(INPUT, "add up to more than 2\\^64 - 1", "merge", "most.wmi", "other.wmi", "-o", "x.wmi")
        result = self.combine("merge", "--max-count", 9, "most.wmi", "other.wmi")
        self.assertEqual(read_index(self.folder / result).totals[0], (1 << 64) - 1)
        totals = self.totals(result)
        # What was counted is unknown where a result of other programs' counts is filtered (knows_counted()).
        self.assertEqual((totals["counted_kmers"], totals["stored_kmers"]), (None, 1))

    def test_what_it_says_of_itself(self):
        one, two = self.two(31)
        self.warpmer("union", one, two, "-o", "both.wmi", "--stats", "stats.json")
        info = self.warpmer("info", "both.wmi")
        self.assertIn("union one.wmi two.wmi -o both.wmi", info)
        self.assertEqual([line.split()[-1] for line in info.splitlines() if line.startswith("input")], [one, two])
        stats = json.loads((self.folder / "stats.json").read_text())
        self.assertEqual(stats["totals"], self.totals("both.wmi"))
        self.assertEqual(stats["input_distinct"], self.totals(one)["stored_distinct"] + self.totals(two)["stored_distinct"])

    def test_pipes_and_lists(self):
        one, two = self.two(15)
        wanted = self.content(self.combine("merge", one, two))
        self.file("list.txt", f"# parts\n{one}\n{two}\n")
        self.assertEqual(self.content(self.combine("merge", "@list.txt")), wanted)
        self.warpmer("merge", "-", two, "-o", "piped.wmi", stdin=(self.folder / one).read_bytes())
        self.assertEqual(self.content("piped.wmi"), wanted)
        process = self.run_process("merge", one, two, "-o", "-")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.file("out.wmi", process.stdout)
        self.assertEqual(self.content("out.wmi"), wanted)

    def test_empty_results_are_indexes(self):
        empty = self.count("-", k=21, options=("-q",), stdin=">a\nACGT\n", output="empty.wmi")
        one = self.count(READS_1, k=21, output="one.wmi")
        for command, inputs in (("intersect", (one, empty)), ("subtract", (one, one)), ("symmetric-difference", (one, one)),
                                ("union", (empty, empty)), ("subtract", (empty, one))):
            result = self.combine(command, "-q", *inputs)
            self.assertEqual(self.dump(result), {})
            self.assertEqual(self.warpmer("histo", result), "")
        self.assertEqual(self.content(self.combine("merge", one, result, output="left.wmi")),
                         self.content(self.combine("merge", result, one, output="right.wmi")))

    def test_more_inputs_than_descriptors(self):
        number = by_tier(150, 20)
        for k, sequence in (("5", "ACGTTGCATT"), ("21", "ACGTTGCATTACGGATTACCAGATTACA")):
            index = self.count("-", k=k, stdin=f">a\n{sequence}\n", output="x.wmi")
            for i in range(number):
                os.link(self.folder / index, self.folder / f"{k}.{i}")
            self.file("list.txt", "".join(f"{k}.{i}\n" for i in range(number)))
            few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
            process = self.run_process("merge", "-q", "@list.txt", "-t", "2", "-o", "all.wmi", **few)
            self.done(process)
            self.assertEqual(self.dump("all.wmi"), {kmer: number * n for kmer, n in self.dump(index).items()})

    def test_indexes_that_do_not_go_together(self):
        one = self.count(READS_1, k=21, output="one.wmi")
        k22 = self.count(READS_1, k=22, output="k22.wmi")
        forward = self.count(READS_1, k=21, options=("--forward",), output="forward.wmi")
        for command in some(COMMANDS, 2):
            self.refused(USAGE, "k22.wmi has k = 22, one.wmi has k = 21", command, one, k22, "-o", "out.wmi")
            self.refused(USAGE, "forward.wmi has k-mers as read, one.wmi has canonical", command, "-q", one, one, forward, "-o", "out.wmi")

    def test_damaged_inputs(self):
        one, two = self.two(21)
        content = (self.folder / two).read_bytes()
        self.refused(INPUT, "no_such.wmi", "union", one, "no_such.wmi", "-o", "out.wmi")
        self.refused(INPUT, "reads_1", "union", one, READS_1, "-o", "out.wmi")
        self.file("cut.wmi", content[: len(content) // 2])
        self.refused(INPUT, "cut.wmi", "union", one, "cut.wmi", "-o", "out.wmi")
        self.file("out.wmi", "precious")
        self.refused_damaged(content, 12, "union", one, "bad.wmi", "-o", "out.wmi")
        self.assertEqual((self.folder / "out.wmi").read_bytes(), b"precious")

    def test_outputs_that_cannot_be_written(self):
        one, two = self.two(9)
        self.refused(RESOURCE, "none/out.wmi", "union", one, two, "-o", "none/out.wmi")
        self.refused(RESOURCE, "/dev/full", "union", one, two, "-o", "/dev/full")
        self.refused(RESOURCE, "-m", "union", one, two, "-m", "2M", "-o", "out.wmi")

    def test_counts_beyond_64_bits(self):
        """The advice helps."""
        self.warpmer("convert", "-o", "most.wmi", self.file("most.tsv", f"ACGTA\t{(1 << 64) - 1}\n"))
        for operation in ("union", "merge"):
            self.refused(INPUT, "union --counts max.*--input-max-count", operation, "-q", "most.wmi", "most.wmi", "-o", "x.wmi")
        self.warpmer("union", "-q", "--counts", "max", "most.wmi", "most.wmi", "-o", "x.wmi")
        self.warpmer("merge", "-q", "--input-max-count", 9, "most.wmi", "most.wmi", "-o", "x.wmi")

    def test_command_lines_that_make_no_sense(self):
        one = self.count(READS_1, k=5, output="one.wmi")
        for pattern, *arguments in some((
            ("missing INDEX", "union", "-o", "x.wmi"),
            ("-o FILE", "union", one, one),
            ("would replace it", "union", one, one, "-o", one),
            ("named twice", "union", "-", "-", "-o", "x.wmi"),
            ("two or more", "subtract", one, "-o", "x.wmi"),
            ("two or more", "symmetric-difference", one, "-o", "x.wmi"),
            ("--counts of intersect must be one of min", "intersect", "--counts", "difference", one, one, "-o", "x.wmi"),
            ("unknown option '--counts'", "merge", "--counts", "min", one, one, "-o", "x.wmi"),
            ("unknown option '--min-samples'", "subtract", "--min-samples", "2", one, one, "-o", "x.wmi"),
            ("at least 3 of 2 inputs", "union", "-q", "--min-samples", "3", one, one, "-o", "x.wmi"),
            ("--input-min-count has 3 numbers for 2 inputs", "union", "--input-min-count", "1,2,3", one, one, "-o", "x.wmi"),
            ("--input-min-count must be a whole number", "union", "--input-min-count", "1,,3", one, one, "-o", "x.wmi"),
            ("--input-min-count must be a whole number", "union", "--input-min-count", "0", one, one, "-o", "x.wmi"),
            ("--input-min-count 4 is larger", "union", "--input-min-count", "4", "--input-max-count", "9,3", one, one, "-o", "x.wmi"),
            ("nothing would be kept", "union", "--min-count", "4", "--max-count", "3", one, one, "-o", "x.wmi"),
            ("cannot be the same", "union", one, one, "-o", "x", "--stats", "x"),
        ), 8):
            with self.subTest(arguments):
                self.refused(USAGE, pattern, *arguments)

    def test_against_kmc_tools(self):
        if not shutil.which("kmc") or not shutil.which("kmc_tools"):
            self.skipTest("no kmc and kmc_tools")
        chance = random.Random(7)
        genome = "".join(chance.choices("ACGT", k=4000))
        other = "".join(base if chance.random() > 0.02 else chance.choice("ACGT") for base in genome)

        def run(*command):
            subprocess.run([str(word) for word in command], cwd=self.folder, check=True, capture_output=True)

        def kmc_dump(name):
            run("kmc_tools", "transform", name, "dump", "dump.txt")
            lines = (self.folder / "dump.txt").read_text().splitlines()
            return {line.split()[0]: int(line.split()[1]) for line in lines}

        os.mkdir(self.folder / "tmp")
        for k in some((31, 33), 1):
            for name, source in (("a", genome), ("b", other)):
                reads = [(i, source[at : at + 100]) for i in range(300) for at in [chance.randrange(3900)]]
                self.file(f"{name}.fa", fasta(reads))
                run("kmc", f"-k{k}", "-ci1", "-cs1000000", "-m2", "-t1", "-fa", f"{name}.fa", f"k_{name}", "tmp")
                self.count(f"{name}.fa", k=k, output=f"{name}.wmi")
            operations = (
                (("union",), ("union",)),
                (("kmers_subtract",), ("subtract",)),
                (("intersect",), ("intersect",)),
                (("counters_subtract",), ("subtract", "--counts", "difference")),
                (("union", "-ocmax"), ("union", "--counts", "max")),
                (("intersect", "-ocleft"), ("intersect", "--counts", "first")),
                (("intersect", "-ocright"), ("intersect", "--counts", "last")),
            )
            for theirs, ours in some(operations if k == 31 else operations[-1:], 2):
                with self.subTest(k=k, operation=theirs):
                    run("kmc_tools", "-t1", "simple", "k_a", "-ci2", "k_b", theirs[0], "k_out", *theirs[1:])
                    result = self.combine(ours[0], *ours[1:], "--input-min-count", "2,1", "a.wmi", "b.wmi")
                    self.assertEqual(self.dump(result), kmc_dump("k_out"))
            # kmc_tools complex of KMC 3.2.1 (Debian 12) ends with a regex_error whatever it is given.
            run("kmc_tools", "-t1", "simple", "k_a", "k_b", "union", "k_ab")
            run("kmc_tools", "-t1", "simple", "k_ab", "k_out", "union", "k_all")
            self.assertEqual(self.dump(self.combine("merge", "a.wmi", "b.wmi", "result.wmi", output="all.wmi")),
                             kmc_dump("k_all"))


if __name__ == "__main__":
    main()
