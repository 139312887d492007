#!/usr/bin/env python3
"""Files of NumPy arrays: read by their definition (ZIP by Python, .npy by hand), and by NumPy where it is there.

ctest: one thread
"""

import ast
import io
import math
import os
import random
import struct
import subprocess
import zipfile

from common_cli import DATA, INPUT, RESOURCE, USAGE, WARPMER, CliTest, canonical, fasta, file_size_limit, main, naive_count
from common_tier import by_tier, some

try:
    import numpy
except ImportError:
    numpy = None


def read_array(data):
    """(shape, flat list) of a .npy file."""
    assert data[:8] == b"\x93NUMPY\1\0"
    (length,) = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0 and data[9 + length : 10 + length] == b"\n"
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert set(header) == {"descr", "fortran_order", "shape"} and not header["fortran_order"]
    values, kind = data[10 + length :], header["descr"]
    if kind.startswith("<U"):
        width = 4 * int(kind[2:])
        flat = [values[at : at + width].decode("utf-32-le").rstrip("\0") for at in range(0, len(values), width)]
    elif kind.startswith("|S"):
        width = int(kind[2:])
        flat = [values[at : at + width].rstrip(b"\0") for at in range(0, len(values), width)]
    else:
        flat = [number for (number,) in struct.iter_unpack({"<u8": "<Q", "<f8": "<d"}[kind], values)]
    assert len(flat) == math.prod(header["shape"])
    return header["shape"], flat


def unpacked_all(kmers, k):
    if k > 32:
        kmers = [kmers[i] << 64 | kmers[i + 1] for i in range(0, len(kmers), 2)]
    return [unpacked(kmer, k) for kmer in kmers]


def unpacked(number, k):
    return "".join("ACGT"[number >> 2 * i & 3] for i in reversed(range(k)))


