#!/usr/bin/env python3
"""`warpmer kmc` and `kmc_dump` do what KMC's do: equal k-mers and counts, headers, summaries and JSON.

ctest: release only (KMC takes a second for anything)
"""

import gzip
import json
import re
import unittest

from common_cli import DATA, main
from common_names import OURS, THEIRS, NamesTest, originals

FASTQ = DATA / "reads_1.fq.gz"
FASTA = DATA / "genome.fa"

# Small k-mers take KMC no time.
SMALL = (
    "-k9", "-k9 -ci1", "-k9 -ci3 -cx40", "-k9 -cs10", "-k9 -ci5 -cs100000", "-k9 -b", "-k9 -b -ci1 -cs65535",
    "-k10 -cx3", "-k8 -ci1 -cs1000", "-k8 -cs255 -m4 -t2", "-k9 -p7 -n100 -sf1 -sp1 -sr1", "-k7 -r", "-k6 -ci1 -cs4000000000",
    "-k5 -ci2 -v", "-k4 -ci1", "-k3 -b", "-k2 -ci1 -cs70000", "-k1 -ci1 -cs100000000", "-k9 -fq -okmc", "-k10 -cx1 -ci1",
    "-k9 -ci1000000", "-k9 -cx2 -cs1000", "-k9 -ci0", "-k9 -m4.5 -t2x",
)
LARGE = ("-k21 -sm -m3 -ci3 -cs1000", "-k31 -okff -ci1", "-k55 -b -ci1")


def facts(info):
    """The lines of `kmc_tools info` that do not tell of the form."""
    return [line for line in info.splitlines() if not re.match("database format|signature|number of bins|lut_prefix", line)]


def steady(summary):
    """The lines of KMC's summary that are of the k-mers."""
    return [line for line in summary.splitlines() if re.match(" .*:|Stats", line) and "super-k-mers" not in line]


