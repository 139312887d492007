#!/usr/bin/env python3
"""KFF between programs: what vg has `kmc` write, read as vg reads it, and files in all forms of the format, read as `kmc_tools` reads them.

vg executes `kmc -k29 -m128 -okff -hp [-mN -sm] @LIST PREFIX TMPDIR`, looks at the exit status and PREFIX.kff, and takes any codes of the bases,
any number of k-mers a block, data of any width, and both strands.

ctest: release only (the reader and the writer of KFF have unit tests)
"""

import collections
import itertools
import random

from common_cli import DATA, canonical, main, naive_count, read_sequences, reverse_complement
from common_kff import KffFile, kff_bytes
from common_names import NamesTest, originals

READS = (DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz")


class AsVgReads(NamesTest):
    def setUp(self):
        super().setUp()
        self.file("list", "".join(f"{path}\n" for path in READS))
        (self.folder / "tmp").mkdir()

    def truth(self, k, largest=255):
        counts = naive_count((sequence for path in READS for _, sequence in read_sequences(path)), k)
        return {kmer: min(n, largest) for kmer, n in counts.items() if n >= 2}

    def read(self, *options, original=False):
        process = self.run_named("kmc", *options, "-okff", "-hp", "@list", "sample", "tmp", original=original)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.files(), ["list", "sample.kff", "tmp"])
        return KffFile((self.folder / "sample.kff").read_bytes())

    def test_commands_of_vg(self):
        wanted = self.truth(29)
        for options in (("-k29", "-m128"), ("-k29", "-m2", "-sm"), ("-k29", "-m128", "-t1")):
            found = self.read(*options)
            self.assertEqual((found.k, found.is_canonical, found.is_unique), (29, True, True))
            self.assertEqual(len(found.entries), len(wanted))
            self.assertEqual(found.counts(), wanted)

    def test_wider_counts(self):
        found = self.read("-k29", "-cs100000")
        self.assertGreater(found.facts["data_size"], 1)
        self.assertEqual(found.counts(), self.truth(29, 100000))

    def test_original(self):
        """The reader here takes KMC's own, too."""
        if not originals("kmc"):
            self.skipTest("no kmc")
        theirs = self.read("-k29", "-m2", original=True)
        self.assertEqual(theirs.counts(), self.truth(29))
        ours = self.read("-k29", "-m2")
        self.assertEqual(ours.counts(), theirs.counts())
        self.assertEqual({name: ours.facts.get(name) for name in ("k", "max", "data_size", "min_count", "max_count")},
                         {name: theirs.facts.get(name) for name in ("k", "max", "data_size", "min_count", "max_count")})

    def test_info(self):
        if not originals("kmc_tools"):
            self.skipTest("no kmc_tools")
        for options in (("-k29",), ("-k12", "-cs70000", "-ci1")):
            self.read(*options)
            self.run_named("kmc", *options, "-okff", "-hp", "@list", "more", "tmp", original=True)
            for name in ("sample", "more"):
                theirs, ours = self.run_both("kmc_tools", "info", name)
                self.assertEqual(ours, theirs)
                self.assertIn("tot_nb_blocks", ours)
            (self.folder / "more.kff").unlink()


class AllForms(NamesTest):
    K = 13

    def setUp(self):
        super().setUp()
        dice = random.Random(5)
        # Each has the same 5 bases in its middle, which no other place has, so that they can be cut out.
        self.strings, known, self.minimizer = [], set(), "GATTA"
        while len(self.strings) < 40:
            half = ["".join(dice.choice("ACGT") for _ in range(8)) for _ in range(2)]
            text = half[0] + self.minimizer + half[1]
            kmers = {canonical(text[i : i + self.K]) for i in range(len(text) - self.K + 1)}
            if text.count(self.minimizer) == 1 and len(kmers) == len(text) - self.K + 1 and not kmers & known:
                known |= kmers
                self.strings.append(text)
        self.dice = dice

    def dumped(self, *options):
        self.warpmer("kmc_tools", "-hp", "transform", "in.kff", "-ci1", "dump", *options, "out.txt")
        return [(kmer, int(count)) for kmer, count in (line.split("\t") for line in (self.folder / "out.txt").read_text().splitlines())]

    def test_read_by_kmc_tools(self):
        forms = itertools.product((1, 4, 256, 300), (1, 2, 4), ("", self.minimizer))
        for codes, (most, data_size, minimizer) in zip(itertools.cycle(("ACGT", "TGCA", "GATC", "CTAG", "TCGA")), forms):
            with self.subTest(codes=codes, most=most, data_size=data_size, minimizer=minimizer):
                counts = collections.defaultdict(lambda limit=min(256**data_size, 2**32): self.dice.randrange(1, limit))
                strings = [text if self.dice.randrange(2) or minimizer else reverse_complement(text) for text in self.strings]
                content = kff_bytes(strings, counts, self.K, codes, most, data_size, minimizer=minimizer)
                self.file("in.kff", content)
                theirs = KffFile(content).counts()
                self.assertEqual(theirs, {canonical(kmer): n for kmer, n in counts.items()})
                self.assertEqual(self.dumped("-s"), sorted(theirs.items()))
        (self.folder / "twice").mkdir()  # no output: those are twice.kmc_pre and twice.kmc_suf
        self.warpmer("kmc_tools", "-hp", "simple", "in.kff", "in.kff", "intersect", "twice")
        self.assertIn("twice.kmc_pre", self.files())

    def test_info(self):
        """Of several k-mers a block the original counts the blocks as well; it does not read sections with a minimizer."""
        counts = collections.defaultdict(lambda: 3)
        content = kff_bytes(self.strings, counts, self.K, "GATC", 4, 2, minimizer=self.minimizer)
        self.file("in.kff", content)
        section = next(begin for letter, begin, _ in KffFile(content).sections if letter == b"m")
        self.assertEqual(self.warpmer("kmc_tools", "info", "in"), (
            "This is KFF file, summary:\ncanonical         :  yes\nall k-mers unique :  yes\nsymbols encoding:\n\tA: 1\n\tC: 3\n\tG: 0\n\tT: 2\n"
            f"k             :  13\ndata_size     :  2\nmax           :  4\nm             :  5\nData sections:\n\ttype            :  minimizer\n"
            f"\tdata_start      :  {section + 1 + 2 + 8}\n\tnb_blocks       :  120\n\tminimizer (HEX) :  0 69 \ntot_nb_blocks :  120\n"))
        self.file("bad.kff", content[: section + 40] + content[-3:])
        self.refused_named("this KFF file is", "kmc_tools", "info", "bad", status=1)

    def test_one_strand(self):
        counts = collections.defaultdict(lambda: self.dice.randrange(1, 256))
        self.file("in.kff", kff_bytes(self.strings, counts, self.K, most=8, is_canonical=False))
        self.assertEqual(self.dumped("-s"), sorted(counts.items()))


if __name__ == "__main__":
    main()
