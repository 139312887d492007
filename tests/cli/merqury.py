#!/usr/bin/env python3
"""`merqury` against Merqury's definitions in plain Python, on a made-up diploid with known errors."""

import collections
import decimal
import gzip
import math
import os
import pathlib
import random
import re
import struct
import unittest

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, canonical, fasta, kmers_of, main, naive_count, reverse_complement
from common_pictures import SVG, Drawing, points_of
from common_tier import one_thread, some


def sequence_of(source, length):
    return "".join(source.choice("ACGT") for _ in range(length))


def with_errors(source, sequence, number):
    bases = list(sequence)
    for at in source.sample(range(len(bases)), number):
        bases[at] = source.choice("ACGT".replace(bases[at], ""))
    return "".join(bases)


def number(value):
    return "inf" if math.isinf(value) else f"{value:.6g}"


def quality(missing, kmers, k):
    if kmers == 0:
        return f"{missing}\t{kmers}\tna\tna"
    error = 1 - (1 - missing / kmers) ** (1 / k)
    value = abs(-10 * math.log10(error)) if error > 0 else math.inf
    return f"{missing}\t{kmers}\t{number(value)}\t{number(error)}"


def histogram(name, counts):
    return "".join(f"{name}\t{count}\t{kmers}\n" for count, kmers in sorted(collections.Counter(counts).items()))


