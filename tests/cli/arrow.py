#!/usr/bin/env python3
"""Arrow and Parquet files: read by pyarrow, where it is there and the module was built, and equal to the text.

ctest: one thread
"""

import pathlib
import random
import re
import shutil
import sys
import unittest

from common_cli import DATA, INPUT, RESOURCE, USAGE, WARPMER, CliTest, fasta, file_size_limit, main

BUILD = pathlib.Path(WARPMER).parent


def find_pyarrow():
    """The one of this Python, or else the one that the module was built with."""
    cache = BUILD / "CMakeCache.txt"
    found = re.search(r"^WARPMER_PYARROW:PATH=(.+)/pyarrow$", cache.read_text(), re.M) if cache.exists() else None
    if found:
        sys.path.append(found[1])
    try:
        import pyarrow.feather
        import pyarrow.parquet

        return pyarrow
    except ImportError:
        return None


pyarrow = find_pyarrow()
FORMATS = ("arrow", "parquet")


class WithoutModule(CliTest):
    def test_refused(self):
        """A program that has no module beside it."""
        index = self.count(DATA / "genome.fa", k=21)
        alone = self.folder / "bin" / "warpmer"
        alone.parent.mkdir()
        shutil.copy(WARPMER, alone)
        for ending in FORMATS:
            for command in (("dump", index), ("query", index, "A" * 21), ("matrix", index), ("histo", index), ("compare", index, index)):
                process = self.run_process(*command, "-o", f"x.{ending}", executable=alone)
                self.assertEqual(process.returncode, RESOURCE, process.stderr)
                self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: Apache Arrow needs the module warpmer_arrow\.so, which is not [^\n]*Apache Arrow is installed\), or write tsv or npz\n\Z")
                self.assertNotIn(f"x.{ending}", self.files())

    def test_names(self):
        """What the name promises is said first, whether there is a module or not."""
        index = self.count(DATA / "genome.fa", k=21)
        reads = DATA / "reads_1.fq.gz"
        for status, pattern, *arguments in (
            (USAGE, r"'x.tsv' ends as tab-separated text does.*Parquet \(.parquet\)", "dump", "--format", "parquet", "-o", "x.tsv", index),
            (USAGE, r"'x.parquet' ends as Parquet does.*Arrow \(.arrow\)", "dump", "--format", "arrow", "-o", "x.parquet", index),
            (USAGE, "'x.arrow' ends as Arrow does", "dump", "--format", "tsv", "-o", "x.arrow", index),
            (USAGE, "'x.feather' ends as Arrow does.*FASTA", "dump", "--format", "fasta", "-o", "x.feather", index),
            (USAGE, "ends as compressed text does", "matrix", index, "-o", "x.parquet.gz"),
            (USAGE, "'x.parquet' ends as Parquet does", "stats", index, "-o", "x.parquet"),
            (USAGE, "'x.arrow' ends as Arrow does", "histo", "--plot", index, "-o", "x.arrow"),
            (USAGE, "'x.pq' ends as Parquet does", "query", index, "--reads", reads, "--format", "bed", "-o", "x.pq"),
            (USAGE, "--profile has a number for each position", "query", index, "--profile", "--reads", reads, "-o", "x.arrow"),
            (USAGE, "parquet has all of them", "compare", "--measure", "mash", index, index, "-o", "x.parquet"),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                self.refused(status, pattern, *arguments)


@unittest.skipUnless(pyarrow and (BUILD / "warpmer_arrow.so").exists(), "no pyarrow, or warpmer_arrow.so was not built")
class ArrowFiles(CliTest):
    def table(self, name):
        path = self.folder / name
        if name.endswith(("arrow", "feather")):
            self.assertEqual(path.read_bytes()[:6], b"ARROW1")
            return pyarrow.feather.read_table(path)
        self.assertEqual(path.read_bytes()[:4], b"PAR1")
        return pyarrow.parquet.read_table(path)

    def check(self, k, header, rows, types, *command):
        """The command's table in both formats has these rows of text; the same bytes by name, --format, and any number of threads."""
        for ending in FORMATS:
            self.warpmer(*command, "-o", f"x.{ending}")
            table = self.table(f"x.{ending}")
            self.assertEqual(table.column_names, header)
            self.assertEqual([str(field.type) for field in table.schema], types)
            self.assertEqual(table.schema.metadata[b"k"], str(k).encode())
            table.validate(full=True)
            for at, name in enumerate(header):
                convert = {"string": str, "uint64": int, "double": float}[types[at]]
                wanted = [None if row[at] == "NA" else convert(row[at]) for row in rows]
                found = table[name].to_pylist()
                if convert is float:
                    found = [float(f"{value:.9g}") for value in found]
                self.assertEqual(found, wanted, name)
            data = (self.folder / f"x.{ending}").read_bytes()
            self.assertEqual(self.run_process(*command, "--format", ending, *(() if command[0] == "histo" else ("-t", 3))).stdout, data)
            self.assertEqual((self.folder / f"x.{ending}").read_bytes(), data)

    def rows(self, *command, skipped=0):
        return [line.split("\t") for line in self.warpmer(*command).splitlines()[skipped:]]

    def test_dump(self):
        sequence = "".join(random.Random(2).choices("ACGT", k=3000))
        self.file("x.fa", fasta([("x", sequence), ("y", sequence[:400] * 3)]))
        for k in (5, 21, 64):
            index = self.count("x.fa", k=k)
            for options in ((), ("--sort", "--min-count", 2)):
                command = ("dump", index, *options)
                self.check(k, ["kmer", "count"], self.rows(*command), ["string", "uint64"], *command)
        self.file("none.fa", ">a\nAC\n")
        index = self.count("none.fa", k=21, options=("-q",))
        self.check(21, ["kmer", "count"], [], ["string", "uint64"], "dump", index)

    def test_other_names(self):
        index = self.count(DATA / "genome.fa", k=21)
        for name, as_name in (("x.feather", "y.arrow"), ("x.pq", "y.parquet")):
            self.warpmer("dump", index, "-o", name)
            self.warpmer("dump", index, "-o", as_name)
            self.assertEqual((self.folder / name).read_bytes(), (self.folder / as_name).read_bytes())

    def test_several_batches(self):
        """Of which each is a batch or a group of rows; and memory is kept to."""
        sequence = "".join(random.Random(3).choices("ACGT", k=500_000))
        index = self.count("-", k=31, stdin=fasta([("x", sequence)]))
        command = ("dump", index)
        self.check(31, ["kmer", "count"], self.rows(*command), ["string", "uint64"], *command)
        self.assertGreater(pyarrow.parquet.ParquetFile(self.folder / "x.parquet").num_row_groups, 2)
        with pyarrow.ipc.open_file(self.folder / "x.arrow") as file:
            self.assertGreater(file.num_record_batches, 2)

    def test_query(self):
        index = self.count(DATA / "reads_1.fq.gz", k=21)
        self.file("asked.txt", self.warpmer("dump", index) + "acgtacgtacgtacgtacgta\n" + "A" * 21 + "\n")
        command = ("query", index, "--kmers", "asked.txt")
        self.check(21, ["kmer", "count"], self.rows(*command), ["string", "uint64"], *command)
        self.file("y.fa", fasta([("gen\u00f6me", "ACGT" * 900_000), ("short", "ACGT"), ("n" * 300, "N" * 50)]))
        command = ("query", index, "--reads", "y.fa", DATA / "reads_1.fq.gz")
        header, *rows = self.rows(*command)
        self.assertIn("NA", rows[1])
        self.check(21, header, rows, ["string"] + ["uint64"] * 5, *command)

    def test_matrix(self):
        files = [self.count(DATA / name, k=21, output=f"{name}.wmi") for name in ("reads_1.fq.gz", "reads_2.fq.gz", "genome.fa")]
        self.warpmer("matrix", files[0], "-o", "old.tsv.gz")
        for options in (files, ("--presence", *files), ("--append", "old.tsv.gz", *files[1:]), ("-m", "256M", *files)):
            header, *rows = self.rows("matrix", *options, skipped=1)
            self.check(21, header, rows, ["string"] + ["uint64"] * (len(header) - 1), "matrix", *options)

    def test_histo(self):
        one, two = (self.count(DATA / f"reads_{i}.fq.gz", k=21, output=f"{i}.wmi") for i in (1, 2))
        rows = [line.split() for line in self.warpmer("histo", one, "--max-count", 9).splitlines()]
        self.check(21, ["count", "kmers"], rows, ["uint64"] * 2, "histo", one, "--max-count", 9)
        header, *rows = self.rows("histo", one, two)
        self.check(21, header, rows, ["uint64"] * 3, "histo", one, two)

    def test_compare(self):
        files = [self.count(DATA / name, k=21, output=f"{name}.wmi") for name in ("reads_1.fq.gz", "reads_2.fq.gz", "genome.fa")]
        header, *rows = self.rows("compare", *files)
        self.check(21, header, rows, ["string"] * 2 + ["uint64"] * 6 + ["double"] * 6, "compare", *files)
        self.warpmer("compare", *files, "-o", "x.npz")

    def test_faults(self):
        index = self.count(DATA / "genome.fa", k=21)
        (self.folder / "latin.fa").write_bytes(b">caf\xe9\nACGTACGTACGTACGTACGTACGT\n")
        self.warpmer("matrix", index, "-o", "old.tsv")
        old = (self.folder / "old.tsv").read_bytes()
        (self.folder / "old.tsv").write_bytes(old.replace(b"kmer\tout", b"kmer\tcaf\xe9", 1))
        for ending in FORMATS:
            self.refused(INPUT, "names in column read are not all UTF-8, .* write tsv or npz", "query", index, "--reads", "latin.fa", "-o", f"x.{ending}")
            self.refused(INPUT, "names of samples are not all UTF-8", "matrix", "--append", "old.tsv", index, "-o", f"x.{ending}")
            for command in (("dump", index), ("matrix", index)):
                process = self.run_process(*command, "-o", f"x.{ending}", preexec_fn=file_size_limit)
                self.assertEqual(process.returncode, RESOURCE, process.stderr)
                self.assertNotIn(f"x.{ending}", self.files())


if __name__ == "__main__":
    main()
