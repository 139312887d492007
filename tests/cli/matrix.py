#!/usr/bin/env python3
"""The table of k-mers and samples: against dumps joined in Python, and extended against made at once.

ctest: one thread (what the threads do is tested in unit/matrix)
"""

import gzip
import json
import os
import random
import resource
import shutil
import subprocess

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, canonical, fasta, main
from common_tier import by_tier, some

READS_1, READS_2 = DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"


class Matrix(CliTest):
    def three(self, k, options=()):
        """Three indexes that share k-mers."""
        for name, inputs in (("one", [READS_1]), ("two", [READS_2]), ("three", [DATA / "forty.fa", READS_1])):
            self.count(*inputs, k=k, options=options, output=f"{name}.wmi")
        return ["one.wmi", "two.wmi", "three.wmi"]

    def related(self, number, k, distinct=4, length=300):
        """Indexes of a sequence with changes, some of them several times."""
        chance = random.Random(5)
        sequence = chance.choices("ACGT", k=length)
        for i in range(distinct):
            copy = list(sequence)
            copy[chance.randrange(length)] = "ACGT"[i % 4]
            index = self.count("-", k=k, stdin=fasta([("x", "".join(copy))]), output="x.wmi")
            for same in range(i, number, distinct):
                os.link(self.folder / index, self.folder / f"s{same}.wmi")
            os.remove(self.folder / index)
        return [f"s{i}.wmi" for i in range(number)]

    def joined(self, indexes, presence=False, min_samples=1, bounds=None):
        """What a matrix should have: k-mer to tuple of numbers. From dumps, one by one."""
        table = {}
        for column, index in enumerate(indexes):
            low, high = bounds[column] if bounds else (1, 1 << 64)
            for kmer, count in self.dump(index).items():
                if low <= count <= high:
                    table.setdefault(kmer, [0] * len(indexes))[column] = 1 if presence else count
        return {kmer: tuple(row) for kmer, row in table.items() if sum(map(bool, row)) >= min_samples}

    def parsed(self, text, names, k, values="counts", min_samples=1, strand="canonical"):
        """The rows of a matrix, after its header has been checked."""
        lines = text.split("\n")
        self.assertEqual(lines[0], f"#warpmer-matrix k={k} strand={strand} values={values} min-samples={min_samples} hash-version=2")
        self.assertEqual(lines[1].split("\t"), ["kmer", *names])
        self.assertEqual(lines.pop(), "")
        rows = {}
        for line in lines[2:]:
            kmer, *numbers = line.split("\t")
            self.assertNotIn(kmer, rows)
            rows[kmer] = tuple(map(int, numbers))
        return rows

    def matrix(self, *arguments, output="matrix.tsv"):
        self.warpmer("matrix", *arguments, "-o", output)
        return (self.folder / output).read_text()

    def test_against_joined_dumps(self):
        for k, options in some(((21, ()), (8, ()), (32, ("--forward",)), (64, ())), 2):
            with self.subTest(k=k, options=options):
                indexes = self.three(k, options)
                strand = "forward" if options else "canonical"
                text = self.matrix("-t", 2, *indexes)
                rows = self.parsed(text, ["one", "two", "three"], k, strand=strand)
                self.assertEqual(rows, self.joined(indexes))
                # The order of rows is that of an index that has them all.
                self.warpmer("merge", *indexes, "-o", "all.wmi")
                self.assertEqual(list(rows), list(self.dump("all.wmi")))
                if k == 21:
                    self.assertEqual(self.matrix("-t", 1, "-m", "200M", *indexes), text)
                    self.assertEqual(self.warpmer("matrix", *indexes), text)

    def test_presence_and_filters(self):
        indexes = self.three(17)
        names = ["one", "two", "three"]
        text = self.matrix("--presence", "--min-samples", 2, *indexes)
        self.assertEqual(self.parsed(text, names, 17, "presence", 2), self.joined(indexes, True, 2))
        text = self.matrix("--min-samples", 3, *indexes)
        self.assertEqual(self.parsed(text, names, 17, min_samples=3), self.joined(indexes, min_samples=3))
        bounds = [(2, 30), (5, 9), (1, 40)]
        text = self.matrix("--input-min-count", "2,5,1", "--input-max-count", "30,9,40", *indexes)
        self.assertEqual(self.parsed(text, names, 17), self.joined(indexes, bounds=bounds))

    def test_appending_is_making_all_at_once(self):
        for k, options in some(((31, ()), (9, ("--forward",)), (40, ())), 2):
            with self.subTest(k=k, options=options):
                one, two, three = self.three(k, options)
                whole = self.matrix(one, two, three, output="whole.tsv")
                self.matrix(one, output="first.tsv")
                self.matrix("--append", "first.tsv", two, output="second.tsv")
                self.assertEqual(self.matrix("--append", "second.tsv", three), whole)
                if k != 31:
                    continue
                self.assertEqual(self.matrix("--append", "first.tsv", "-t", 1, two, three), whole)
                self.assertEqual(self.matrix("--append", "first.tsv", "--min-samples", 2, two, three),
                                 self.matrix("--min-samples", 2, one, two, three))
                self.matrix("--presence", two, output="presence.tsv")
                self.assertEqual(self.matrix("--append", "presence.tsv", one),
                                 self.matrix("--presence", two, one))
                piped = self.warpmer("matrix", "--append", "-", three, stdin=(self.folder / "second.tsv").read_bytes())
                self.assertEqual(piped, whole)

    def test_nothing_and_little(self):
        """Old matrices without rows, with few rows, and new samples without k-mers."""
        empty = self.count("-", k=21, options=("-q",), stdin=">a\nACGT\n", output="empty.wmi")
        few = self.count("-", k=21, stdin=">a\nACGTTGCATTACGGATTACCAGATTACA\n", output="few.wmi")
        many = self.count(READS_1, READS_2, k=21, output="many.wmi")
        for old in (empty, few, many):
            self.matrix(old, output="old.tsv")
            for new in some((empty, few, many), 3 if old == few else 1):
                with self.subTest(old=old, new=new):
                    rows = self.matrix("--append", "old.tsv", new).splitlines()[2:]
                    self.assertEqual(rows, self.matrix("-q", old, new).splitlines()[2:])

    def test_compressed(self):
        one, two, three = self.three(21)
        whole = self.matrix(one, two, three)
        self.matrix_gz(whole, one, two, three)
        self.warpmer("matrix", one, two, "-o", "two.tsv.gz")
        self.matrix_gz(whole, "--append", "two.tsv.gz", three)
        self.file("plain.gz", gzip.compress(self.matrix(one, two).encode()))  # one stream, not in blocks
        self.matrix_gz(whole, "--append", "plain.gz", three)
        content = (self.folder / "two.tsv.gz").read_bytes()
        self.file("cut.tsv.gz", content[: len(content) // 2])
        self.refused(INPUT, "cut.tsv.gz", "matrix", "--append", "cut.tsv.gz", three, "-o", "x.tsv")

    def matrix_gz(self, wanted, *arguments):
        self.warpmer("matrix", *arguments, "-t", 2, "-o", "out.tsv.gz")
        text = subprocess.run(["zcat", self.folder / "out.tsv.gz"], check=True, capture_output=True).stdout
        self.assertEqual(text.decode(), wanted)
        if shutil.which("bgzip"):
            text = subprocess.run(["bgzip", "-dc", self.folder / "out.tsv.gz"], check=True, capture_output=True).stdout
            self.assertEqual(text.decode(), wanted)

    def test_more_inputs_than_descriptors(self):
        number = by_tier(100, 20)
        for k in some((21, 9)):
            for name in self.files():
                os.remove(self.folder / name)
            indexes = self.related(number, k)
            self.file("list.txt", "".join(f"{index}\n" for index in indexes))
            few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
            process = self.run_process("matrix", "-q", "@list.txt", "-t", "2", "-o", "all.tsv", **few)
            self.done(process)
            text = (self.folder / "all.tsv").read_text()
            rows = self.parsed(text, [f"s{i}" for i in range(number)], k)
            dumps = [self.dump(index) for index in indexes[:4]]
            self.assertEqual(rows, {kmer: tuple(dumps[i % 4].get(kmer, 0) for i in range(number)) for dump in dumps for kmer in dump})
            self.warpmer("matrix", "-q", *indexes[:-3], "-o", "old.tsv")
            self.assertEqual(self.matrix("-q", "--append", "old.tsv", *indexes[-3:]), text)

    def test_names(self):
        os.mkdir(self.folder / "a")
        one = self.count(READS_1, k=9, output="one.wmi")
        os.link(self.folder / one, self.folder / "a" / "one.wmi")
        os.mkdir(self.folder / "b")
        os.link(self.folder / one, self.folder / "b" / "one.wmi")

        def names(text):
            return text.split("\n")[1].split("\t")

        self.assertEqual(names(self.matrix("-q", one, "a/one.wmi", one)), ["kmer", "one.wmi", "a/one.wmi", "one.wmi#2"])
        self.matrix(one, output="old.tsv")
        self.assertEqual(names(self.matrix("--append", "old.tsv", "a/one.wmi")), ["kmer", "one", "a/one.wmi"])
        self.assertEqual(names(self.matrix("-q", "--append", "old.tsv", one, one)), ["kmer", "one", "one.wmi", "one.wmi#2"])
        # What two of them had to leave, a third does not get either.
        for old, new in (((one, "a/one.wmi"), "b/one.wmi"), ((one, one), one), (("a/one.wmi", "b/one.wmi"), one)):
            self.matrix("-q", *old, output="old.tsv")
            self.assertEqual(names(self.matrix("--append", "old.tsv", new)), names(self.matrix("-q", *old, new)))

    def test_samples_that_are_called_as_a_column(self):
        """Columns of a table are found by their names."""
        one = self.count(READS_1, k=9, output="kmer.wmi")
        self.count(READS_1, k=9, output="count.wmi")
        shutil.copy(self.folder / one, self.folder / "kmer")
        self.assertEqual(self.matrix(one, "count.wmi").split("\n")[1].split("\t"), ["kmer", "kmer.wmi", "count"])
        self.assertEqual(self.matrix("-q", "kmer", "kmer", one).split("\n")[1].split("\t"), ["kmer", "kmer#2", "kmer#3", "kmer.wmi"])
        self.matrix("count.wmi", output="old.tsv")
        self.assertEqual(self.matrix("--append", "old.tsv", one).split("\n")[1].split("\t"), ["kmer", "count", "kmer.wmi"])
        self.assertEqual(self.warpmer("histo", "count.wmi", one).split("\n")[0].split("\t"), ["count", "count.wmi", "kmer"])

    def test_matrices_that_do_not_go_with_the_index(self):
        one = self.count(READS_1, k=21, output="one.wmi")
        k22 = self.count(READS_1, k=22, output="k22.wmi")
        forward = self.count(READS_1, k=21, options=("--forward",), output="forward.wmi")
        self.matrix(one, output="old.tsv")
        self.refused(INPUT, "old.tsv, line 1: k = 21, but k22.wmi has k = 22", "matrix", "--append", "old.tsv", k22, "-o", "x")
        self.refused(INPUT, "old.tsv, line 1: canonical k-mers, but", "matrix", "--append", "old.tsv", forward, "-o", "x")
        self.matrix("-q", "--min-samples", 2, one, one, output="some.tsv")
        self.refused(INPUT, "some.tsv, line 1: it was made with --min-samples 2", "matrix", "--append", "some.tsv", one, "-o", "x")
        self.refused(USAGE, "old.tsv has counts", "matrix", "--presence", "--append", "old.tsv", one, "-o", "x")

    def test_damaged_matrices(self):
        index = self.count("-", k=21, stdin=fasta([("x", "ACGTTGCATTACGGATTACCAGATTACAGGCATC")]), output="one.wmi")
        good = self.matrix("-q", index, index, output="good.tsv").split("\n")
        self.assertEqual(len(good), 17)
        row = good[5]
        kmer = row.split("\t")[0]
        other = canonical(kmer).translate(str.maketrans("ACGT", "TGCA"))[::-1]

        def with_row(line, text):
            return "\n".join([*good[: line - 1], text, *good[line:]])

        for pattern, text in some((
            ("line 1: this is no matrix", ""),
            ("line 1: this is no matrix", "kmer\tone\n"),
            ("line 1: this is no matrix", ">read\nACGT\n"),
            ("line 1: this is no matrix", "#warpmer-matrixes k=21\n"),
            ("line 1: 'k=0' is not known", with_row(1, good[0].replace("k=21", "k=0"))),
            ("line 1: 'strand=both' is not known", with_row(1, good[0].replace("canonical", "both"))),
            ("line 1: 'colour=red' is not known", with_row(1, good[0] + " colour=red")),
            ("line 1: it should say k, strand", with_row(1, "#warpmer-matrix k=21 strand=canonical")),
            ("line 1: hash functions of version 3", with_row(1, good[0].replace("hash-version=2", "hash-version=3"))),
            ("line 2: this is no matrix", good[0] + "\n"),
            ("line 2: the names of the columns", with_row(2, good[1][1:])),
            ("line 2: there should be a name", with_row(2, "kmer")),
            ("line 2: there should be a name", with_row(2, good[1] + "\t")),
            ("line 6: this row has 1 numbers for 2 samples", with_row(6, f"{kmer}\t1")),
            ("line 6: this row has more numbers than the 2 samples", with_row(6, f"{kmer}\t1\t1\t1")),
            ("line 6: for 'one.wmi' it says '-1', which is no count", with_row(6, f"{kmer}\t-1\t1")),
            ("line 6: for 'one.wmi#2' it says '', which is no count", with_row(6, f"{kmer}\t1\t")),
            ("line 6: for 'one.wmi#2' it says '01', which is no count", with_row(6, f"{kmer}\t1\t01")),
            ("line 6: for 'one.wmi' it says '18446744073709551616'", with_row(6, f"{kmer}\t18446744073709551616\t1")),
            ("line 6: the number of 'one.wmi' should not be followed by '.'", with_row(6, f"{kmer}\t1.5\t1")),
            ("line 6: the last number should not be followed by", with_row(6, row + " ")),
            ("line 2: two samples are called 'a'", with_row(2, "kmer\ta\ta")),
            ("line 6: a row should begin with a k-mer of 21", with_row(6, "")),
            ("line 6: a row should begin with a k-mer of 21", with_row(6, row[1:])),
            ("line 6: a row should begin with a k-mer of 21", with_row(6, "N" + row[1:])),
            (f"line 6: {other} is not canonical", with_row(6, row.replace(kmer, other))),
            ("line 7: .* does not belong behind the row before it", "\n".join([*good[:6], *good[5:]])),
            ("line 16: the file ends in the middle of this row", "\n".join(good)[:-2]),
            ("line 16: the file ends in the middle of this row", "\n".join(good)[:-1]),
        ), 10):
            with self.subTest(pattern):
                self.file("bad.tsv", text)
                self.refused(INPUT, "bad.tsv, " + pattern, "matrix", "--append", "bad.tsv", index, "-o", "out.tsv")
        self.matrix("--presence", index, output="presence.tsv")
        self.file("presence.tsv", (self.folder / "presence.tsv").read_text().replace("\t1\n", "\t2\n", 1))
        self.refused(INPUT, "line 3: for 'one' it says '2', which is no 0 or 1", "matrix", "--append", "presence.tsv", index)
        # Ends of lines are those of any system; what comes out is as ever.
        whole = self.matrix("--append", "good.tsv", index)
        for end in ("\r\n", "\r"):
            self.file("old.tsv", ("\ufeff" + "\n".join(good)).replace("\n", end))
            self.assertEqual(self.matrix("--append", "old.tsv", index), whole)
        # As large as 64 bits, and a row that a column's removal has left without a sample.
        self.file("old.tsv", with_row(6, f"{kmer}\t18446744073709551615\t0"))
        self.assertIn(f"{kmer}\t18446744073709551615\t0\t1\n", self.matrix("--append", "old.tsv", index))
        none = self.count("-", k=21, options=("-q",), stdin=">a\nACGT\n", output="none.wmi")
        self.file("old.tsv", with_row(6, f"{kmer}\t0\t0"))
        self.assertNotIn(kmer, self.matrix("--append", "old.tsv", none))

    def test_damaged_rows_far_down(self):
        """Where several threads read, the line is the right one."""
        index = self.count(READS_1, READS_2, k=31, output="one.wmi")
        lines = self.matrix(index).split("\n")
        self.assertGreater(len(lines), 20000)
        at = len(lines) * 3 // 4
        lines[at - 1 : at + 1] = lines[at], lines[at - 1]
        self.file("bad.tsv", "\n".join(lines))
        self.refused(INPUT, f"bad.tsv, line {at + 1}: ", "matrix", "-t", 3, "--append", "bad.tsv", index, "-o", "out.tsv")

    def test_outputs_and_inputs_that_cannot_be(self):
        one = self.count(READS_1, k=9, output="one.wmi")
        self.matrix(one, output="old.tsv")
        self.refused(RESOURCE, "none/out.tsv", "matrix", one, "-o", "none/out.tsv")
        self.refused(RESOURCE, "/dev/full", "matrix", one, "-o", "/dev/full")
        self.refused(RESOURCE, "-m", "matrix", one, "-m", "2M", "-o", "out.tsv")
        self.refused(INPUT, "no_such.tsv", "matrix", "--append", "no_such.tsv", one)
        self.refused(USAGE, "would replace it", "matrix", "--append", "old.tsv", one, "-o", "old.tsv")
        self.refused(USAGE, "named twice", "matrix", "--append", "-", "-")
        self.refused(USAGE, "at least 3 of 2 samples", "matrix", "--min-samples", "3", "--append", "old.tsv", one)
        self.refused(USAGE, "at least 2 of 1 sample", "matrix", "--min-samples", "2", one)
        damaged = bytearray((self.folder / one).read_bytes())
        damaged[json.loads(self.warpmer("info", "--json", one))["content_bytes"] // 2] ^= 0x10
        self.file("bad.wmi", bytes(damaged))
        self.refused(INPUT, "bad.wmi", "matrix", one, "bad.wmi", "-o", "out.tsv")

    def test_a_reader_that_leaves(self):
        index = self.count(READS_1, READS_2, k=31, output="one.wmi")
        command = f"'{os.environ['WARPMER']}' matrix -t 2 {index} {index} | head -3"
        process = subprocess.run(["bash", "-c", command + "; echo ${PIPESTATUS[0]}"], cwd=self.folder, capture_output=True, check=True)
        self.assertEqual(process.stdout.count(b"\n"), 4)
        self.assertLess(process.stderr.count(b"\n"), 2)


if __name__ == "__main__":
    main()