def as_float(value):
    """In 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


def rounded(value, places):
    """Halves go up."""
    return decimal.Decimal(value).quantize(decimal.Decimal(places), decimal.ROUND_HALF_UP)


def phase_blocks(contigs, limit, reach):
    """(contig, start, end, haplotype, state, haplotype of the block) of markers, and (contig, start, end, haplotype, switches, markers) of blocks.

    Of contigs with lists of markers (start, end, haplotype)."""
    rows, blocks = [], []
    contigs = [(contig, markers) for contig, markers in contigs if markers]
    for number, (contig, markers) in enumerate(contigs):
        block, row, switches, own = [], [], 0, markers[0][2]
        for marker in markers:
            state = "SwitchBack" if row else "Same"
            if marker[2] == own:
                switches += len(row)
                block += [*row, marker]
                row = []
            else:
                row.append(marker)
                state = "Short"
                if len(row) > 1 and (len(row) >= limit or marker[1] - row[0][0] > reach):
                    blocks.append((contig, block[0][0], block[-1][1], own, switches, len(block)))
                    block, row, switches, own, state = row, [], 0, marker[2], "Long"
            rows.append((contig, *marker, state, own))
        if number + 1 == len(contigs):
            blocks.append((contig, block[0][0], markers[-1][1], own, switches, len(block) + len(row)))
        else:
            blocks.append((contig, block[0][0], block[-1][1], own, switches, len(block)))
            if row:
                blocks.append((contig, row[0][0], row[-1][1], contigs[number + 1][1][0][2], switches, len(row)))
    return rows, [block for block in blocks if block[-1] > 1]


def phase_files(out, contigs, haps, limit, reach):
    rows, blocks = phase_blocks(contigs, limit, reach)
    rates = [rounded(as_float(switches / markers), "0.001") for *_, switches, markers in blocks]
    switches, markers = (sum(block[i] for block in blocks) for i in (4, 5))
    sums = f"{switches}\t{markers}\t{f'{100 * switches / markers:.6g}%' if markers else 'na'}"
    lengths = sorted((end - start for _, start, end, *_ in blocks), reverse=True)
    sizes = "0\t0\tna\tna\tna\tna"
    if lengths:
        half = next(length for i, length in enumerate(lengths) if 2 * sum(lengths[: i + 1]) > sum(lengths))
        average = rounded(as_float(as_float(sum(lengths)) / len(lengths)), "1")
        sizes = "\t".join(f"{value:,}" for value in (len(lengths), sum(lengths), lengths[-1], average, half, lengths[0]))
    first, second = sorted(haps)
    counts = "".join(
        f"{own}\t{contig}_{start}_{end}\t{swi if own == second else all}\t{all if own == second else swi}\t{end - start}\n"
        for contig, start, end, own, swi, all in blocks
    )
    sizes_of_blocks = sorted(((end - start, own) for _, start, end, own, *_ in blocks), reverse=True)
    return {
        "phased_block.sizes": "".join(f"block\t{own}\t{size}\n" for size, own in sizes_of_blocks),
        "switch.bed": "".join("\t".join(map(str, row)) + "\n" for row in rows),
        "phased_block.bed": "".join("\t".join(map(str, (*block[:4], rate, *block[4:]))) + "\n" for block, rate in zip(blocks, rates)),
        "phased_block.counts": f"Block\tRange\t{first}\t{second}\tSize\n{counts}",
        "phased_block.stats": f"{out}\t{sizes}\t{sums}\n",
        "switches.txt": f"{out} switch error rate (%) (Num. switches / Total markers found): {sums}\n",
    }


def depth_track(contigs, k):
    """WIG of contigs with the positions of k-mers."""
    text = ""
    for contig, starts in contigs:
        depth = collections.Counter(base for at in starts for base in range(at, at + k))
        text += f"variableStep chrom={contig}\n" + "".join(f"{at + 1}\t{depth[at]}\n" for at in sorted(depth))
    return text


def size_files(name, sequences):
    """`sort -nr` of lengths, and of those of what stands between runs of N."""
    sizes = [len(sequence) for sequence in sequences]
    contigs = [len(part) for sequence in sequences for part in re.split("[Nn]+", sequence) if part]
    if sum(contigs) == sum(sizes):
        contigs = sizes
    files = {"contig.sizes": ("contig", contigs), "scaff.sizes": ("scaffold", sizes)}
    if contigs == sizes:
        del files["scaff.sizes"]
    return {file: "".join(f"{kind}\t{name}\t{size}\n" for size in sorted(of, reverse=True)) for file, (kind, of) in files.items()}


def plot_names(assemblies, hapmers, limits=(100, 20000)):
    names = [f"{name}.{shape}" for name in ["spectra-asm"] + [f"{assembly}.spectra-cn" for assembly in assemblies] for shape in ("fl", "ln", "st")]
    if len(assemblies) == 2:
        names += [f"spectra-cn.{shape}" for shape in ("fl", "ln", "st")]
    if hapmers:
        names += [f"{assembly}.{kind}.N" for assembly in assemblies for kind in ("block", "continuity")]
        names += ["hapmers.blob"] + [f"{assembly}.{limits[0]}_{limits[1]}.phased_block.blob" for assembly in assemblies]
        names += [f"{assembly}.{hap}.spectra-cn.{shape}" for assembly in assemblies for hap in hapmers for shape in ("fl", "ln", "st")]
    return {name + ".svg" for name in names}


def read_records(path):
    """(header, sequence) of each record of FASTA, or of FASTQ of four lines."""
    lines = gzip.open(path, "rt").read().splitlines()
    if lines[0][0] == "@":
        return [(header[1:], sequence) for header, sequence in zip(lines[::4], lines[1::4])]
    parts = [part.partition("\n") for part in "\n".join(lines).split(">")[1:]]
    return [(header, sequence.replace("\n", "")) for header, _, sequence in parts]


class Oracle:
    """All files, as text, of reads' counts, assemblies {name: records} and hap-mers {name: counts}."""

    def __init__(self, reads, assemblies, hapmers, k, solid, prefix="", limits=(100, 20000)):
        self.prefix, self.limits = prefix, limits
        self.sequences = {name: [sequence for _, sequence in records] for name, records in assemblies.items()}
        self.k, self.reads, self.files = k, reads, {}
        self.assemblies = {name: [(contig, [canonical(kmer) if kmer else None for kmer in kmers_of(sequence, k)]) for contig, sequence in records]
                           for name, records in assemblies.items()}
        self.counts = {name: collections.Counter(kmer for _, kmers in records for kmer in kmers if kmer)
                       for name, records in self.assemblies.items()}
        columns = dict(self.counts)
        if len(columns) == 2:
            columns["both"] = sum(columns.values(), collections.Counter())
        solid_kmers = {kmer for kmer, count in reads.items() if count >= solid}
        qv = completeness = ""
        for name, kmers in columns.items():
            missing = {kmer: copies for kmer, copies in kmers.items() if kmer not in reads}
            of = "" if name == "both" else name + "."
            qv += f"{'Both' if name == 'both' else name}\t{quality(sum(missing.values()), sum(kmers.values()), k)}\n"
            found = sum(kmer in kmers for kmer in solid_kmers)
            completeness += f"{name}\tall\t{found}\t{len(solid_kmers)}\t{number(100 * found / len(solid_kmers))}\n"
            self.files[of + "spectra-cn.hist"] = self.copies("read-only", reads, kmers)
            self.files[of + "only.hist"] = f"1\t0\t{len(missing)}\n2\t0\t{sum(missing.values()) - len(missing)}\n"
        for name, kmers in columns.items():
            for hapmer, counts in hapmers.items():
                found = sum(kmer in kmers for kmer in counts)
                completeness += f"{name}\t{hapmer}\t{found}\t{len(counts)}\t{number(100 * found / len(counts))}\n"
                if name != "both":
                    self.files[f"{name}.{hapmer}.spectra-hap-cn.hist"] = self.copies(hapmer + "-only", counts, kmers)
        self.files["qv"], self.files["completeness.stats"] = qv, completeness
        self.owners()
        self.contigs(hapmers)

    @staticmethod
    def copies(none, counts, kmers):
        classes = [(none, lambda n: n == 0)] + [(str(i), lambda n, i=i: n == i) for i in range(1, 5)] + [(">4", lambda n: n > 4)]
        rows = (histogram(name, (count for kmer, count in counts.items() if has(kmers.get(kmer, 0)))) for name, has in classes)
        return "Copies\tkmer_multiplicity\tCount\n" + "".join(rows)

    def owners(self):
        names = list(self.counts)
        first, second = self.counts[names[0]], self.counts[names[-1]] if len(names) == 2 else {}
        rows = [("read-only", False, False), (names[0], True, False)]
        if len(names) == 2:
            rows = [rows[0], (names[0] + "-only", True, False), (names[1] + "-only", False, True), ("shared", True, True)]
        spectra, missing = "Assembly\tkmer_multiplicity\tCount\n", ""
        for name, in_first, in_second in rows:
            spectra += histogram(name, (count for kmer, count in self.reads.items() if (kmer in first, kmer in second) == (in_first, in_second)))
            only = sum(kmer not in self.reads and (kmer in first, kmer in second) == (in_first, in_second) for kmer in {**first, **second})
            missing += f"{name}\t0\t{only}\n" if name != "read-only" else ""
        self.files["spectra-asm.hist"], self.files["dist_only.hist"] = spectra, missing

    def contigs(self, hapmers):
        counts = "Assembly\tContig\t" + "\t".join(hapmers) + "\tSize\n"
        for name, records in self.assemblies.items():
            qv = bed = wig = ""
            for contig, kmers in records:
                starts = [at for at, kmer in enumerate(kmers) if kmer and kmer not in self.reads]
                total = sum(kmer is not None for kmer in kmers)
                qv += f"{contig}\t{quality(len(starts), total, self.k)}\n"
                bed += "".join(f"{contig}\t{at}\t{at + self.k}\n" for at in starts)
                wig += depth_track([(contig, starts)], self.k)
                found = [sum(kmer in of for kmer in kmers) for of in hapmers.values()]
                counts += f"{name}\t{contig}\t" + "\t".join(map(str, found)) + f"\t{total}\n"
            self.files[name + ".qv"] = qv
            self.files[f"/{name}_only.bed"], self.files[f"/{name}_only.wig"] = bed, wig
            if hapmers:
                self.phases(name, records, hapmers)
        if hapmers:
            self.files["hapmers.count"] = counts

    def markers(self, kmers, hapmers):
        return [(at, at + self.k, hap) for at, kmer in enumerate(kmers) for hap, of in hapmers.items() if kmer in of]

    def phases(self, name, records, hapmers):
        contigs = [(contig, self.markers(kmers, hapmers)) for contig, kmers in records]
        of = "{}.{}_{}".format(name, *self.limits)
        for ending, text in phase_files(f"{self.prefix}.{of}", contigs, list(hapmers), *self.limits).items():
            self.files[f"{of}.{ending}"] = text
        for hap in hapmers:
            starts = [(contig, [start for start, _, own in markers if own == hap]) for contig, markers in contigs]
            self.files[f"{name}.{hap}.wig"] = depth_track(starts, self.k)
        for ending, text in size_files(name, self.sequences[name]).items():
            self.files[f"{name}.{ending}"] = text