@unittest.skipUnless(originals("kmc", "kmc_tools", "kmc_dump"), "no kmc, kmc_tools and kmc_dump")
class AgainstKmc(NamesTest):
    def database(self, name):
        """K-mers and counts, and header, as KMC's programs read them."""
        text = self.folder / "dump.txt"
        self.assertEqual(self.run_named("kmc_tools", "-t1", "transform", name, "dump", text, original=True).returncode, 0)
        info = self.run_named("kmc_tools", "info", name, original=True).stdout.decode()
        return sorted(text.read_text().splitlines()), facts(info) if "KFF" not in info else None

    def check(self, options, source, keep=""):
        with self.subTest(options=options, source=source):
            theirs, ours = self.run_both("kmc", "-hp", *options.split(), source, "{}", self.folder)
            self.assertEqual(steady(ours), steady(theirs))
            self.assertEqual(len(ours.splitlines()), len(theirs.splitlines()))
            (ours, header), (theirs, their_header) = self.database(OURS), self.database(THEIRS)
            self.assert_alike(ours, theirs)
            self.assertEqual(header, their_header)
            for path in self.folder.glob("*.k*"):
                if path.stem not in keep.split():
                    path.unlink()

    def test_small(self):
        for options in SMALL:
            self.check(options, FASTQ)

    def test_large(self):
        for options in LARGE:
            self.check(options, FASTQ)

    def test_formats(self):
        for options, source in (("-k9 -fm", FASTA), ("-k9 -fa", DATA / "one_line.fa"), ("-k9 -fm -ci1", DATA / "iupac.fa"),
                                ("-k9 -fbam -ci1", DATA / "aligned.bam"), ("-k9 -ci1", DATA / "lower_case.fq"),
                                ("-k9 -fm -ci1", DATA / "short.fa")):
            self.check(options, source)

    def test_cut_record(self):
        """A file may end in a record, wherever: it counts as a read, and nothing of it is counted."""
        text = gzip.decompress(FASTQ.read_bytes())[:4000]
        text = text[: text.rindex(b"\n@") + 1]
        last = text.rindex(b"\n@") + 1
        header, bases, plus = (text.index(b"\n", last) + at for at in (0, 100, 153))
        for size in (last + 1, last + 5, header, header + 1, bases, plus - 2, plus, plus + 1, plus + 60):
            self.check("-k9 -ci1", self.file("cut.fq", text[:size]))
        process = self.run_named("kmc", "-k9", "-hp", "cut.fq", "x", ".")
        said = rb"\Awarpmer: warning: cut.fq, record \d+: the file ends in this FASTQ record, which is left out; [^\n]+\n\Z"
        self.assertRegex(process.stderr, said)
        self.run_named("kmc", "-k9", "-ci1", "-hp", "cut.fq", OURS, ".")
        for words in (
            ("jellyfish", "count", "-m", 9, "-s", "1M", "-o", "x.jf", "cut.fq"), ("jellyfish", "bc", "-m", 9, "-s", "1M", "cut.fq"), ("FastK", "-k9", "-Nx", "cut.fq"),
            ("FastK", "-k9", "-p", "-Nx", "cut.fq"), ("yak", "count", "-k9", "-o", "x.yak", "cut.fq"), ("kmc_tools", "filter", OURS, "cut.fq", "x.fq"),
        ):  # fmt: skip
            process = self.run_named(*words)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr.count(b"the file ends in this FASTQ record"), 1, (words, process.stderr))
        process = self.run_named("count", "-k", 9, "-o", "x.wmi", "cut.fq")
        self.assertIn(b"the file is truncated", process.stderr)

    def test_lists(self):
        self.file("list", f"{FASTQ}\n\n{DATA / 'reads_2.fq.gz'}\n")
        self.check("-k9 -ci1 -cs1000", "@list")

    def test_changed_inputs(self):
        """K-mers of databases are reads, each once; runs of a base are one base."""
        self.run_named("kmc", "-k13", "-ci1", "-hp", FASTQ, "database", self.folder, original=True)
        self.run_named("kmc", "-k13", "-ci3", "-cx9", "-hp", DATA / "reads_2.fq.gz", "ours_made", self.folder)
        self.file("two", "database\nours_made\n")
        for options, source in (
            ("-fkmc -k9 -ci1 -cs100000", "database"), ("-fkmc -k13 -ci1", "database"), ("-fkmc -k7 -b", "ours_made"), ("-fkmc -k9 -ci2", "@two"),
            ("-hc -k9 -ci1 -cs100000", FASTQ), ("-hc -k8 -b", FASTQ), ("-hc -fm -k8 -ci1", DATA / "low_complexity.fa"),
            ("-hc -fm -k9 -ci1", DATA / "iupac.fa"), ("-hc -k7 -ci1", DATA / "lower_case.fq"), ("-hc -fkmc -k5 -ci1", "database"),
        ):  # fmt: skip
            self.check(options, source, keep="database ours_made")
        self.assertEqual([name for name in self.files() if name.startswith(".")], [])
        for words in (("-fkmc", "-k9", "nosuch"), ("-fkmc", "-k9", FASTQ), ("-hc", "-k9", "nosuch")):
            self.run_both("kmc", *words, "{}", self.folder, status=1)
        self.refused_named("is one of the inputs", "kmc", "-fkmc", "-k9", "database", "database", ".")

    def test_more_threads_than_memory_has_room_for(self):
        for options in ("-t128 -m2", "-t100 -m3"):
            self.check("-k9 -ci1 " + options, FASTQ)

    def test_json(self):
        self.run_both("kmc", "-k9", "-hp", "-j{}.json", FASTQ, "{}", self.folder)
        theirs, ours = (json.loads((self.folder / f"{name}.json").read_text()) for name in (THEIRS, OURS))
        self.assertEqual(list(ours), list(theirs))
        for stats in (ours, theirs):
            del stats["Stats"]["#Total_super-k-mers"]
        self.assertEqual(ours["Stats"], theirs["Stats"])

    def test_without_output(self):
        theirs, ours = self.run_both("kmc", "-k9", "-hp", "-w", FASTQ, "{}", self.folder)
        self.assertEqual(steady(ours), steady(theirs))
        self.assertEqual(self.files(), [])

    def test_dumps(self):
        self.run_named("kmc", "-k9", "-hp", FASTQ, "kmers", self.folder, original=True)
        self.run_named("kmc", "-k11", "-hp", "-cs100000", FASTQ, "more", self.folder)
        for options in ("", "-ci5", "-cx10", "-ci3 -cx7", "-ci100000"):
            for name in ("kmers", "more"):
                self.run_both("kmc_dump", *options.split(), name, "{}.txt")
                theirs, ours = self.both_texts(".txt")
                self.assert_alike(ours, theirs, options, name)

    def test_both_formats_of_one_name(self):
        """KMC's two files go when a KFF file of that name comes; a KFF file stays, and is not what is read."""
        count = ("kmc", "-hp", "-k9", "-ci1")
        self.run_both(*count, "-fm", FASTA, "{}", self.folder)
        self.run_both(*count, "-okff", FASTQ, "{}", self.folder)
        self.assertEqual(self.files(), [f"{OURS}.kff", f"{THEIRS}.kff"])
        self.run_both(*count, "-fm", FASTA, "{}", self.folder)
        self.run_both("kmc_dump", "{}", "{}.txt")
        theirs, ours = self.both_texts(".txt")
        self.assert_alike(ours, theirs)
        theirs, ours = self.run_both("kmc", "-hp", "-fkmc", "-k7", "-ci1", "{}", "{}.more", self.folder)
        self.assertEqual(steady(ours), steady(theirs))
        self.refused_named("is one of the inputs", "kmc", "-fkmc", "-okff", "-k9", OURS, OURS, ".")

    def test_histogram_of_a_least_count_of_none(self):
        self.run_both("kmc", "-hp", "-k9", "-ci0", FASTQ, "{}", self.folder)
        self.run_both("kmc_tools", "-hp", "transform", "{}", "histogram", "{}.txt")
        theirs, ours = ((self.folder / f"{name}.txt").read_text() for name in (THEIRS, OURS))
        self.assertEqual(ours, theirs)

    def test_more_words_than_it_takes(self):
        """KMC does not look at them; we say so."""
        self.run_both("kmc", "-k9", "-hp", FASTQ, "{}", self.folder, "more", "-ci5", "-none")
        (ours, header), (theirs, their_header) = self.database(OURS), self.database(THEIRS)
        self.assertEqual((ours, header), (theirs, their_header))
        self.run_both("kmc_dump", "-ci3", THEIRS, "{}.txt", "more", "-cx4")
        theirs, ours = self.both_texts(".txt")
        self.assert_alike(ours, theirs)
        process = self.run_named("kmc_dump", OURS, "x", "more", "-cx4")
        self.assertEqual(process.stderr, b"warpmer: warning: kmc_dump: it takes no more arguments, and ignores 'more', '-cx4'\n")

    def test_help(self):
        for program, *words in (("kmc",), ("kmc", "-h"), ("kmc", "--help"), ("kmc_dump", "-h"), ("kmc_dump",), ("kmc_dump", "--help")):
            theirs, ours = (self.run_named(program, *words, original=is_original) for is_original in (True, False))
            self.assertEqual(ours.returncode, theirs.returncode, (program, words))
            self.assertIn(b"Usage:", ours.stdout)
            self.assertIn(b"Usage:", theirs.stdout)

    def test_failures(self):
        self.run_both("kmc", "-k9", "nosuch.fq", "{}", self.folder, status=1)
        self.assertEqual([name for name in self.files() if name.startswith(OURS)], [])
        self.run_both("kmc_dump", "nosuch", "{}.txt", status=1)
        self.assertNotIn(f"{OURS}.txt", self.files())


if __name__ == "__main__":
    main()
