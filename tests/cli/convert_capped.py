#!/usr/bin/env python3
"""Counters that are full: a note how many k-mers may occur more often than the other program's file says, and none
where there are none.

ctest: one thread (what the threads do is tested in unit/import_session)
"""

import shutil
import unittest

from common_cli import fasta, main
from common_convert import ConvertTest, random_counts
from common_tier import some

READ = "ACGTTGCATGCCGATTACAGGATCCATTGCA"
KMERS = len(READ) - 21 + 1


def note(kmers, name, limit):
    one = kmers == 1
    return (f"warpmer: warning: {kmers} k-mer{'' if one else 's'} of {name} stand{'s' if one else ''} "
            f"at the limit of its counters, {limit}, and may occur more often\n")


class Capped(ConvertTest):
    def said(self, source, output, *options):
        process = self.run_process("convert", *options, "-o", output, source)
        self.assertEqual(process.returncode, 0, process.stderr)
        return "".join(line for line in process.stderr.decode().splitlines(True) if "warning:" in line)

    def reads_of(self, times, single=""):
        return self.file("reads.fa", fasta([(i, READ) for i in range(times)] + ([("s", single)] if single else [])))

    def test_our_own_files(self):
        for largest, size in some(((255, 1), (254, 1), (256, 2), (65534, 2), (65535, 2)), 2):
            counts = random_counts(21, 50, largest)
            index = self.index_of(counts)
            full = sum(count == largest for count in counts.values())
            for to in ("kmc", "kff", "jellyfish"):
                with self.subTest(largest=largest, to=to):
                    self.convert(index, to, "--to", to, "--counter-bytes", size)
                    expected = note(full, to, largest) if largest == (1 << 8 * size) - 1 else ""
                    self.assertEqual(self.said(to, "back.wmi"), expected)
                    self.assertEqual(self.dump("back.wmi"), counts)
                    self.assertEqual(self.said(to, "back.tsv", "--to", "tsv"), expected)
                    self.convert(index, f"{to}_wide", "--to", to, "--counter-bytes", size + 1)
                    self.assertEqual(self.said(f"{to}_wide", "back.wmi"), "")
        one = self.index_of({"ACGTTGC": 300, "GGATTAC": 254})
        self.run_process("convert", one, "-o", "one.jf", "--counter-bytes", 1, "--saturate")
        self.assertEqual(self.said("one.jf", "back.wmi"), note(1, "one.jf", 255))

    def test_text_has_no_limit(self):
        self.file("text.tsv", "ACGTTGC\t255\nGGATTAC\t65535\nCCATTAC\t4294967295\n")
        self.assertEqual(self.said("text.tsv", "text.wmi"), "")

    @unittest.skipUnless(shutil.which("kmc"), "no kmc")
    def test_kmc(self):
        def kmc(*options, name="k"):
            few = ("-k21", "-m2", "-t1", "-n64", "-p5", "-ci1", "-fm")
            self.run_tool("kmc", *few, *options, "reads.fa", name, self.folder)

        self.reads_of(300)
        kmc()
        self.assertEqual(self.said("k", "k.wmi"), note(KMERS, "k", 255))
        no_limit = ["counts", "kept", "at", "least", "1"]
        self.assertIn(no_limit, [line.split() for line in self.warpmer("stats", "k.wmi").splitlines()])
        kmc("-okff")
        self.assertEqual(self.said("k.kff", "k.wmi"), note(KMERS, "k.kff", 255))
        # KMC's own limit for what it leaves out, 10^9, is none: nothing is missing when such databases are merged.
        self.assertIn(no_limit, [line.split() for line in self.warpmer("stats", "k.wmi").splitlines()])
        self.file("more.fa", fasta([("r", READ)]))
        self.count("more.fa", k=21, output="more.wmi")
        self.warpmer("merge", "-o", "merged.wmi", "k.wmi", "more.wmi")
        self.warpmer("update", "k.wmi", "--add", "more.fa", "-o", "updated.wmi")
        self.assertEqual(self.dump("updated.wmi"), self.dump("merged.wmi"))
        # What is left out is not capped, and what has room in two bytes is not.
        for options in (("-cx255",), ("-cx299",), ("-cs65535",), ("-cs1000000",)):
            with self.subTest(options):
                kmc(*options)
                self.assertEqual(self.said("k", "k.wmi"), "")
        self.reads_of(254)
        kmc()
        self.assertEqual(self.said("k", "k.wmi"), "")

    @unittest.skipUnless(shutil.which("kmc"), "no kmc")
    def test_a_limit_that_kmc_does_not_write_down(self):
        def kmc(*options):
            few = ("-k21", "-m2", "-t1", "-n64", "-p5", "-ci1", "-fm")
            self.run_tool("kmc", *few, *options, "reads.fa", "k", self.folder)

        def guess(kmers, name, limit):
            return (f"warpmer: warning: {kmers} k-mers of {name} have its largest count, {limit}: if that was a limit "
                    f"(kmc -cs{limit}), they may occur more often\n")

        self.reads_of(1010, single="GATTACAGATTACAGATTACAGG")
        for limit in (200, 1000):
            with self.subTest(limit=limit):
                kmc(f"-cs{limit}")
                self.assertEqual(self.said("k", "k.wmi"), guess(KMERS, "k", limit))
                self.assertEqual(self.said("k", "k.tsv", "--to", "tsv"), guess(KMERS, "k", limit))
                kmc(f"-cs{limit}", "-okff")
                self.assertEqual(self.said("k.kff", "k.wmi"), guess(KMERS, "k.kff", limit))
        # What nobody would set, what is one k-mer's, and what is no database of KMC's.
        kmc("-cs110")
        self.assertEqual(self.said("k", "k.wmi"), "")
        self.file("reads.fa", fasta([(i, READ[:21]) for i in range(1001)] + [(0, READ)]))
        kmc("-cs1000")
        self.assertEqual(self.said("k", "k.wmi"), "")
        counts = dict.fromkeys(("ACGTTGC", "GGATTAC"), 1000)
        for to in ("kmc", "kff", "jellyfish"):
            self.convert(self.index_of(counts), to, "--to", to)
            self.assertEqual(self.said(to, "back.wmi"), "")

    @unittest.skipUnless(shutil.which("jellyfish"), "no jellyfish")
    def test_jellyfish(self):
        def jellyfish(*options):
            self.run_tool("jellyfish", "count", "-m", 21, "-s", "10k", "-C", *options, "-o", "j.jf", "reads.fa")

        self.reads_of(300, single="GATTACAGATTACAGATTACAGG")
        jellyfish("--out-counter-len=1")
        self.assertEqual(self.said("j.jf", "j.wmi"), note(KMERS, "j.jf", 255))
        self.assertEqual(self.said("j.jf", "j.tsv", "--to", "tsv"), note(KMERS, "j.jf", 255))
        # Not what a k-mer has together from both strands, but what its records have.
        self.assertEqual(self.said("j.jf", "j.wmi", "--sum-duplicates"), note(KMERS, "j.jf", 255))
        for options in (("--out-counter-len=2",), (), ("--counter-len=3",)):
            jellyfish(*options)
            self.assertEqual(self.said("j.jf", "j.wmi"), "")


if __name__ == "__main__":
    main()
