#!/usr/bin/env python3
"""`warpmer kmc_tools` does what KMC's does with KMC's databases: equal k-mers and counts, histograms, reads and texts.

ctest: release only (KMC takes a second for anything)
"""

import pathlib
import unittest

from common_cli import main
from common_kmc import HAS_KMC, KmcToolsTest
from common_names import OURS, THEIRS

TRANSFORMS = (
    "{a} sort {}", "{a} reduce {} -ci2 -cx10", "{a} -ci3 -cx100 reduce {} -cs20", "{a} compact {}", "{a} compact {} -ci3",
    "{a} set_counts 7 {}", "{a} -ci4 set_counts 70000 {}", "{small} reduce {} -ci5", "{small} compact {} -cx9",
    "{small} set_counts 1 {}", "{forward} reduce {} -ci3",
)
TEXTS = (
    "{a} histogram {}", "{a} histogram {} -ci2 -cx30", "{a} -ci5 -cx50 histogram {}", "{small} histogram {}",
    "{a} histogram {} -cx300", "{a} dump {}", "{a} dump -s {} -ci2 -cx40 -cs9", "{a} -ci2 -cx90 dump -s {}", "{small} dump {} -ci3",
    "{forward} dump -s {} -ci2", "{forward} histogram {} -ci0 -cx20",
)
OPERATIONS = ("intersect", "union", "kmers_subtract", "counters_subtract", "reverse_kmers_subtract", "reverse_counters_subtract")
RULES = ("min", "max", "sum", "diff", "left", "right")


