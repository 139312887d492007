#!/usr/bin/env python3
"""Pictures of spectra: what is drawn is what the histogram and the model say.

ctest: one thread
"""

import fcntl
import json
import math
import os
import pty
import re
import struct
import subprocess
import termios
import xml.etree.ElementTree

from common_cli import DATA, INPUT, USAGE, WARPMER, CliTest, fasta, main
from common_pictures import SVG, Drawing
from common_reads import simulated_reads
from common_tier import some

ROWS = 16
BLOCKS = " ▁▂▃▄▅▆▇█"


def negative_binomial(count, mean, dispersion):
    """Probability of a count; the variance is mean * (1 + dispersion)."""
    size = mean / dispersion
    return math.exp(
        math.lgamma(count + size) - math.lgamma(size) - math.lgamma(count + 1)
        - size * math.log1p(dispersion) + count * math.log(dispersion / (1 + dispersion))
    )  # fmt: skip


class SpectrumPictures(CliTest):
    def setUp(self):
        super().setUp()
        self.file("reads.fa", fasta([("r", read) for read in simulated_reads(20000, 1500, 6000, 0.004)]))
        self.index = self.count("reads.fa", k=21)
        self.histogram = {int(c): int(n) for c, n in (line.split() for line in self.warpmer("histo", self.index).splitlines())}

    def average(self, begin, step):
        return sum(self.histogram.get(count, 0) for count in range(begin, begin + step)) / step

    def check_bars(self, drawing, last, log=False):
        bars = drawing.bars(log)
        step = -(-last // 200)
        self.assertEqual(len(bars), -(-last // step))
        top = number_of_top = max(value for value, _ in drawing.heights)
        for i, (_, _, height) in enumerate(bars):
            expected = self.average(1 + i * step, step)
            if log:
                if expected > 1:
                    self.assertLess(abs(math.log(height / expected)), 0.05, i)
            elif expected < number_of_top:
                self.assertAlmostEqual(height, expected, delta=0.003 * top, msg=i)
            else:
                self.assertGreaterEqual(height, top)

    def test_svg_shows_the_histogram(self):
        for last, log in some([(last, log) for last in (30, 123, 400, 1999) for log in (last == 30, last != 30)], 3):
            with self.subTest(last=last, log=log):
                self.warpmer("histo", "--max-count", last, *["--log"] * log, "-o", "x.svg", self.index)
                self.check_bars(Drawing(self.folder / "x.svg"), last, log)

    def test_the_curve(self):
        """A genome without repeats, evenly covered: one negative binomial."""
        reads = fasta([("r", read) for read in simulated_reads(20000, 0, 6000, 0)])
        index = self.count("-", k=21, stdin=reads, output="even.wmi")
        spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
        self.assertEqual(spectrum["ploidy"], 1)
        self.warpmer("histo", "-o", "x.svg", index)
        drawing = Drawing(self.folder / "x.svg")
        mean, dispersion, found = spectrum["kmer_coverage"], max(spectrum["dispersion"], 1e-9), drawing.curve()
        top = max(height for _, height in found)
        counts = [drawing.along(drawing.counts, x) for x, _ in found]
        for count, (_, height) in zip(counts, found):
            self.assertAlmostEqual(count, round(count), delta=0.1)
            if 0.5 * mean < count < 1.5 * mean:
                expected = 20000 * negative_binomial(round(count), mean, dispersion)
                self.assertAlmostEqual(height, expected, delta=0.03 * top, msg=count)
        self.assertIn(f"coverage {mean:.4g}", [text.text for text in drawing.root.iter(SVG + "text")])

    def test_every_count_twice(self):
        """The curve has no k-mers of odd counts, either."""
        index = self.count("reads.fa", "reads.fa", k=21, output="twice.wmi", options=("-q",))
        self.warpmer("histo", "-o", "once.svg", "--max-count", 60, self.index)
        self.warpmer("histo", "-o", "twice.svg", "--max-count", 120, index)
        once, twice = (Drawing(self.folder / name).curve() for name in ("once.svg", "twice.svg"))
        self.assertEqual(len(once), len(twice))
        top = max(height for _, height in once)
        for (_, a), (_, b) in zip(once, twice):
            self.assertAlmostEqual(a, 2 * b, delta=0.02 * top)

    def test_any_largest_count(self):
        """Bins have any number of counts, and counts go up to 2^64 - 1."""
        most = (1 << 64) - 1
        for last in (10**9, most - 1):
            self.plot("--max-count", last, self.index)
            self.warpmer("histo", "--max-count", last, "-o", "x.svg", self.index)
        self.warpmer("convert", "-o", "most.wmi", self.file("most.tsv", f"{'A' * 21}\t{most}\n"))
        self.assertIn("█", "".join(self.plot("most.wmi")))

    def test_svg_stands_alone_and_is_escaped(self):
        name = "a & <b> \"c\" 'd'\n\x1b[31m\udcff\ufffe.wmi"
        os.rename(self.folder / self.index, os.fsencode(self.folder) + b"/" + name.encode("utf-8", "surrogateescape"))
        self.warpmer("histo", "-o", "x.svg", name)
        text = (self.folder / "x.svg").read_text()
        self.assertNotRegex(text.replace('xmlns="http://www.w3.org/2000/svg"', ""), r"href|url\(|http|<script|@import|[\x00-\x09\x0b-\x1f]")
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.get("aria-label"), "a & <b> \"c\" 'd'\\n\\x1b[31m\\xff\ufffd.wmi, k = 21")

    def test_long_names_end_between_characters(self):
        for letter in some(("ä", "語", "a", "😀"), 2):
            name = letter * 60 + ".wmi"
            os.rename(self.folder / self.index, self.folder / name)
            self.warpmer("histo", "-o", "x.svg", name)
            os.rename(self.folder / name, self.folder / self.index)
            drawing = Drawing(self.folder / "x.svg")
            title = drawing.texts()[0]
            self.assertRegex(title, f"^{letter}{{40,55}}\\.\\.\\.$")
            self.assertEqual(drawing.overlaps(), [])

    def plot(self, *arguments, locale="C.UTF-8", columns=None):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": locale}
        command = [WARPMER, "histo", "--plot", *map(str, arguments)]
        if columns is None:
            return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, check=True).stdout.decode().splitlines()
        main_end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen(command, cwd=self.folder, env=environment, stdout=other) as process:
            os.close(other)
            text = b""
            while True:
                try:
                    piece = os.read(main_end, 4096)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            self.assertEqual(process.wait(), 0)
        os.close(main_end)
        return text.decode().replace("\r", "").splitlines()

    def test_terminal_shows_the_histogram(self):
        lines = self.plot("--max-count", 36, self.index)
        rows = [line[8:] for line in lines[1 : 1 + ROWS]]
        self.assertEqual({line[7] for line in lines[1 : 1 + ROWS]}, {"│"})
        # 72 columns for 36 counts: two each.
        top = 1.12 * max(n for count, n in self.histogram.items() if count > 3)
        for count in range(1, 37):
            column = "".join(row.ljust(72)[2 * (count - 1)] for row in reversed(rows))
            self.assertEqual(column, "".join(row.ljust(72)[2 * count - 1] for row in reversed(rows)))
            expected = self.histogram.get(count, 0) / top * ROWS * 8
            if "•" in column:
                continue  # which hides a cell
            if expected > ROWS * 8:
                self.assertEqual(column, "█" * (ROWS - 1) + "↑")
            else:
                # The top may be that of the curve, which is a little higher or lower.
                self.assertAlmostEqual(sum(BLOCKS.index(c) for c in column), expected, delta=1 + expected / 10, msg=count)
        self.assertRegex(lines[-1], r"█ k-mers   • model   error cut-off 3   coverage \d")

    def test_width_and_locale(self):
        self.assertLessEqual(max(map(len, self.plot(self.index))), 80)
        for columns in some((40, 61, 200)):
            widest = max(map(len, self.plot(self.index, columns=columns)))
            self.assertLessEqual(widest, columns)
            self.assertGreater(widest, columns * 0.6 if columns < 100 else 80)
        self.assertLessEqual(max(map(len, self.plot(self.index, columns=10))), 40)
        for locale in some(("C", "POSIX", "de_DE.ISO-8859-1")):
            plain = "\n".join(self.plot("--log", self.index, locale=locale))
            self.assertTrue(plain.isascii() and "#" in plain and "*" in plain)
        self.assertFalse("\n".join(self.plot(self.index, locale="en_GB.utf8")).isascii())

    def test_no_model(self):
        genome = self.count(DATA / "genome.fa", k=21, output="genome.wmi")
        self.assertNotIn("model", self.plot(genome)[-1])
        self.warpmer("histo", "-o", "x.svg", genome)
        self.assertEqual(Drawing(self.folder / "x.svg").paths("curve"), [])
        empty = self.count(DATA / "empty.fa", k=21, output="empty.wmi", options=("-q",))
        for options in ((), ("--log",), ("--max-count", 1)):
            self.assertEqual(len(self.plot(*options, empty)), 1 + ROWS + 3)
            self.warpmer("histo", "-o", "x.svg", *options, empty)
            Drawing(self.folder / "x.svg")

    def test_reads(self):
        self.assertEqual(self.plot("-k", 21, "-q", "reads.fa")[1:], self.plot(self.index)[1:])
        self.warpmer("histo", "-k", 21, "-q", "-o", "reads.svg", "reads.fa")
        self.assertEqual(Drawing(self.folder / "reads.svg").bars(), self.drawn(self.index).bars())

    def drawn(self, index):
        self.warpmer("histo", "-o", "index.svg", index)
        return Drawing(self.folder / "index.svg")

    def test_what_makes_no_sense(self):
        for status, pattern, *arguments in (
            (USAGE, "--log is for pictures", "--log", self.index),
            (USAGE, "--dense is for rows", "--plot", "--dense", self.index),
            (USAGE, "--cut is for rows", "--plot", "--cut", "--max-count", 9, self.index),
            (USAGE, "--format kat is for rows", "-o", "x.svg", "--format", "kat", self.index),
            (USAGE, "a picture is of one index", "--plot", self.index, self.index),
            (USAGE, "'x.svg' ends as SVG does.*leave out --plot", "--plot", "-o", "x.svg", self.index),
            (USAGE, "'x.png' ends as PNG does.*leave out --plot", "--plot", "-o", "x.png", self.index),
            (INPUT, "no_such", "--plot", "-o", "x.txt", "no_such.wmi"),
            (INPUT, "no_such", "-o", "x.svg", "no_such.wmi"),
        ):  # fmt: skip
            self.refused(status, pattern, "histo", *arguments)


if __name__ == "__main__":
    main()
