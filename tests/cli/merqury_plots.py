#!/usr/bin/env python3
"""The pictures of `merqury`, read back: they show what its tables say.

ctest: one thread (its threads are those of merqury.py)
"""

import collections
import random
import re

from common_cli import fasta, main, random_bases
from common_merqury import MerquryTest, plot_names
from common_pictures import SVG, Drawing, points_of


class Plots(MerquryTest):
    def rows_of(self, name):
        """{class: {count: k-mers}} of a histogram."""
        classes = collections.defaultdict(dict)
        for line in (self.folder / name).read_text().splitlines()[1:]:
            name, count, kmers = line.split("\t")
            classes[name][int(count)] = int(kmers)
        return classes

    def check_spectrum(self, name, classes, rows):
        """Three pictures of a histogram whose classes are called so."""
        drawing = Drawing(self.folder / f"{name}.ln.svg")
        filled, stacked = (Drawing(self.folder / f"{name}.{shape}.svg") for shape in ("fl", "st"))
        sums = collections.Counter()
        for number, of in enumerate(classes):
            curve = drawing.curve(name=f"line{number}")
            self.assertEqual(filled.curve(name=f"line{number}"), curve)
            sums.update(rows[of])
            layer = points_of(stacked.paths(f"fill{number}")[0].rsplit("L", 1)[0])
            self.assertEqual(len(layer), len(curve))
            top = max(height for height, _ in drawing.heights)
            for (x, height), (_, y) in zip(curve, layer):
                # As a tick has its place in the middle of its count.
                count = round(drawing.along(drawing.counts, x))
                for value, found in ((rows[of].get(count, 0), height), (sums[count], stacked.along(stacked.heights, y))):
                    if value < top:
                        self.assertAlmostEqual(found, value, delta=0.01 * top + 0.51, msg=(name, of, count))
                    else:
                        self.assertGreater(found, 0.98 * top)
        for each in (drawing, filled, stacked):
            self.assertEqual(each.overlaps(), [], name)

    def check_blob(self, name, rows):
        """Circles of rows (group, name, x, y, size)."""
        root = Drawing(self.folder / name).root
        circles = sorted((circle.find(SVG + "title").text, *(float(circle.get(side)) for side in ("cx", "cy", "r"))) for circle in root.iter(SVG + "circle"))
        titles = [f"{group}, {contig}: {x:,} pat, {y:,} mat, {size:,} in all" for group, contig, x, y, size in rows]
        if "block" in name:
            titles = [title.replace(f"{x:,} pat, {y:,} mat", f"{x:,} mat, {y:,} pat") for title, (_, _, x, y, _) in zip(titles, rows)]
        self.assertEqual([circle[0] for circle in circles], sorted(titles))
        most, largest = max(max(x, y) for _, _, x, y, _ in rows) * 1.01, max(row[-1] for row in rows)
        for title, (_, _, x, y, size) in zip(titles, rows):
            (found,) = [circle[1:] for circle in circles if circle[0] == title]
            for value, expected in zip(found, (78 + 328 * x / most, 378 - 328 * y / most, 1.5 + 14 * (size / largest) ** 0.5)):
                self.assertAlmostEqual(value, expected, delta=0.01)
        self.assertEqual(Drawing(self.folder / name).overlaps(), [])

    def table(self, name):
        return [[int(cell) if cell.isdigit() else cell for cell in line.split("\t")] for line in (self.folder / name).read_text().splitlines()[1:]]

    def test_plots(self):
        self.make_phased(21)
        self.file("b&<c>.fa", (self.folder / "asm.fa").read_text().split(">mat")[0] + ">x\n" + "ACGGT" * 30 + "\n")
        run = ("merqury", "reads.wmi", "asm.fa", "b&<c>.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x", "--short-range", 3000)
        self.warpmer(*run, "-t", 1)
        names = {"x." + name for name in plot_names(["asm", "b&<c>"], ["pat", "mat"], (100, 3000))}
        self.assertEqual({name for name in self.files() if name.endswith(".svg")}, names)
        before = {name: (self.folder / name).read_bytes() for name in names}
        self.warpmer(*run, "-t", 3)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in names}, before)
        copies = ("1", "2", "3", "4", ">4")
        self.check_spectrum("x.spectra-cn", ("read-only", *copies), self.rows_of("x.spectra-cn.hist"))
        self.check_spectrum("x.asm.spectra-cn", ("read-only", *copies), self.rows_of("x.asm.spectra-cn.hist"))
        self.check_spectrum("x.asm.pat.spectra-cn", ("pat-only", *copies), self.rows_of("x.asm.pat.spectra-hap-cn.hist"))
        owners = ("read-only", "asm-only", "b&<c>-only", "shared")
        self.check_spectrum("x.spectra-asm", owners, self.rows_of("x.spectra-asm.hist"))
        self.assertEqual(Drawing(self.folder / "x.spectra-asm.ln.svg").texts()[-4:], ["in reads only", *owners[1:]])
        self.check_blob("x.hapmers.blob.svg", self.table("x.hapmers.count"))
        self.check_blob("x.asm.100_3000.phased_block.blob.svg", self.table("x.asm.100_3000.phased_block.counts"))
        self.warpmer(*run[:-4], "-o", "none", "--no-plots")
        self.assertFalse([name for name in self.files() if name.startswith("none") and name.endswith("svg")])

    def test_columns_of_what_only_assemblies_have(self):
        reads, assemblies, _ = self.make(21)
        self.warpmer("merqury", "reads.wmi", "mat.fasta", "-o", "x", "--solid-count", 2)
        for name, of in (("x.mat.spectra-cn.ln.svg", "x.mat.only.hist"), ("x.spectra-asm.st.svg", "x.dist_only.hist")):
            drawing = Drawing(self.folder / name)
            zero = drawing.heights[0][1]
            left = min(float(rect.get("x")) for rect in drawing.root.iter(SVG + "rect") if rect.get("x"))
            columns = [rect for rect in drawing.root.iter(SVG + "rect") if rect.get("x") and float(rect.get("x")) == left and float(rect.get("y")) < zero]
            bottom = zero
            values = [int(line.split("\t")[2]) for line in (self.folder / of).read_text().splitlines()]
            self.assertEqual(len(columns), len(values))
            for rect, value in zip(columns, values):
                height = float(rect.get("height"))
                self.assertAlmostEqual(float(rect.get("y")) + height, bottom, delta=0.02)
                bottom = float(rect.get("y"))
                self.assertAlmostEqual(drawing.along(drawing.heights, zero - height), value, delta=1)

    def test_many_sequences(self):
        """The largest are drawn."""
        source = random.Random(8)
        genome = random_bases(source, 100_000)
        sizes = [21 + (at * 7919) % 40 for at in range(12_000)]
        self.file("many.fa", fasta((f"s{i}", genome[at : at + size]) for i, size in enumerate(sizes) for at in [(i * 31) % 90_000]))
        self.file("reads.fa", fasta([("x", genome)]))
        for name in ("reads", "pat", "mat"):
            self.count("reads.fa", k=21, output=name + ".wmi")
        self.warpmer("merqury", "reads.wmi", "many.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x")
        drawing = Drawing(self.folder / "x.hapmers.blob.svg")
        found = [circle.find(SVG + "title").text.split(":")[0] for circle in drawing.root.iter(SVG + "circle")]
        expected = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))[:10_000]
        self.assertEqual(found, [f"many, s{i}" for i in expected])
        self.assertIn("the largest 10,000 of 12,000", drawing.texts())

    def steps_of(self, name, paint):
        """[(share of all sizes, size)] where a path's columns or steps end."""
        drawing = Drawing(self.folder / name)
        bases = [pair for pair in drawing.heights]
        (path,) = drawing.paths(paint)
        steps = re.findall(r"V([\d.]+)H([\d.]+)", path) if path.count("M") > 1 or "Z" in path else re.findall(r"(?:M[\d.]+ |V)([\d.]+)H([\d.]+)", path)
        self.assertEqual(drawing.overlaps(), [], name)
        return [((float(end) - 62) / 400, drawing.along(bases, float(y))) for y, end in steps]

    def check_steps(self, found, expected):
        """Of [(share, size)]."""
        self.assertEqual(len(found), len(expected))
        top = expected[0][1]
        for (share, size), (right_share, right_size) in zip(found, expected):
            self.assertAlmostEqual(share, right_share, delta=1e-4)
            self.assertAlmostEqual(size, right_size, delta=max(1, top * 1e-3))

    def test_sizes_of_blocks(self):
        """The pictures of N* say what the files of sizes say; a few columns, so that none is too narrow."""
        self.make_phased(21)
        self.warpmer("merqury", "reads.wmi", "asm.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x", "--num-switch", 10000)

        def shares(name):
            rows = [line.split("\t") for line in (self.folder / name).read_text().splitlines()]
            sizes = [int(size) for *_, size in rows]
            return [(group, sum(sizes[: i + 1]) / sum(sizes), size) for i, (_, group, size) in enumerate(zip(sizes, (row[1] for row in rows), sizes))]

        blocks = shares("x.asm.10000_20000.phased_block.sizes")
        self.assertGreater(len({group for group, *_ in blocks}), 1)
        for number, hap in enumerate(("mat", "pat"), 1):
            self.check_steps(self.steps_of("x.asm.block.N.svg", f"fill{number}"), [row[1:] for row in blocks if row[0] == hap])
        for number, name in enumerate(("10000_20000.phased_block", "contig", "scaff"), 1):
            steps = [row[1:] for row in shares(f"x.asm.{name}.sizes")]
            self.check_steps(self.steps_of("x.asm.continuity.N.svg", f"line{number}"), steps)
        self.assertEqual(Drawing(self.folder / "x.asm.continuity.N.svg").texts()[-3:], ["phase blocks", "contigs", "scaffolds"])


if __name__ == "__main__":
    main()