class Merqury(CliTest):
    def make(self, k):
        """Reads of two haplotypes, hap-mers of them, and two assemblies with errors, gaps and repeats."""
        source = random.Random(k)
        mother = sequence_of(source, 2000)
        father = with_errors(source, mother, 30)
        repeat = sequence_of(source, 150)
        mother += repeat
        father += repeat * 2
        reads = []
        for haplotype in (mother, father):
            for at in source.choices(range(len(haplotype) - 99), k=300):
                read = with_errors(source, haplotype[at : at + 100], source.choice((0, 0, 0, 1)))
                reads.append(source.choice((read, reverse_complement(read))))
        self.file("reads.fa", fasta((str(i), read) for i, read in enumerate(reads)))
        assemblies = {
            "mat": [("m1", with_errors(source, mother[:900], 4)), ("m2", mother[880:] + "NN" + repeat * 6), ("none", "ACGT"), ("empty", "")],
            "pat.v2": [("p1", father[300:]), ("p2", with_errors(source, reverse_complement(father[:700]), 3) + sequence_of(source, 40))],
        }
        self.file("mat.fasta", fasta(assemblies["mat"]))
        self.file("pat.v2.fa", fasta(assemblies["pat.v2"]))
        sides = [naive_count([haplotype], k) for haplotype in (mother, father)]
        counts = naive_count(reads, k)
        hapmers = {}
        for name, own, other in (("hapA", sides[0], sides[1]), ("hapB", sides[1], sides[0])):
            kmers = sorted(kmer for kmer in own if kmer not in other)
            hapmers[name] = {kmer: own[kmer] for kmer in kmers}
            self.file(name + ".fa", fasta((str(i), kmer) for i, kmer in enumerate(kmers) for _ in range(own[kmer])))
            self.count(name + ".fa", k=k, output=name + ".wmi")
        self.count("reads.fa", k=k, output="reads.wmi")
        return counts, assemblies, hapmers

    def check(self, oracle, prefix):
        before = set(self.files())
        expected = {}
        folder = prefix.rpartition("/")[0]
        for name, text in oracle.files.items():
            expected[(folder + name if folder else name[1:]) if name[0] == "/" else f"{prefix}.{name}"] = text
        for name, text in expected.items():
            with self.subTest(name=name):
                self.assertEqual((self.folder / name).read_text(), text)
        return before, expected

    def test_diploid(self):
        for k, threads in some(((21, 1), (31, 3), (15, 2), (11, 2), (40, 2)), 2):
            reads, assemblies, hapmers = self.make(k)
            with self.subTest(k=k):
                options = ["--solid-count", 3, "-t", threads]
                self.warpmer("merqury", "reads.wmi", "mat.fasta", "pat.v2.fa", "--hapmers", "hapA.wmi", "hapB.wmi", "-o", "trio", *options)
                self.check(Oracle(reads, assemblies, hapmers, k, 3, "trio"), "trio")
                self.warpmer("merqury", "reads.wmi", "mat.fasta", "pat.v2.fa", "-o", "pair", *options)
                self.check(Oracle(reads, assemblies, {}, k, 3), "pair")

    def test_one_assembly(self):
        reads, assemblies, hapmers = self.make(21)
        (self.folder / "out").mkdir()
        before = set(self.files())
        one = {"mat": assemblies["mat"]}
        self.warpmer("merqury", "reads.wmi", "mat.fasta", "-o", "out/one", "--solid-count", 2)
        _, expected = self.check(Oracle(reads, one, {}, 21, 2), "out/one")
        expected.update(dict.fromkeys(f"out/one.{name}" for name in plot_names(one, [])))
        self.assertEqual({f"out/{path.name}" for path in (self.folder / "out").iterdir()}, set(expected))
        self.assertEqual(set(self.files()) - before, set(self.files()) & set(expected))
        self.warpmer("merqury", "reads.wmi", "mat.fasta", "-o", "one", "--solid-count", 2, "--hapmers", "hapA.wmi", "hapB.wmi")
        self.check(Oracle(reads, one, hapmers, 21, 2, "one"), "one")

    def make_phased(self, k):
        """Two haplotypes of 40,000 bases, and an assembly that switches between them at known places."""
        source = random.Random(100 + k)
        mother = sequence_of(source, 40000)
        father = with_errors(source, mother, 400)
        contigs = [
            # Far over, with a short way back and forth before and after.
            ("far", mother[:5000] + father[5000:5200] + mother[5200:20000] + father[20000:30000] + mother[30000:30600] + father[30600:]),
            ("none", "ACGT" * 5),
            ("tail", father[:25000] + mother[25000:25300]),
            ("mat", mother[2000:9000] + "N" * 100 + mother[9000:12000]),
            ("end", father[:3000] + mother[3000:3200]),
        ]
        self.file("asm.fa", fasta(contigs))
        sides = {"pat": naive_count([father], k), "mat": naive_count([mother], k)}
        hapmers = {}
        for name, other in (("pat", "mat"), ("mat", "pat")):
            hapmers[name] = {kmer: count for kmer, count in sides[name].items() if kmer not in sides[other]}
            self.file(name + ".fa", fasta((str(i), kmer) for i, kmer in enumerate(hapmers[name])))
            self.count(name + ".fa", k=k, output=name + ".wmi")
        self.file("reads.fa", fasta([("m", mother), ("p", father)]))
        self.count("reads.fa", k=k, output="reads.wmi")
        return naive_count([mother, father], k), {"asm": contigs}, hapmers

    def test_phase_blocks(self):
        for k in some((21, 31, 40), 1):
            reads, assemblies, hapmers = self.make_phased(k)
            run = ("merqury", "reads.wmi", "asm.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi")
            for limits in ((100, 20000), (10000, 20000), (10000, 3000), (2, 1), (1, 0), (7, 100), (300, 100000)):
                with self.subTest(k=k, limits=limits):
                    options = ("--num-switch", limits[0], "--short-range", limits[1]) if limits != (100, 20000) else ()
                    self.warpmer(*run, "-o", "x", *options)
                    self.check(Oracle(reads, assemblies, hapmers, k, 1, "x", limits), "x")
            # The block that crosses, and those that do not, where rows of the other haplotype are short by bases.
            blocks = [line.split("\t") for line in (self.folder / "x.asm.10000_3000.phased_block.bed").read_text().splitlines()]
            far = [(int(start), int(end), hap, int(switches)) for name, start, end, hap, _, switches, _ in blocks if name == "far"]
            self.assertEqual([hap for _, _, hap, _ in far], ["mat", "pat"])
            self.assertTrue(all(switches > 0 for *_, switches in far), far)
            self.assertLess(abs(far[0][1] - 20000) + abs(far[1][0] - 20000), 1500)

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
        genome = sequence_of(source, 100_000)
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

    def test_no_markers(self):
        self.make_phased(21)
        self.file("strange.fa", fasta([("x", sequence_of(random.Random(5), 500))]))
        self.warpmer("merqury", "reads.wmi", "strange.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x")
        for ending, text in phase_files("x.strange.100_20000", [], ["pat", "mat"], 100, 20000).items():
            self.assertEqual((self.folder / f"x.strange.100_20000.{ending}").read_text(), text)

    def test_long_contig(self):
        """A contig that comes in several pieces."""
        source = random.Random(1)
        genome = sequence_of(source, 3_000_000)
        self.file("reads.fa", fasta([("x", genome)]))
        wrong = list(genome)
        for at in range(1000, len(wrong), 997):
            wrong[at] = "ACGT"["ACGT".index(wrong[at]) - 1]
        records = [("c", "".join(wrong)), ("d", genome[:500])]
        self.file("asm.fa", fasta(records))
        self.count("reads.fa", k=21, output="reads.wmi")
        places = {"hapA": ((10, 200), (2_900_000, 2_900_500)), "hapB": ((50_000, 51_000), (1_500_000, 1_500_300))}
        for name, ends in places.items():
            self.file(name + ".fa", fasta((str(begin), genome[begin:end]) for begin, end in ends))
            self.count(name + ".fa", k=21, output=name + ".wmi")
        self.warpmer("merqury", "reads.wmi", "asm.fa", "-o", "x", "--solid-count", 1, "-t", 3, "--hapmers", "hapA.wmi", "hapB.wmi")
        contigs = [("c", []), ("d", [(at, at + 21, "hapA") for at in range(10, 180)])]
        for begin, end, hap in sorted((*place, hap) for hap, of in places.items() for place in of):
            contigs[0][1].extend((at, at + 21, hap) for at in range(begin, end - 20) if "".join(wrong[at : at + 21]) == genome[at : at + 21])
        for ending, text in phase_files("x.asm.100_20000", contigs, list(places), 100, 20000).items():
            self.assertEqual((self.folder / f"x.asm.100_20000.{ending}").read_text(), text)
        starts = [start for at in range(1000, len(wrong), 997) for start in range(at - 20, min(at, len(wrong) - 21) + 1)]
        self.assertEqual((self.folder / "asm_only.bed").read_text(), "".join(f"c\t{at}\t{at + 21}\n" for at in starts))
        self.assertEqual((self.folder / "asm_only.wig").read_text(), depth_track([("c", starts), ("d", [])], 21))
        for hap in places:
            of_hap = [(contig, [start for start, _, own in markers if own == hap]) for contig, markers in contigs]
            self.assertEqual((self.folder / f"x.asm.{hap}.wig").read_text(), depth_track(of_hap, 21))
        self.assertEqual((self.folder / "x.asm.qv").read_text().splitlines()[0], f"c\t{quality(len(starts), len(wrong) - 20, 21)}")

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

    def test_gaps_between_pieces(self):
        """Runs of N in a sequence that comes in several pieces, at and across their ends."""
        source = random.Random(6)
        genome = sequence_of(source, 200_000)
        gaps = bytearray(genome.encode() * 20)
        for at in range(0, len(gaps) - 1000, 9973):
            size = source.choice((1, 20, 21, 500))
            gaps[at : at + size] = b"N" * size if at % 2 else b"n" * size
        records = [("c", gaps.decode()), ("short", genome[:300]), ("gap", "NNNN"), ("end", genome[:50] + "NN")]
        self.file("asm.fa", fasta(records))
        self.file("reads.fa", fasta([("x", genome)]))
        for name in ("reads", "pat", "mat"):
            self.count("reads.fa" if name == "reads" else "few.fa" if name == "mat" else self.file("few.fa", fasta([("x", genome[:30])])).name, k=21, output=name + ".wmi")
        self.warpmer("merqury", "reads.wmi", "asm.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x", "-t", 3, "--no-plots")
        for ending, text in size_files("asm", [sequence for _, sequence in records]).items():
            self.assertEqual((self.folder / f"x.asm.{ending}").read_text(), text)

    @one_thread
    def test_solid_by_itself(self):
        self.count(DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz", k=21, output="reads.wmi")
        self.warpmer("merqury", "reads.wmi", DATA / "genome.fa", "-o", "x")
        line = self.warpmer("qv", "reads.wmi", DATA / "genome.fa").splitlines()[1].split("\t")
        self.assertEqual((self.folder / "x.completeness.stats").read_text(), f"genome\tall\t{line[7]}\t{line[6]}\t{line[8]}\n")
        self.assertEqual((self.folder / "x.qv").read_text(), f"genome\t{line[2]}\t{line[1]}\t{line[3]}\t{line[4]}\n")
        self.count(DATA / "genome.fa", k=21, output="genome.wmi")
        self.warned("no clear peak.*--solid-count", "merqury", "genome.wmi", DATA / "genome.fa", "-o", "y")
        self.assertEqual((self.folder / "y.completeness.stats").read_text(), "")

    @one_thread
    def test_refusals(self):
        self.make(21)
        before = self.files()
        run = ("merqury", "reads.wmi", "-o", "x")
        self.refused(USAGE, "one or two assemblies", *run, "mat.fasta", "pat.v2.fa", "reads.fa")
        self.refused(USAGE, "read twice; give a file", *run, "-")
        self.refused(USAGE, "both assemblies are called 'mat'", *run, "mat.fasta", "./mat.fasta")
        self.refused(USAGE, "both sets of hap-mers", *run, "mat.fasta", "--hapmers", "hapA.wmi", "hapA.wmi")
        self.refused(USAGE, "--short-range is for phase blocks", *run, "mat.fasta", "--short-range", 9)
        self.refused(USAGE, "--num-switch", *run, "mat.fasta", "--hapmers", "hapA.wmi", "hapB.wmi", "--num-switch", 0)
        self.refused(USAGE, "prefix", "merqury", "reads.wmi", "mat.fasta", "-o", "x/")
        self.refused(INPUT, "nothere.fa", *run, "nothere.fa")
        self.refused(INPUT, "bad_protein", *run, DATA / "bad_protein.faa")
        self.refused(RESOURCE, "nowhere", "merqury", "reads.wmi", "mat.fasta", "-o", "nowhere/x")
        self.refused(RESOURCE, "-m", *run, "mat.fasta", "-m", "2M")
        self.count("reads.fa", k=20, output="even.wmi")
        self.refused(USAGE, "k = 2[01]", *run, "mat.fasta", "--hapmers", "hapA.wmi", "even.wmi")
        self.count("reads.fa", k=21, output="forward.wmi", options=["--forward"])
        self.refused(USAGE, "--forward", "merqury", "forward.wmi", "mat.fasta", "-o", "x")
        self.assertEqual(set(self.files()) - {"even.wmi", "forward.wmi"}, set(before))


SHARED = pathlib.Path(os.environ.get("WARPMER_SHARED", "../shared")) / "data"


@unittest.skipUnless((SHARED / "medium").is_dir(), f"no files in {SHARED}")
class RealFiles(CliTest):
    """Reads and assemblies of real samples, against the same definitions."""

    check = Merqury.check
    medium = SHARED / "medium"

    def records(self, name):
        return [(header.split()[0], sequence) for header, sequence in read_records(self.medium / name)]

    def test_bacterium(self):
        """Reads of 36 bases, and the one sequence of a genome that was assembled from others."""
        reads, genome = self.medium / "portiera_SRR2838702_R2.fastq.gz", "portiera_GCF_000292685.fna.gz"
        self.count(reads, k=21, output="reads.wmi")
        self.file("portiera.fa.gz", (self.medium / genome).read_bytes())
        self.warpmer("merqury", "reads.wmi", "portiera.fa.gz", "--solid-count", 3, "-o", "x", "--no-plots")
        counts = naive_count([sequence for _, sequence in read_records(reads)], 21)
        self.check(Oracle(counts, {"portiera": self.records(genome)}, {}, 21, 3, "x"), "x")

    def test_virus(self):
        """Two assemblies, of several genomes with runs of N, by reads of one; hap-mers are what one genome of either has."""
        genomes = self.records("sarscov2_418genomes_nextstrain.fasta.gz")
        assemblies = {"a": genomes[:4], "b": genomes[200:203]}
        for name, records in assemblies.items():
            self.file(name + ".fasta", fasta(records))
        sides = [naive_count([records[0][1]], 21) for records in assemblies.values()]
        hapmers = {"hapA": dict(sides[0].items() - sides[1].items()), "hapB": dict(sides[1].items() - sides[0].items())}
        for name, other in (("hapA", sides[1]), ("hapB", sides[0])):
            hapmers[name] = {kmer: count for kmer, count in hapmers[name].items() if kmer not in other}
            self.assertGreater(len(hapmers[name]), 20)
            self.file(name + ".fa", fasta((str(i), kmer) for i, kmer in enumerate(hapmers[name]) for _ in range(hapmers[name][kmer])))
            self.count(name + ".fa", k=21, output=name + ".wmi")
        reads = [self.medium / f"ncov_illumina_subsample1_{i}.fastq.gz" for i in (1, 2)]
        self.count(*reads, k=21, output="reads.wmi")
        self.warpmer("merqury", "reads.wmi", "a.fasta", "b.fasta", "--hapmers", "hapA.wmi", "hapB.wmi", "--solid-count", 4, "-o", "x", "--num-switch", 10)
        counts = naive_count([sequence for path in reads for _, sequence in read_records(path)], 21)
        self.check(Oracle(counts, assemblies, hapmers, 21, 4, "x", (10, 20000)), "x")


if __name__ == "__main__":
    main()
