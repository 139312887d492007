#!/usr/bin/env python3
"""`warpmer report` and the sections for MultiQC, against plain Python and the commands that have the same numbers.

ctest: one thread
"""

import html.parser
import json
import os
import random
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from common_cli import DATA, INPUT, USAGE, CliTest, fasta, main, naive_count, read_sequences
from common_reads import simulated_reads
from common_tier import some, without_sanitizers

CLASSES = ("not in it", "1 copy", "2 copies", "3 copies", "4 copies", "more than 4")
SVG = "{http://www.w3.org/2000/svg}"
# A page in a window of some width, whose message becomes the title.
FRAME = """<!DOCTYPE html><title>none</title>
<script>addEventListener("message", (event) => { document.title = event.data; });</script>
<iframe width="%d" height="900" style="border: 0" src="measured.html"></iframe>
"""


class Page(html.parser.HTMLParser):
    """Tables by their captions, elements that are there, and all text."""

    EMPTY = {"meta", "link"}

    def __init__(self, text):
        super().__init__()
        self.tables, self.elements, self.links, self.open, self.headings = [], set(), [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag in ("caption", "th", "td"):
            if tag == "caption" or not self.tables[-1] or tag == "th" and self.open[-2] == "tr" and dict(attrs).get("scope") == "row":
                self.tables[-1].append([])
            self.tables[-1][-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag == "caption":
            self.tables[-1].append([])

    def handle_data(self, data):
        if self.open and self.open[-1] in ("caption", "th", "td"):
            self.tables[-1][-1][-1] += data
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings[-1] += data

    def rows(self, caption, number=0):
        """{first cell: other cells} of a table, its header left out."""
        found = [table for table in self.tables if table[0] == [caption]]
        return {row[0]: row[1:] for row in found[number][1:] if row and row[0] not in ("assembly", "copies", "sample", "count")}


def plain(cells):
    return [cell.replace(",", "") for cell in cells]


class Reports(CliTest):
    def page(self, *arguments):
        self.warpmer("report", *arguments, "-o", "x.html", "--force")
        text = (self.folder / "x.html").read_text()
        # Nothing from elsewhere.
        page = Page(text)
        self.assertTrue(all(re.fullmatch(r"#\w+|data:,", link) for link in page.links), page.links)
        self.assertNotRegex(text.replace('xmlns="http://www.w3.org/2000/svg"', ""), r"https?:|url\(|@import")
        self.assertLessEqual(page.elements & {"script", "img", "iframe", "object", "embed"}, set())
        for picture in re.findall(r"<svg.*?</svg>", text, re.S):
            self.assertTrue(xml.etree.ElementTree.fromstring(picture).get("aria-label"))
        return page

    def made_up(self):
        """Reads of a genome with repeats, and assemblies with other copies, errors and gaps."""
        source = random.Random(3)
        genome = "".join(source.choices("ACGT", k=4000))
        genome += genome[:300] * 2 + genome[500:700]
        reads = [(f"r{i}", genome[at : at + 90]) for i, at in enumerate(source.choices(range(len(genome) - 90), k=900))]
        wrong = list(genome)
        for at in (1000, 1700, 2500):
            wrong[at] = "ACGT"["ACGT".index(wrong[at]) - 1]
        wrong = "".join(wrong)
        other = "".join(source.choices("ACGT", k=60))
        self.file("reads.fa", fasta(reads))
        self.file("one.fa", fasta([("a", wrong[:3000]), ("b", wrong[2900:] + "N" + genome[:300]), ("c", other * 2)]))
        self.file("two.fa", fasta([("a", genome[:1500]), ("b", (genome[:200] + "N") * 5)]))
        return ["one.fa", "two.fa"]

    def expected_copies(self, reads, copies, solid):
        rows = {name: [0, 0, 0] for name in CLASSES}
        for kmer in reads.keys() | copies.keys():
            row = rows[CLASSES[min(copies.get(kmer, 0), 5)]]
            count = reads.get(kmer, 0)
            row[0] += count > 0
            row[1] += count >= solid
            row[2] += count == 0
        return rows

    def test_copy_numbers(self):
        assemblies = self.made_up()
        for k, threads in some(((21, 1), (40, 2), (11, 3)), 2):
            with self.subTest(k=k):
                index = self.count("reads.fa", k=k)
                page = self.page(index, "--solid-count", 3, "-t", threads, *(word for a in assemblies for word in ("--assembly", a)))
                sequences = {name: [sequence for _, sequence in read_sequences(self.folder / name)] for name in ["reads.fa", *assemblies]}
                reads = naive_count(sequences["reads.fa"], k)
                both = sequences["one.fa"] + sequences["two.fa"]
                for i, assembly in enumerate((sequences["one.fa"], sequences["two.fa"], both)):
                    copies = naive_count(assembly, k)
                    found = {name: list(map(int, plain(cells))) for name, cells in page.rows("Distinct k-mers by their copies in the assembly", i).items()}
                    self.assertEqual(found, self.expected_copies(reads, copies, 3))
                    self.check_counts(page, i, reads, copies)

    def check_counts(self, page, number, reads, copies):
        """The numbers of the picture: k-mers of the reads by count and copies."""
        rows = page.rows("Distinct k-mers of the reads by count and copies", number)
        self.assertGreaterEqual(len(rows), 10)
        self.assertEqual(list(rows), [str(count) for count in range(1, len(rows) + 1)])
        expected = {count: [0] * 6 for count in rows}
        for kmer, count in reads.items():
            if str(count) in expected:
                expected[str(count)][min(copies.get(kmer, 0), 5)] += 1
        self.assertEqual({count: list(map(int, plain(cells))) for count, cells in rows.items()}, expected)

    def test_quality_is_that_of_qv(self):
        assemblies = self.made_up()
        index = self.count("reads.fa", k=21)
        solid = ("--solid-count", 2)
        for options, files in some(((solid, assemblies), ((), assemblies), ((), assemblies[:1]), (solid, assemblies[:1])), 2):
            page = self.page(index, *options, *(word for a in files for word in ("--assembly", a)))
            table = self.run_process("qv", index, *files, *options).stdout.decode().splitlines()[1:]
            rows = [line.split("\t") for line in table]
            wanted = {row[0]: row[1:5] + row[7:9] for row in rows}
            found = page.rows("Quality and completeness, as Merqury defines them")
            self.assertEqual({name: plain(cells) for name, cells in found.items()}, wanted)

    def test_genome_is_that_of_stats(self):
        index = self.count("-", k=21, stdin=fasta([("r", read) for read in simulated_reads(20000, 1500, 6000, 0.004)]))
        page = self.page(index)
        lines = [(line[:20].rstrip(), line[20:]) for line in self.warpmer("stats", index).splitlines()]
        for caption, first, last in (("Estimated from the spectrum", "error cut-off", "next ploidy"), ("The index, and the run that made it", "k", "largest count")):
            names = [name for name, _ in lines]
            wanted = [(name.replace("  ", "\u2003"), value) for name, value in lines[names.index(first) : names.index(last) + 1]]
            table = next(table for table in page.tables if table[0] == [caption])
            found = [(row[0], row[1].replace(",", "") if row[1].replace(",", "").isdigit() else row[1]) for row in table[1:] if row]
            self.assertEqual(found[: len(wanted)], wanted)
        histogram = {int(c): int(n) for c, n in (line.split() for line in self.warpmer("histo", index).splitlines())}
        table = next(table for table in page.tables if table[0][0].startswith("Distinct k-mers of each count"))
        model = kmers = 0
        for row in table[2:]:
            first, last = int(row[0].split(" to ")[0]), int(row[0].split(" to ")[-1])
            mean = sum(histogram.get(count, 0) for count in range(first, last + 1)) / (last - first + 1)
            self.assertAlmostEqual(float(row[1].replace(",", "")), mean, delta=mean / 1000)
            model += float(row[2].replace(",", "")) * (first > 3)
            kmers += mean * (first > 3)
        self.assertAlmostEqual(model, kmers, delta=0.04 * kmers)

    def test_comparison(self):
        self.made_up()
        names = ["reads", "one", "two"]
        files = [self.count(f"{name}.fa", k=21, output=f"{name}.wmi", options=("-q",)) for name in names]
        page = self.page(*files)
        matrix = [line.split("\t") for line in self.warpmer("compare", "--format", "matrix", *files).splitlines()[1:]]
        self.assertEqual(page.rows("Jaccard's index"), {row[0]: [f"{float(x):.4f}" for x in row[1:]] for row in matrix})
        self.assertEqual(set(page.rows("All samples")), set(names))
        self.file("list", "\n".join(files))
        self.assertEqual(self.page("@list").rows("Jaccard's index"), page.rows("Jaccard's index"))
        self.assertIn("comparison", [link.removeprefix("#") for link in page.links])

    def test_text_from_elsewhere_is_escaped(self):
        evil = "<img src=x onerror=alert(1)>&\"'</style><script>alert(2)</script>".replace("/", "\u2215") + "\x1b[1m\udcfe"
        path = os.fsencode(self.folder) + b"/" + evil.encode("utf-8", "surrogateescape")
        for ending in (b".fa", b".wmi"):
            with open(path + ending, "wb") as file:
                file.write((DATA / "genome.fa").read_bytes())
        os.unlink(path + b".wmi")
        self.count(evil + ".fa", k=21, output=evil + ".wmi")
        self.count(evil + ".fa", k=21, output="b.wmi")
        page = self.page(evil + ".wmi", "b.wmi", "--assembly", evil + ".fa", "--solid-count", 2)
        shown = evil.replace("\x1b", "\\x1b").replace("\udcfe", "\\xfe")
        self.assertIn(evil.replace("\x1b", "_").replace("\udcfe", "\\xfe"), page.headings)  # as tables call it
        self.assertIn([shown + ".fa"], list(page.rows("The index, and the run that made it").values()))

    def test_no_model(self):
        genome = self.count(DATA / "genome.fa", k=21, options=("-q",))
        process = self.run_process("report", genome, "--assembly", DATA / "genome.fa", "-o", "x.html")
        self.assertRegex(process.stderr.decode(), r"no clear peak[^\n]*--solid-count\n\Z")
        page = Page((self.folder / "x.html").read_text())
        self.assertEqual([cells[4:] for cells in page.rows("Quality and completeness, as Merqury defines them").values()], [["NA", "NA"]])
        empty = self.count(DATA / "empty.fa", k=21, output="empty.wmi", options=("-q",))
        self.page(empty)
        self.page(empty, genome, "-q")
        process = self.run_process("report", genome, "--assembly", DATA / "genome.fa", "--assembly", DATA / "empty.fa", "-o", "two.html")
        self.assertRegex(process.stderr.decode(), "there is no sequence in [^ ]*empty.fa; ")

    def test_threads_and_names_of_output(self):
        assemblies = self.made_up()
        index = self.count("reads.fa", k=21)
        options = ("--assembly", assemblies[0], "--solid-count", 2)
        one = self.warpmer("report", index, *options, "-t", 1)
        self.assertEqual(one, self.warpmer("report", index, *options, "-t", 4))
        self.assertTrue(one.startswith("<!DOCTYPE html>"))
        self.assertEqual(one, self.warpmer("report", *options[:2], index, *options[2:]))  # the index after an assembly
        self.assertEqual([name for name in self.files() if "tmp" in name or name.startswith(".")], [])

    @without_sanitizers
    @unittest.skipUnless(shutil.which("chromium"), "no chromium")
    def test_in_a_browser(self):
        """Nothing to complain about, and nothing wider than the window, on a wide screen and on a narrow one."""
        assemblies = self.made_up()
        files = [self.count(f"{name}.fa", k=21, output=f"{name}.wmi", options=("-q",)) for name in ("reads", "one")]
        self.page(*files, "--assembly", assemblies[0], "--solid-count", 2)
        script = '<script>parent.postMessage(document.documentElement.scrollWidth <= window.innerWidth, "*")</script>'
        self.file("measured.html", (self.folder / "x.html").read_text().replace("</body>", script + "</body>"))
        for width in (1200, 400):  # in a frame, because Chromium's own windows are not narrower than 500
            self.file("frame.html", FRAME % width)
            self.assertIn("<title>true</title>", self.in_chromium("frame.html", "--dump-dom"))
            self.in_chromium("frame.html", f"--screenshot={self.folder}/x.png")
            self.assertGreater((self.folder / "x.png").stat().st_size, 10000)

    def in_chromium(self, page, *options):
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={self.folder}/profile"]
        command += ["--window-size=1300,1000", "--virtual-time-budget=3000", *options, f"file://{self.folder}/{page}"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        self.assertNotIn("CONSOLE", process.stderr)
        return process.stdout

    def test_what_makes_no_sense(self):
        self.made_up()
        index = self.count("reads.fa", k=21)
        k9 = self.count("reads.fa", k=9, output="k9.wmi")
        forward = self.count("reads.fa", k=21, output="forward.wmi", options=("--forward",))
        with open(self.folder / index, "rb") as file:
            self.file("short.wmi", file.read()[:-50])
        shutil.copy(self.folder / index, self.folder / "copy")
        self.file("list", "copy")
        (self.folder / "folder").mkdir()
        out = ("-o", "x.html")
        for status, pattern, *arguments in (
            (USAGE, "missing INDEX", *out),
            (USAGE, "'x.txt' ends|'x.json' ends as JSON does.*HTML", index, "-o", "x.json"),
            (USAGE, "give a file in the place of standard input", "-", *out),
            (USAGE, "give a file in the place of standard input", index, "--assembly", "-", *out),
            (USAGE, "has k = 9", index, k9, *out),
            (USAGE, "--forward", forward, "--assembly", "one.fa", *out),
            (USAGE, "_mqc.json", index, *out, "--multiqc", "x.json"),
            (USAGE, "cannot be the same", index, "-o", "x_mqc.json", "--multiqc", "x_mqc.json"),
            (USAGE, "would replace it", index, "-o", index),
            (USAGE, "would replace it", "@list", "-o", "copy"),
            (USAGE, "--solid-count must be", index, *out, "--solid-count", 0),
            (INPUT, "no_such", "no_such.wmi", *out),
            (INPUT, "is a directory", index, "folder", *out),
            (INPUT, "is a folder", index, "--assembly", "folder", *out),
            (INPUT, "no_such", index, "--assembly", "no_such.fa", *out, "--multiqc", "x_mqc.json"),
            (INPUT, "bad_character", index, "--assembly", DATA / "bad_character.fq", *out),
            (INPUT, "short.wmi", "short.wmi", *out),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                self.refused(status, pattern, "report", *arguments)


class MultiQc(CliTest):
    def section(self, name):
        section = json.loads((self.folder / name).read_text())
        self.assertEqual(set(section) - {"headers"}, {"id", "section_name", "description", "plot_type", "pconfig", "data"})
        self.assertRegex(section["id"], r"\Awarpmer_\w+\Z")
        if section["plot_type"] == "table":
            for row in section["data"].values():
                self.assertLessEqual(set(row), set(section["headers"]))
                self.assertTrue(all(isinstance(cell, (int, float)) for cell in row.values()))
        return section

    def test_sections(self):
        reads = fasta([("r", read) for read in simulated_reads(20000, 1500, 6000, 0.004)])
        index = self.count("-", k=21, stdin=reads, output="sample.wmi")
        genome = self.count(DATA / "genome.fa", k=21, output="genome.wmi")
        text = self.warpmer("stats", index, genome)
        self.assertEqual(self.warpmer("stats", index, genome, "--multiqc", "s_mqc.json"), text)
        stats = self.section("s_mqc.json")
        spectrum = json.loads(self.warpmer("stats", "--json", index))["spectrum"]
        row = stats["data"]["sample"]
        self.assertEqual((row["coverage"], row["genome_size"], row["ploidy"]), (spectrum["kmer_coverage"], spectrum["genome_size"], spectrum["ploidy"]))
        self.assertAlmostEqual(row["error_rate"], 100 * spectrum["error_rate"])
        self.assertEqual(set(stats["data"]["genome"]), {"distinct"})  # of which there is no estimate

        self.warpmer("qv", index, DATA / "genome.fa", DATA / "forty.fa", "-o", "qv.json", "--json", "--multiqc", "q_mqc.json")
        rows = {row.pop("assembly"): row for row in json.loads((self.folder / "qv.json").read_text())["assemblies"]}
        found = self.section("q_mqc.json")["data"]
        self.assertEqual(found.keys(), rows.keys())
        for name, cells in found.items():
            self.assertEqual(cells, {key: value for key, value in rows[name].items() if value is not None and key != "solid_found"})

        self.warpmer("report", index, genome, "-o", "x.html", "--multiqc", "r_mqc.json")
        spectra = self.section("r_mqc.json")
        self.assertEqual((spectra["plot_type"], set(spectra["data"])), ("linegraph", {"sample", "genome"}))
        histogram = [list(map(int, line.split())) for line in self.warpmer("histo", index).splitlines()]
        points = spectra["data"]["sample"]
        self.assertGreater(points[-1][0], 2.5 * spectrum["kmer_coverage"])
        self.assertEqual(points, histogram[: len(points)])

    def test_an_assembly_that_is_called_as_the_sum(self):
        index = self.count(DATA / "reads_1.fq.gz", k=21)
        self.file("all", (DATA / "genome.fa").read_bytes())
        self.warpmer("qv", index, "all", DATA / "genome.fa", "-o", "qv.tsv", "--multiqc", "q_mqc.json")
        kmers = {name: cells["kmers"] for name, cells in self.section("q_mqc.json")["data"].items()}
        self.assertEqual(kmers["all_"], 2 * kmers["all"])

    @without_sanitizers
    @unittest.skipUnless(shutil.which("multiqc"), "no MultiQC")
    def test_in_multiqc(self):
        reads = fasta([("r", read) for read in simulated_reads(20000, 1500, 6000, 0.004)])
        index = self.count("-", k=21, stdin=reads, output="sample.wmi")
        self.warpmer("stats", index, "-o", "s.txt", "--multiqc", "stats_mqc.json")
        self.warpmer("qv", index, DATA / "genome.fa", "-o", "q.txt", "--multiqc", "qv_mqc.json")
        self.warpmer("report", index, "-o", "x.html", "--multiqc", "spectra_mqc.json")
        subprocess.run(["multiqc", "--no-ansi", "-o", "out", "."], cwd=self.folder, capture_output=True, timeout=300, check=True)
        shown = json.loads((self.folder / "out/multiqc_data/multiqc_data.json").read_text())["report_saved_raw_data"]
        for name in ("stats", "qv", "spectra"):
            data = self.section(f"{name}_mqc.json")["data"]
            # MultiQC takes folders and endings off names of samples.
            rows = {os.path.basename(sample).removesuffix(".fa"): row for sample, row in data.items()}
            self.assertEqual(shown[f"multiqc_warpmer_{name}_plot"], rows)

    def test_refusals(self):
        index = self.count(DATA / "genome.fa", k=21)
        for command in (("stats", index), ("qv", index, DATA / "genome.fa", "--solid-count", 1)):
            self.refused(USAGE, "'x.json'", *command, "-o", "x.tsv" if command[0] == "qv" else "x.txt", "--multiqc", "x.json")
            self.refused(USAGE, "cannot be the same", *command, "-o", "x_mqc.json", "--multiqc", "x_mqc.json", "--json")
        self.refused(INPUT, "no_such", "stats", "no_such.wmi", "--multiqc", "x_mqc.json")


if __name__ == "__main__":
    main()