class NumpyFiles(CliTest):
    def arrays(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.assertIsNone(archive.testzip())
            found = {}
            for entry in archive.infolist():
                self.assertEqual(entry.compress_type, zipfile.ZIP_STORED)
                found[entry.filename.removesuffix(".npy")] = read_array(archive.read(entry))
        if numpy:
            loaded = numpy.load(io.BytesIO(data))
            self.assertEqual(set(loaded.files), set(found))
            for name, (shape, flat) in found.items():
                self.assertEqual(loaded[name].shape, shape)
                self.assertEqual(loaded[name].ravel().tolist(), flat)
        return found

    def file_arrays(self, name="x.npz"):
        return self.arrays((self.folder / name).read_bytes())

    def entries(self, arrays):
        """[(k-mer, count)] of a dump."""
        self.assertEqual(set(arrays), {"k", "kmers", "counts"})
        (shape, (k,)), (kmers_shape, kmers), (counts_shape, counts) = (arrays[name] for name in ("k", "kmers", "counts"))
        self.assertEqual((shape, kmers_shape), ((), counts_shape if k <= 32 else (*counts_shape, 2)))
        return list(zip(unpacked_all(kmers, k), counts))

    def test_dump(self):
        sequences = ["".join(random.Random(2).choices("ACGT", k=3000))]
        self.file("x.fa", fasta([("x", sequences[0]), ("y", sequences[0][:400] * 3)]))
        sequences.append(sequences[0][:400] * 3)
        for k in by_tier((5, 12, 13, 31, 32, 33, 64), (5, 31, 33)):
            index = self.count("x.fa", k=k)
            for options in ((), ("--sort", "-t", 3), ("--min-count", 2, "--max-count", 4)):
                with self.subTest(k=k, options=options):
                    self.warpmer("dump", index, *options, "-o", "x.npz")
                    found = self.entries(self.file_arrays())
                    lines = [line.split("\t") for line in self.warpmer("dump", index, *options).splitlines()]
                    self.assertEqual(found, [(kmer, int(count)) for kmer, count in lines])
            self.assertEqual({kmer: n for kmer, n in naive_count(sequences, k).items() if 2 <= n <= 4}, dict(found))
        process = self.run_process("dump", "--format", "npz", index)
        self.assertEqual(dict(self.entries(self.arrays(process.stdout))), self.dump(index))

    def test_larger_than_a_buffer(self):
        """Several pieces and threads; the same bytes for any number of these."""
        sequence = "".join(random.Random(3).choices("ACGT", k=300_000))
        index = self.count("-", k=21, stdin=fasta([("x", sequence)]))
        for threads in (1, 4):
            self.warpmer("dump", index, "-t", threads, "-o", f"{threads}.npz")
        self.assertEqual((self.folder / "1.npz").read_bytes(), (self.folder / "4.npz").read_bytes())
        self.assertEqual(dict(self.entries(self.file_arrays("1.npz"))), naive_count([sequence], 21))

    def test_histo(self):
        one = self.count(DATA / "reads_1.fq.gz", k=21, output="one.wmi")
        two = self.count(DATA / "reads_2.fq.gz", k=21, output="tw\u00f6.wmi")
        for options in ((), ("--max-count", 9)):
            rows = [tuple(map(int, line.split())) for line in self.warpmer("histo", one, *options).splitlines()]
            self.warpmer("histo", one, *options, "-o", "x.npz")
            n = (len(rows),)
            wanted = {"k": ((), [21]), "counts": (n, [count for count, _ in rows]), "kmers": (n, [kmers for _, kmers in rows])}
            self.assertEqual(self.file_arrays(), wanted)
        header, *rows = [line.split("\t") for line in self.warpmer("histo", one, two).splitlines()]
        arrays = self.arrays(self.run_process("histo", "--format", "npz", one, two).stdout)
        self.assertEqual(arrays["samples"], ((2,), header[1:]))
        self.assertEqual(arrays["counts"][1], [int(row[0]) for row in rows])
        self.assertEqual(arrays["kmers"], ((len(rows), 2), [int(cell) for row in rows for cell in row[1:]]))
        empty = self.count(DATA / "empty.fa", k=21, output="empty.wmi", options=("-q",))
        self.warpmer("histo", empty, "-o", "x.npz")
        self.assertEqual(self.file_arrays(), {"k": ((), [21]), "counts": ((0,), []), "kmers": ((0,), [])})
        self.warpmer("dump", empty, "-o", "x.npz")
        self.assertEqual(self.entries(self.file_arrays()), [])

    def test_compare(self):
        files = [self.count(DATA / name, k=21, output=f"{name}.wmi") for name in ("reads_1.fq.gz", "reads_2.fq.gz", "genome.fa")]
        self.warpmer("compare", *files, "-o", "x.npz")
        arrays = self.file_arrays()
        self.assertEqual(arrays["samples"], ((3,), [name.removesuffix(".wmi") for name in files]))
        self.assertEqual(arrays["kmers"][1], [len(self.dump(name)) for name in files])
        for measure in ("jaccard", "containment", "ruzicka", "cosine", "mash"):
            rows = [line.split("\t")[1:] for line in self.warpmer("compare", "--format", "matrix", "--measure", measure, *files).splitlines()[1:]]
            shape, values = arrays[measure]
            self.assertEqual(shape, (3, 3))
            self.assertEqual([f"{value:.9g}" for value in values], [cell for row in rows for cell in row])

    def test_query_kmers(self):
        """As they were asked for, in this order, repeats and small letters included; from a list, arguments, and a pipe."""
        sequence = "".join(random.Random(4).choices("ACGT", k=3000))
        self.file("x.fa", fasta([("x", sequence), ("y", sequence[:500] * 2)]))
        for k in by_tier((9, 21, 40), (9, 40)):
            index = self.count("x.fa", k=k)
            counts = naive_count([sequence, sequence[:500] * 2], k)
            asked = [sequence[at : at + k] for at in range(0, 2000, 3)] + ["A" * k, "ac" * 32, sequence[7 : 7 + k].lower()]
            asked = [kmer[:k] for kmer in asked] + [asked[0]]
            wanted = [counts[canonical(kmer.upper())] for kmer in asked]
            self.assertIn(0, wanted)
            self.file("asked.txt", "# k-mers\n\n" + "\n".join(asked))
            text = "\n".join(asked).encode()
            for arguments, data in ((("--kmers", "asked.txt", "-o", "x.npz"), b""), ((*asked[-9:], "-o", "x.npz"), b""), (("--kmers", "-", "--format", "npz"), text)):
                last = 9 if arguments[0] in asked else len(asked)
                with self.subTest(k=k, arguments=arguments[:2]):
                    process = self.run_process("query", index, *arguments, stdin=data)
                    self.assertEqual(process.returncode, 0, process.stderr)
                    arrays = self.arrays(process.stdout or (self.folder / "x.npz").read_bytes())
                    kmers = [kmer.encode() for kmer in asked[-last:]]
                    self.assertEqual(arrays, {"k": ((), [k]), "kmers": ((last,), kmers), "counts": ((last,), wanted[-last:])})
        self.file("none.txt", "# none\n")
        self.warned("there is no k-mer in 'none.txt'", "query", index, "--kmers", "none.txt", "-o", "x.npz")
        self.assertEqual(self.file_arrays(), {"k": ((), [40]), "kmers": ((0,), []), "counts": ((0,), [])})

    def test_query_reads(self):
        """Each column of the text, with names that are no ASCII, reads without k-mers, and one in several pieces."""
        index = self.count(DATA / "reads_1.fq.gz", k=21)
        genome = "".join(random.Random(5).choices("ACGT", k=3_000_000))
        self.file("y.fa", fasta([("gen\u00f6me", genome), ("short", "ACGT"), ("n" * 300, "N" * 50)]))
        for reads in ((DATA / "reads_2.fq.gz",), ("y.fa", DATA / "reads_1.fq.gz")):
            header, *rows = [line.split("\t") for line in self.warpmer("query", index, "--reads", *reads).splitlines()]
            for threads in (1, 3):
                self.warpmer("query", index, "-t", threads, "--reads", *reads, "-o", f"{threads}.npz")
            self.assertEqual((self.folder / "1.npz").read_bytes(), (self.folder / "3.npz").read_bytes())
            arrays = self.file_arrays("1.npz")
            self.assertEqual(arrays.pop("k"), ((), [21]))
            self.assertEqual(list(arrays), header)
            for at, name in enumerate(header):
                wanted = [row[at].encode() if at == 0 else int(row[at].replace("NA", "0")) for row in rows]
                self.assertEqual(arrays[name], ((len(rows),), wanted), name)

    def test_matrix(self):
        files = [self.count(DATA / name, k=21, output=f"{name}.wmi") for name in ("reads_1.fq.gz", "reads_2.fq.gz", "genome.fa")]
        self.warpmer("matrix", files[0], "-o", "old.tsv")
        for options in (files, ("--presence", *files), ("--min-samples", 2, *files), (files[0],), ("--append", "old.tsv", *files[1:]), ("-m", "160M", "-t", 2, *files)):
            with self.subTest(options=options):
                _, header, *rows = [line.split("\t") for line in self.warpmer("matrix", *options).splitlines()]
                self.warpmer("matrix", *options, "-o", "x.npz")
                arrays = self.file_arrays()
                self.assertEqual(list(arrays), ["k", "samples", "kmers", "counts"])
                self.assertEqual(arrays["k"], ((), [21]))
                self.assertEqual(arrays["samples"], ((len(header) - 1,), header[1:]))
                shape, kmers = arrays["kmers"]
                self.assertEqual((shape, unpacked_all(kmers, 21)), ((len(rows),), [row[0] for row in rows]))
                self.assertEqual(arrays["counts"], ((len(rows), len(header) - 1), [int(cell) for row in rows for cell in row[1:]]))
        data = self.run_process("matrix", "--format", "npz", "-t", 3, *files).stdout
        self.warpmer("matrix", "-t", 1, *files, "-o", "x.npz")
        self.assertEqual(data, (self.folder / "x.npz").read_bytes())

    def test_wide_matrix(self):
        """K-mers of two words; and more of everything than waits in memory, with a temporary folder that it leaves empty."""
        sequences = ["".join(random.Random(seed).choices("ACGT", k=200_000)) for seed in (6, 7)]
        files = [self.count("-", k=50, stdin=fasta([("x", sequence)]), output=f"{at}.wmi") for at, sequence in enumerate(sequences)]
        (self.folder / "t").mkdir()
        process = self.run_process("matrix", *files, "-o", "x.npz", env={**os.environ, "TMPDIR": "t"})
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(os.listdir(self.folder / "t"), [])
        arrays = self.file_arrays()
        (n, words), kmers = arrays["kmers"]
        self.assertEqual(words, 2)
        shape, counts = arrays["counts"]
        self.assertEqual(shape, (n, 2))
        found = dict(zip(unpacked_all(kmers, 50), zip(counts[::2], counts[1::2])))
        one, two = (naive_count([sequence], 50) for sequence in sequences)
        self.assertEqual(found, {kmer: (one.get(kmer, 0), two.get(kmer, 0)) for kmer in one.keys() | two.keys()})

    def test_pipe(self):
        index = self.count(DATA / "genome.fa", k=21)
        os.mkfifo(self.folder / "pipe")
        with subprocess.Popen([WARPMER, "dump", "--format", "npz", "-o", "pipe", index], cwd=self.folder, stderr=subprocess.PIPE) as process:
            data = (self.folder / "pipe").read_bytes()
            process.communicate()
            self.assertEqual(process.returncode, 0)
        self.assertEqual(dict(self.entries(self.arrays(data))), self.dump(index))

    def test_refusals(self):
        index = self.count(DATA / "genome.fa", k=21)
        reads = DATA / "reads_1.fq.gz"
        self.warpmer("matrix", index, "-o", "was.npz")
        self.file("asked.txt", "A" * 21 + "\n" + "ACGTX" * 4 + "A\n")
        k9 = self.count(DATA / "genome.fa", k=9, output="k9.wmi")
        for status, pattern, *arguments in some((
            (USAGE, "'x.tsv' ends as tab-separated text does.*NumPy", "dump", "--format", "npz", "-o", "x.tsv", index),
            (USAGE, "'x.npz' ends as NumPy does", "dump", "--format", "tsv", "-o", "x.npz", index),
            (USAGE, "'x.npz' ends as NumPy does", "histo", "--format", "plain", "-o", "x.npz", index),
            (USAGE, "'x.npz' ends as NumPy does", "histo", "--plot", "-o", "x.npz", index),
            (USAGE, "'x.npz' ends as NumPy does", "compare", "--format", "phylip", "-o", "x.npz", index, index),
            (USAGE, "'x.npz' ends as NumPy does", "stats", "-o", "x.npz", index),
            (USAGE, "ends as compressed text does", "dump", "-o", "x.npz.gz", index),
            (USAGE, "--dense is for --format plain", "histo", "--dense", "-o", "x.npz", index),
            (USAGE, "npz has all of them", "compare", "--measure", "mash", "-o", "x.npz", index, index),
            (USAGE, "k9.wmi has k = 9", "histo", "-o", "x.npz", index, k9),
            (USAGE, "'x.npz' ends as NumPy does, .*BED", "query", index, "--reads", reads, "--format", "bed", "-o", "x.npz"),
            (USAGE, "'x.npz' ends as NumPy does", "query", index, "A" * 21, "--format", "tsv", "-o", "x.npz"),
            (USAGE, "'x.tsv' ends as tab-separated text does.*NumPy", "query", index, "A" * 21, "--format", "npz", "-o", "x.tsv"),
            (USAGE, "--profile has a number for each position, .*leave out --profile", "query", index, "--profile", "--reads", reads, "-o", "x.npz"),
            (USAGE, "--no-header is for text", "query", index, "--no-header", "--reads", reads, "--format", "npz"),
            (USAGE, "'x.npz' ends as NumPy does", "matrix", "--format", "tsv", index, "-o", "x.npz"),
            (USAGE, "'x.tsv' ends as tab-separated text does.*NumPy", "matrix", "--format", "npz", index, "-o", "x.tsv"),
            (USAGE, "--format must be tsv, npz, arrow or parquet, not 'xml'", "matrix", "--format", "xml", index),
            (USAGE, "ends as compressed text does", "matrix", index, "-o", "x.npz.gz"),
            (INPUT, "begins with '#warpmer-matrix'", "matrix", "--append", "was.npz", index, "-o", "x.npz"),
            (INPUT, "asked.txt:2: .*is no k-mer", "query", index, "--kmers", "asked.txt", "-o", "x.npz"),
            (INPUT, "no_such", "dump", "-o", "x.npz", "no_such.wmi"),
        ), 11):  # fmt: skip
            with self.subTest(arguments=arguments):
                self.refused(status, pattern, *arguments)
        for command in (("dump", index), ("matrix", index), ("query", index, "--reads", reads)):
            process = self.run_process(*command, "-o", "x.npz", preexec_fn=file_size_limit)
            self.assertEqual(process.returncode, RESOURCE, process.stderr)
            self.assertNotIn("x.npz", self.files())


if __name__ == "__main__":
    main()
