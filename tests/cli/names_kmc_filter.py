#!/usr/bin/env python3
"""`warpmer kmc_tools filter` and `complex` against KMC's.

ctest: release only (KMC takes a second for anything)
"""

import unittest

from common_cli import main
from common_kmc import HAS_KMC, KmcToolsTest
from common_names import OURS, THEIRS

FILTERS = (
    "filter {a} {fq} {}", "filter {a} -ci3 {fq} -ci50 -cx100 {}", "filter {a} -ci3 {fq} -ci0.5 -cx0.9 {}",
    "filter {a} -ci3 -cx40 {fq} -ci0.5 {}", "filter -t {a} -ci2 {fq} -ci4 {}", "filter -hm {a} -ci2 {fq} -ci4 {}",
    "filter -hm {a} {fq} {}", "filter -t {a} {fq} {}", "filter {a} -ci3 {gz} -ci50 {}", "filter {a} -ci3 @{list} -ci90 {}",
    "filter {small} -ci3 {fq} -ci20 {}", "filter -t {a} -ci3 {fq} -ci0 {}", "filter -hm {a} -ci3 {fq} -cx5 -ci0 {}",
)
FASTA_FILTERS = (
    "filter {a} -ci3 {fq} -ci50 -cx100 {} -fa", "filter -t {a} -ci3 {fq} {} -fa", "filter -hm {a} -ci3 {fq} {} -fa",
    "filter {a} -ci3 {fa} -fa -ci50 {}", "filter -hm {a} -ci3 {fa} -fa -ci5 {}", "filter -t {a} -ci3 {fa} -fa {}",
)


@unittest.skipUnless(HAS_KMC, "no kmc, kmc_tools and kmc_dump")
class AgainstKmcFilter(KmcToolsTest):
    def test_filter(self):
        for lines, each in ((FILTERS, 4), (FASTA_FILTERS, 2)):
            for line in lines:
                with self.subTest(line=line):
                    self.tools(line)
                    theirs, ours = (self.records(name, each) for name in (THEIRS, OURS))
                    self.assert_alike(ours, theirs)
                    self.assertNotEqual(ours, [])

    def records(self, name, lines_each):
        lines = (self.folder / name).read_text().splitlines()
        return sorted(tuple(lines[i : i + lines_each]) for i in range(0, len(lines), lines_each))

    def complex(self, formula, params="", status=0, inputs="a = {a} -ci2\nb = {b} -cx100\nc-d = {a} -ci20\n"):
        text = f"INPUT:\n{inputs}OUTPUT:\nresult = {formula}\n\n" + (f"OUTPUT_PARAMS:\n{params}\n" if params else "")
        for name, path in self.named.items():
            text = text.replace("{" + name + "}", path)
        self.file("definitions", text)
        process = self.run_named("kmc_tools", "complex", "definitions")
        self.assertEqual(process.returncode, status, process.stderr)
        return process.stderr.decode()

    def steps(self, *lines):
        """What the original makes of the formula, step by step: its own `complex` ends with an exception in Debian."""
        for line in lines:
            process = self.run_named("kmc_tools", "-hp", "simple", *self.words(line), original=True)
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_complex(self):
        wide = "-ci1 -cs1000000"
        for formula, params, steps in (
                ("(a + b) * a", wide, ["{a} -ci2 {b} -cx100 union x -cs1000000", "x {a} -ci2 intersect y -ci1 -cs1000000"]),
                ("a + b * a", wide, ["{b} -cx100 {a} -ci2 intersect x -cs1000000", "{a} -ci2 x union y -ci1 -cs1000000"]),
                ("a - b + a", "-cs255 -ci3", ["{a} -ci2 {b} -cx100 kmers_subtract x -cs1000000", "x {a} -ci2 union y -cs255 -ci3"]),
                ("a ~ b*left a", "", ["{b} -cx100 {a} -ci2 intersect x -ocleft -cs1000000", "{a} -ci2 x counters_subtract y -ci1"]),
                ("b~max(a*diff b)", "-cx70", ["{a} -ci2 {b} -cx100 intersect x -ocdiff -ci1 -cs1000000",
                                              "{b} -cx100 x counters_subtract y -ocmax -ci1 -cx70"])):
            with self.subTest(formula=formula):
                self.complex(formula, params)
                self.steps(*steps)
                self.assert_alike(self.dumped("result"), self.dumped("y"))

    def test_complex_options_of_0(self):
        """They are as none: the result has the bounds of the inputs, of which -ci1 lets more through."""
        results = []
        for option, params in (("", ""), ("", "-ci0 -cx0 -cs0"), (" -cx0", ""), ("", "-ci1")):
            self.complex("a ~ b", params, inputs=f"a = {{a}} -ci4{option}\nb = {{b}} -ci4\n")
            results.append((self.dumped("result"), self.header("result")))
        usual, *same, more = results
        self.assertEqual(same, [usual, usual])
        self.assertGreater(len(more[0]), len(usual[0]))

    def test_complex_refusals(self):
        for formula, pattern in (("a + x", "no input is called 'x'"), ("a +", "a name is missing"), ("(a + b", "not closed"),
                                 ("a b", "'b' is too much"), ("a -min b", "no input is called 'min'"), ("a & b", "too much")):
            self.assertRegex(self.complex(formula, status=2), rf"\Awarpmer: error: [^\n]*{pattern}[^\n]*\n\Z")
        for inputs, pattern in (("", "no input is defined"), ("a {a}\n", "not of the form"), ("min = {a}\n", "is no name"),
                                ("a = {a}\na = {b}\n", "line 3: 'a' is defined twice"), ("a = {a} -cs5\n", "no option '-cs5'"),
                                ("a = {a}\nb = {small}\n", "31-mers, but .* 9-mers")):
            self.assertRegex(self.complex("a", status=2, inputs=inputs), rf"\Awarpmer: error: [^\n]*{pattern}[^\n]*\n\Z")
        self.assertEqual([name for name in self.files() if name.startswith("result")], [])


if __name__ == "__main__":
    main()
