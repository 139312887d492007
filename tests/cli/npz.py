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

from common_cli import DATA, INPUT, RESOURCE, USAGE, WARPMER, CliTest, fasta, file_size_limit, main, naive_count

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
    else:
        flat = [number for (number,) in struct.iter_unpack({"<u8": "<Q", "<f8": "<d"}[kind], values)]
    assert len(flat) == math.prod(header["shape"])
    return header["shape"], flat


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
        if k > 32:
            kmers = [kmers[i] << 64 | kmers[i + 1] for i in range(0, len(kmers), 2)]
        return [(unpacked(kmer, k), count) for kmer, count in zip(kmers, counts)]

    def test_dump(self):
        sequences = ["".join(random.Random(2).choices("ACGT", k=3000))]
        self.file("x.fa", fasta([("x", sequences[0]), ("y", sequences[0][:400] * 3)]))
        sequences.append(sequences[0][:400] * 3)
        for k in (5, 12, 13, 31, 32, 33, 64):
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
        k11 = self.count(DATA / "genome.fa", k=11, output="k11.wmi")
        for status, pattern, *arguments in (
            (USAGE, "'x.tsv' ends as tab-separated text does.*NumPy", "dump", "--format", "npz", "-o", "x.tsv", index),
            (USAGE, "'x.npz' ends as NumPy does", "dump", "--format", "tsv", "-o", "x.npz", index),
            (USAGE, "'x.npz' ends as NumPy does", "histo", "--format", "plain", "-o", "x.npz", index),
            (USAGE, "'x.npz' ends as NumPy does", "histo", "--plot", "-o", "x.npz", index),
            (USAGE, "'x.npz' ends as NumPy does", "compare", "--format", "phylip", "-o", "x.npz", index, index),
            (USAGE, "'x.npz' ends as NumPy does", "stats", "-o", "x.npz", index),
            (USAGE, "ends as compressed text does", "dump", "-o", "x.npz.gz", index),
            (USAGE, "--dense is for --format plain", "histo", "--dense", "-o", "x.npz", index),
            (USAGE, "npz has all of them", "compare", "--measure", "mash", "-o", "x.npz", index, index),
            (USAGE, "k11.wmi has k = 11", "histo", "-o", "x.npz", index, k11),
            (INPUT, "no_such", "dump", "-o", "x.npz", "no_such.wmi"),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                self.refused(status, pattern, *arguments)
        process = self.run_process("dump", "-o", "x.npz", index, preexec_fn=file_size_limit)
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertNotIn("x.npz", self.files())


if __name__ == "__main__":
    main()
