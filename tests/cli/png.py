#!/usr/bin/env python3
"""Pictures as PNG: the pixels of what the SVG says, and what is said where they cannot be made.

ctest: release only (fontconfig keeps what it has read)
"""

import pathlib
import shutil
import struct
import subprocess
import unittest
import zlib

from common_cli import DATA, RESOURCE, USAGE, WARPMER, CliTest, main
from common_pictures import SVG, Drawing

HAS_PNG = pathlib.Path(WARPMER).with_name("warpmer_png.so").exists()
DOTS = 3  # for each unit


def undo(filter_type, line, before):
    """Puts the bytes of a row in the place of what its filter made of them."""
    if filter_type == 2:
        return bytearray((one + up) & 255 for one, up in zip(line, before))
    for x in range(len(line)) if filter_type else ():
        left, up, corner = (line[x - 3], before[x], before[x - 3]) if x > 2 else (0, before[x], 0)
        if filter_type == 1:
            guess = left
        elif filter_type == 3:
            guess = (left + up) // 2
        else:
            of_left, of_up, of_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if of_left <= of_up and of_left <= of_corner else up if of_up <= of_corner else corner
        line[x] = (line[x] + guess) & 255
    return line


def pixels_of(path):
    """Rows of (red, green, blue)."""
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert struct.unpack(">I", content[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + data)
        if kind == b"IHDR":
            width, height, depth, colours, *_ = struct.unpack(">IIBBBBB", data)
            assert (depth, colours) == (8, 2)
        packed += data if kind == b"IDAT" else b""
        at += length + 12
    raw, rows, before = zlib.decompress(packed), [], bytes(3 * width)
    for y in range(height):
        at = y * (3 * width + 1)
        before = undo(raw[at], bytearray(raw[at + 1 : at + 1 + 3 * width]), before)
        rows.append(list(zip(before[::3], before[1::3], before[2::3])))
    return rows


def colour(text):
    return tuple(bytes.fromhex(text.lstrip("#")))


@unittest.skipUnless(HAS_PNG, "built without librsvg")
class Pixels(CliTest):
    def setUp(self):
        super().setUp()
        self.index = self.count(DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz", k=21)

    def check_size(self, rows, drawing):
        self.assertEqual((len(rows[0]), len(rows)), tuple(DOTS * int(drawing.root.get(side)) for side in ("width", "height")))

    def test_bars(self):
        for name in ("x.svg", "x.png", "again.png"):
            self.warpmer("histo", "-o", name, self.index)
        self.assertEqual((self.folder / "x.png").read_bytes(), (self.folder / "again.png").read_bytes())
        rows, drawing = pixels_of(self.folder / "x.png"), Drawing(self.folder / "x.svg")
        self.check_size(rows, drawing)
        self.assertEqual(rows[0][0], (255, 255, 255))
        bottom = DOTS * drawing.heights[0][1]
        bars = [bar for bar in drawing.bars() if bar[2] > 5]
        self.assertGreater(len(bars), 10)
        seen = 0
        for begin, end, _ in bars:
            # Where no line runs through the middle of its foot.
            seen += rows[round(bottom - DOTS * 2)][round(DOTS * (begin + end) / 2)] == colour("#56a0d3")
        self.assertGreater(seen, len(bars) // 2)

    def test_cells(self):
        self.count(DATA / "genome.fa", k=21, output="genome.wmi")
        self.warpmer("compare", self.index, "genome.wmi", "--svg", "x.svg", "--png", "x.png", "-o", "x.tsv")
        rows, drawing = pixels_of(self.folder / "x.png"), Drawing(self.folder / "x.svg")
        self.check_size(rows, drawing)
        cells = [rect for rect in drawing.root.iter(SVG + "rect") if rect.find(SVG + "title") is not None]
        self.assertEqual(len(cells), 4)
        for rect in cells:
            x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            self.assertEqual(rows[round(DOTS * (y + height / 2))][round(DOTS * (x + width / 2))], colour(rect.get("fill")))

    def test_hetmers(self):
        self.warpmer("hetmers", "--any", "-L", 2, self.index, "--svg", "x.svg", "--png", "x.png")
        rows, drawing = pixels_of(self.folder / "x.png"), Drawing(self.folder / "x.svg")
        self.check_size(rows, drawing)
        darkest = [rect for rect in drawing.root.iter(SVG + "rect") if rect.get("class") == "shade" and rect.get("fill-opacity") == "1.00"]
        self.assertTrue(darkest)
        colours = {value for row in rows for value in row}
        self.assertIn(colour("#08306b"), colours)

    def test_merqury(self):
        self.warpmer("merqury", self.index, DATA / "genome.fa", "-o", "x", "--png")
        names = [f"x.{name}.{shape}" for name in ("genome.spectra-cn", "spectra-asm") for shape in ("fl", "ln", "st")]
        self.assertEqual({name for name in self.files() if name.endswith(("svg", "png"))}, {name + end for name in names for end in (".svg", ".png")})
        rows = pixels_of(self.folder / "x.genome.spectra-cn.st.png")
        self.check_size(rows, Drawing(self.folder / "x.genome.spectra-cn.st.svg"))
        self.assertIn(colour("#56a0d3"), {value for row in rows for value in row})
        self.refused(USAGE, "--no-plots draws nothing", "merqury", self.index, DATA / "genome.fa", "-o", "y", "--png", "--no-plots")

    def test_names(self):
        self.refused(USAGE, "'x.svg' ends as SVG does, .* PNG", "compare", self.index, self.index, "--png", "x.svg")
        self.refused(USAGE, "'x.svg' ends as SVG does, .* PNG", "hetmers", self.index, "--png", "x.svg")
        self.refused(USAGE, "ends as compressed text does", "histo", self.index, "-o", "x.png.gz")
        self.refused(USAGE, "leave out --plot", "histo", self.index, "--plot", "-o", "x.png")
        self.refused(USAGE, "--dense is for rows", "histo", self.index, "--dense", "-o", "x.png")
        self.refused(RESOURCE, "nowhere", "histo", self.index, "-o", "nowhere/x.png")


class WithoutModule(CliTest):
    def alone(self, *arguments):
        """Runs a copy of the program that has no module beside it."""
        return subprocess.run([self.folder / "alone", *map(str, arguments)], cwd=self.folder, capture_output=True, check=False)

    def test_what_is_missing(self):
        """Before any work: inputs that are not there would be missed."""
        shutil.copy(WARPMER, self.folder / "alone")
        self.count(DATA / "reads_1.fq.gz", k=21, output="a.wmi")
        for command in (("histo", "a.wmi", "-o", "x.png"), ("histo", "-k", 21, "nothing.fq", "-o", "x.png"), ("compare", "a.wmi", "a.wmi", "--png", "x.png"),
                        ("hetmers", "a.wmi", "--png", "x.png"), ("merqury", "a.wmi", DATA / "genome.fa", "-o", "x", "--png")):  # fmt: skip
            process = self.alone(*command)
            self.assertEqual(process.returncode, RESOURCE, command)
            message = process.stderr.decode()
            self.assertRegex(message, r"PNG needs the module warpmer_png\.so, which is not beside this warpmer; install it .*librsvg")
            self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual({name for name in self.files() if name.startswith("x")}, set())
        # SVG needs none.
        self.assertEqual(self.alone("histo", "a.wmi", "-o", "x.svg").returncode, 0)
        (self.folder / "warpmer_png.so").write_bytes(b"no library")
        process = self.alone("histo", "a.wmi", "-o", "x.png")
        self.assertEqual(process.returncode, RESOURCE)
        self.assertRegex(process.stderr.decode(), "module for PNG cannot be opened")


if __name__ == "__main__":
    main()
