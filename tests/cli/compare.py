#!/usr/bin/env python3
"""`warpmer compare` against sets and dicts of k-mers.

ctest: one thread (what the threads do is the same as in sets)
"""

import math
import os
import random
import xml.etree.ElementTree

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, fasta, main
from common_tier import by_tier, some

READS_1, READS_2 = DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"
MEASURES = ("jaccard", "containment", "ruzicka", "cosine", "mash")


def share(part, whole):
    return part / whole if whole else 1


def mash(j, k):
    return 1 if j == 0 else min(1, -math.log(2 * j / (1 + j)) / k)


def measures(a, b, k):
    """All of two dicts of counts, by their names in the header."""
    both = a.keys() & b.keys()
    either = a.keys() | b.keys()
    j = share(len(both), len(either))
    lengths = math.sqrt(sum(n * n for n in a.values())) * math.sqrt(sum(n * n for n in b.values()))
    return {
        "kmers_a": len(a), "kmers_b": len(b), "shared": len(both), "union": len(either),
        "only_a": len(a) - len(both), "only_b": len(b) - len(both),
        "jaccard": j, "containment_a_in_b": share(len(both), len(a)), "containment_b_in_a": share(len(both), len(b)),
        "ruzicka": share(sum(min(a[x], b[x]) for x in both), sum(max(a.get(x, 0), b.get(x, 0)) for x in either)),
        "cosine": sum(a[x] * b[x] for x in both) / lengths if lengths else float(len(a) == len(b)),
        "mash": mash(j, k),
    }