@unittest.skipUnless(HAS_KMC, "no kmc, kmc_tools and kmc_dump")
class AgainstKmcTools(KmcToolsTest):
    def check_database(self, line):
        with self.subTest(line=line):
            self.tools(line)
            self.assert_alike(self.dumped(OURS), self.dumped(THEIRS))
            if "compact" not in line:
                self.assertEqual(self.header(OURS), self.header(THEIRS))

    def check_text(self, line):
        with self.subTest(line=line):
            self.tools(line)
            theirs, ours = self.both_texts()
            self.assert_alike(ours, theirs)

    def test_transform_databases(self):
        for line in TRANSFORMS:
            self.check_database("transform " + line)

    def test_transform_texts(self):
        for line in TEXTS:
            self.check_text("transform " + line)

    def test_sorted_dumps_are_equal_bytes(self):
        self.tools("transform {a} dump -s {}")
        self.assertTrue((self.folder / OURS).read_bytes() == (self.folder / THEIRS).read_bytes())

    def test_several_operations_in_one_call(self):
        self.tools("transform {a} -ci2 histogram {}.hist -cx80 dump {}.txt -ci3 reduce {} -cs99 compact {}.set")
        for name in (".hist", ".txt"):
            theirs, ours = self.both_texts(name)
            self.assert_alike(ours, theirs, name)
        for name in ("", ".set"):
            self.assert_alike(self.dumped(OURS + name), self.dumped(THEIRS + name))

    def test_kff_both_ways(self):
        self.tools("transform {a} reduce {} -ci2 -okff")
        for name in (THEIRS, OURS):
            for program, original in (("kmc_tools", True), ("kmc_tools", False)):
                output = f"{name}.{original}.txt"
                process = self.run_named(program, "transform", name, "dump", "-s", output, original=original)
                self.assertEqual(process.returncode, 0, process.stderr)
        texts = {(self.folder / f"{name}.{original}.txt").read_text() for name in (THEIRS, OURS) for original in (True, False)}
        self.assertEqual(len(texts), 1)
        self.tools("simple {a} " + THEIRS + " kmers_subtract {}.rest")
        self.assert_alike(self.dumped(f"{OURS}.rest"), self.dumped(f"{THEIRS}.rest"))

    def test_kff_of_nothing(self):
        """The original takes no file without a section of k-mers."""
        self.tools("simple {a} {a} kmers_subtract {} -okff")
        for name in (THEIRS, OURS):
            theirs, ours = self.tools(f"info {name}")
            self.assertEqual(ours, theirs)
            self.tools(f"simple {{a}} {name} union {{}}.all")
            self.assert_alike(self.dumped(f"{OURS}.all"), self.dumped(f"{THEIRS}.all"))

    def test_simple(self):
        for operation in OPERATIONS:
            self.check_database(f"simple {{a}} {{b}} {operation} {{}}")

    def test_simple_with_rules(self):
        """All rules of an operation in one call, as several outputs."""
        for operation in ("intersect", "union", "counters_subtract", "reverse_counters_subtract"):
            outputs = " ".join(f"{operation} {{}}.{rule} -oc{rule} -ci2 -cs{number}" for rule, number in zip(RULES, (255, 9, 99999) * 2))
            self.tools(f"simple {{a}} -ci2 {{b}} -ci3 -cx200 {outputs}")
            for rule in RULES:
                with self.subTest(operation=operation, rule=rule):
                    self.assert_alike(self.dumped(f"{OURS}.{rule}"), self.dumped(f"{THEIRS}.{rule}"))

    def test_info_check_compare(self):
        some = self.dumped(self.named["a"])[1234].split("\t")[0]
        for line, status in (("info {a}", 0), ("info {small}", 0), ("info {forward}", 0), (f"check {{a}} {some}", 0),
                             (f"check {{a}} {'A' * 31}", 0), ("compare {a} {b}", 1), ("compare {a} {a}", 0),
                             ("compare {a} -ci3 {a} -ci2", 1), ("compare {small} {small} -cx3", 1)):
            theirs, ours = self.tools(line, status=status)
            self.assertEqual(ours, theirs, line)

    def test_damaged_bins(self):
        """Of the form with bins; whatever of the table is wrong, nothing is written."""
        prefixes = bytearray(pathlib.Path(self.named["a"] + ".kmc_pre").read_bytes())
        self.file("bad.kmc_suf", pathlib.Path(self.named["a"] + ".kmc_suf").read_bytes())
        for entry in (1, 64, 65):  # there are 4^3 for a bin
            for value in (0xFFFFFFFF, 60000):
                damaged = prefixes[:]
                damaged[4 + 8 * entry : 12 + 8 * entry] = value.to_bytes(8, "little")
                self.file("bad.kmc_pre", bytes(damaged))
                for line in ("transform bad reduce x", "compare bad bad", "transform bad dump x", "transform bad histogram x"):
                    self.refused_named("damaged: (its|at byte)", "kmc_tools", *line.split(), status=1)

    def test_failures(self):
        self.tools("transform nosuch dump {}", status=1)
        self.assertEqual(self.files(), [])
        for pattern, line in (
                ("31-mers, but .* 9-mers", "simple {a} {small} union x"), ("no operation 'unite'", "simple {a} {b} unite x"),
                ("-ocmin is not done here", "simple {a} {b} kmers_subtract x -ocmin"), ("name of the output is missing", "simple {a} {b} union"),
                ("no option '-s'", "transform {a} sort -s x|transform {a} sort x -s"), ("no operation 'dumb'", "transform {a} dumb x"),
                ("set_counts needs", "transform {a} set_counts x y"), ("no option '-okff'", "transform {a} dump x -okff"),
                ("one of the inputs", "transform {a} reduce {a}"), ("no 31-mer", "check {a} ACGT"),
                ("both have a point", "filter {a} {fq} -ci0.5 -cx3 x"), ("a count", "filter -t {a} {fq} -ci0.5 x"),
                ("have no qualities", "filter {a} {fa} -fa x -fq"), ("too much", "filter {a} {fq} x y"),
                ("no operation 'transfrom'; did you mean 'transform'\\?", "transfrom {a}"), ("mean 'union'\\?", "simple {a} {b} unoin x"),
                ("mean 'dump'\\?", "transform {a} dmup x"), ("no operation 'unknown' ", "unknown {a}"), ("an operation is missing", "-t2"), ("no option '-q'", "-q info {a}"),
                ("is missing", "info"), ("is missing", "compare {a}")):
            line = line.split("|")[-1]
            self.refused_named(pattern, "kmc_tools", *self.words(line))


if __name__ == "__main__":
    main()