class Compare(CliTest):
    def pairs(self, *arguments):
        """(name, name) -> {column: number}"""
        header, *lines = [line.split("\t") for line in self.warpmer("compare", *arguments).splitlines()]
        self.assertEqual(header[:2], ["sample_a", "sample_b"])
        return {(line[0], line[1]): dict(zip(header[2:], map(float, line[2:]))) for line in lines}

    def check(self, found, wanted):
        self.assertEqual(found.keys(), wanted.keys())
        for name, value in wanted.items():
            self.assertAlmostEqual(found[name], value, delta=1e-8 * max(1, abs(value)), msg=name)

    def samples(self, k, forward=False):
        """Some alike, one with nothing in it, one much smaller than the others."""
        chance = random.Random(k)
        genome = "".join(chance.choices("ACGT", k=by_tier(3000, 800)))
        other = "".join(base if chance.random() > 0.03 else "A" for base in genome)
        texts = {"a": genome + "N" + genome[:500], "b": other, "c": other[:300] * 3, "none": "ACGT"[: min(3, k - 1)],
                 "d": "".join(chance.choices("ACGT", k=700)), "e": genome}
        options = ("-q", "--forward") if forward else ("-q",)
        return [self.count("-", k=k, options=options, stdin=fasta([("x", text)]), output=f"{name}.wmi")
                for name, text in texts.items()]

    def test_against_the_definitions(self):
        for k in some((3, 11, 21, 32, 40), 2):
            with self.subTest(k=k):
                files = self.samples(k, forward=k == 21)
                counts = {name.removesuffix(".wmi"): self.dump(name) for name in files}
                found = self.pairs(*files, "-t", 3)
                names = list(counts)
                self.assertEqual(list(found), [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
                for (a, b), numbers in found.items():
                    self.check(numbers, measures(counts[a], counts[b], k))

    def test_filters(self):
        one = self.count(READS_1, k=21, output="one.wmi")
        two = self.count(READS_2, k=21, output="two.wmi")
        a = {kmer: n for kmer, n in self.dump(one).items() if 2 <= n <= 30}
        b = {kmer: n for kmer, n in self.dump(two).items() if 3 <= n <= 30}
        found = self.pairs("--input-min-count", "2,3", "--input-max-count", 30, one, two)
        self.check(found["one", "two"], measures(a, b, 21))

    def test_matrices(self):
        files = self.samples(15)
        names = [name.removesuffix(".wmi") for name in files]
        found = self.pairs(*files)
        for measure in MEASURES:
            rows = [line.split("\t") for line in self.warpmer("compare", "--format", "matrix", "--measure", measure, *files).splitlines()]
            self.assertEqual(rows[0], [measure, *names])
            self.assertEqual([row[0] for row in rows[1:]], names)
            for i, a in enumerate(names):
                self.assertEqual(float(rows[i + 1][i + 1]), 0 if measure == "mash" else 1)
                for j, b in enumerate(names[i + 1 :], i + 1):
                    columns = [measure] * 2 if measure != "containment" else ["containment_a_in_b", "containment_b_in_a"]
                    self.assertEqual(float(rows[i + 1][j + 1]), found[a, b][columns[0]])
                    self.assertEqual(float(rows[j + 1][i + 1]), found[a, b][columns[1]])
        default = self.warpmer("compare", "--format", "matrix", *files)
        self.assertEqual(default, self.warpmer("compare", "--format", "matrix", "--measure", "jaccard", *files))

    def test_phylip(self):
        files = self.samples(15)
        found = self.pairs(*files)
        for measure in ("mash", "jaccard", "cosine"):
            options = () if measure == "mash" else ("--measure", measure)
            first, *rows = self.warpmer("compare", "--format", "phylip", *options, *files).splitlines()
            rows = [row.split() for row in rows]
            self.assertEqual((int(first), len(rows)), (len(files), len(files)))
            for i, row in enumerate(rows):
                self.assertEqual(float(row[i + 1]), 0)
                for j in range(i + 1, len(rows)):
                    value = found[row[0], rows[j][0]][measure]
                    self.assertAlmostEqual(float(row[j + 1]), value if measure == "mash" else 1 - value, delta=2e-9)
                    self.assertEqual(row[j + 1], rows[j][i + 1])

    def test_heat_map(self):
        files = self.samples(15)
        os.rename(self.folder / files[0], self.folder / "a & <b>.wmi")
        files[0] = "a & <b>.wmi"
        names = [name.removesuffix(".wmi") for name in files]
        for measure in MEASURES:
            self.warpmer("compare", "--measure", measure, "--svg", "map.svg", "-o", "pairs.tsv", *files)
            matrix = self.warpmer("compare", "--format", "matrix", "--measure", measure, *files).splitlines()[1:]
            matrix = {line.split("\t")[0]: list(map(float, line.split("\t")[1:])) for line in matrix}
            root = xml.etree.ElementTree.parse(self.folder / "map.svg").getroot()
            cells = [title.text.rsplit(": ", 1) for title in root.iter("{http://www.w3.org/2000/svg}title")]
            self.assertEqual(len(cells), len(files) ** 2)
            wanted = {f"{a}, {b}": matrix[a][names.index(b)] for a in names for b in names}
            self.assertEqual(wanted.keys(), {pair for pair, _ in cells})
            for pair, value in cells:
                self.assertAlmostEqual(float(value), wanted[pair], delta=1e-5)
            self.assertEqual(len(list(root.iter("{http://www.w3.org/2000/svg}path"))), len(files) - 1)

    def test_heat_map_of_few_shows_all_of_its_text(self):
        made = self.samples(15)
        for files in (made[:2], made[:3]):
            for measure in MEASURES:
                self.warpmer("compare", "--measure", measure, "--svg", "map.svg", "-o", "pairs.tsv", *files)
                root = xml.etree.ElementTree.parse(self.folder / "map.svg").getroot()
                for text in root.iter("{http://www.w3.org/2000/svg}text"):
                    if "x" not in text.attrib:
                        continue  # below the columns
                    length = len(text.text) * 0.6 * float(text.get("font-size"))
                    is_left = text.get("text-anchor") == "end"
                    begin = float(text.get("x")) - (length if is_left else 0)
                    self.assertGreaterEqual(begin, 0, text.text)
                    self.assertLessEqual(begin + length, float(root.get("width")), text.text)

    def test_names(self):
        self.count(READS_1, k=9, output="x.wmi")
        os.mkdir(self.folder / "sub")
        for name in ("sub/x.wmi", "a b", "tab\there.wmi", "y.wmi"):
            os.link(self.folder / "x.wmi", self.folder / name)
        self.file("list", "x.wmi\nsub/x.wmi\ny.wmi\ny.wmi\na b\ntab\there.wmi\n")
        rows = self.warpmer("compare", "--format", "matrix", "-q", "@list").splitlines()
        self.assertEqual(rows[0].split("\t")[1:], ["x.wmi", "sub/x.wmi", "y.wmi", "y.wmi#2", "a b", "tab_here"])
        rows = self.warpmer("compare", "--format", "phylip", "-q", "@list").splitlines()
        self.assertEqual([row.split()[0] for row in rows[1:]], ["x.wmi", "sub/x.wmi", "y.wmi", "y.wmi#2", "a_b", "tab_here"])

    def test_what_makes_no_sense(self):
        one = self.count(READS_1, k=9, output="one.wmi")
        k10 = self.count(READS_1, k=10, output="k10.wmi")
        for status, pattern, *arguments in (
            (USAGE, "missing INDEX",),
            (USAGE, "two or more", one),
            (USAGE, "k10.wmi has k = 10, one.wmi has k = 9", one, k10),
            (USAGE, "--format must be", "--format", "json", one, one),
            (USAGE, "--measure must be", "--format", "matrix", "--measure", "bray", one, one),
            (USAGE, "tsv has all of them", "--measure", "mash", one, one),
            (USAGE, "use --format matrix", "--format", "phylip", "--measure", "containment", one, one),
            (USAGE, "would replace it", "-o", one, one, one),
            (USAGE, "would replace it", "--svg", one, one, one),
            (USAGE, "cannot be the same", "--svg", "x", "-o", "x", one, one),
            (INPUT, "no_such.wmi", one, "no_such.wmi"),
            (INPUT, "genome.fa", one, DATA / "genome.fa"),
            (RESOURCE, "raise -m", "-m", "2M", "-q", one, one),
        ):
            with self.subTest(arguments):
                self.refused(status, pattern, "compare", *arguments)
        content = bytearray((self.folder / one).read_bytes())
        content[80] ^= 1
        self.file("bad.wmi", bytes(content))
        self.refused(INPUT, "bad.wmi", "compare", one, "bad.wmi", "-o", "out.tsv")


if __name__ == "__main__":
    main()
