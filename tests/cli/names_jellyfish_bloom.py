#!/usr/bin/env python3
"""`jellyfish bc`, `mem`, and the options --bc and -g of `count`: run by Jellyfish and by warpmer.

A Bloom counter is checked digit by digit, by its description (src/formats/jellyfish_bloom.h), and each program counts with the other's.

ctest: release only (Jellyfish itself takes the time)
"""

import gzip
import itertools
import json
import unittest

from common_cli import DATA, INPUT, USAGE, main, naive_count, read_sequences
from common_names import OURS, THEIRS, NamesTest, originals

CODES = {base: code for code, base in enumerate("ACGT")}


def digits_of(content):
    """The header's JSON, and the digits from 0 to 2."""
    length = int(content[:9])
    header = json.loads(content[9 : 9 + length].rstrip(b"\0"))
    digits = [byte // power % 3 for byte in content[9 + length :] for power in (1, 3, 9, 27, 81)]
    return header, digits[: header["size"]]


def wanted_digits(header, counts):
    digits = [0] * header["size"]
    for kmer, count in counts.items():
        bits = 0
        for base in kmer:
            bits = bits << 2 | CODES[base]
        first, step = (product(header[name]["columns"], bits) % header["size"] for name in ("matrix1", "matrix2"))
        for i in range(header["nb_hashes"]):
            place = (first + i * step) % header["size"]
            digits[place] = min(2, digits[place] + min(2, count))
    return digits


def product(columns, bits):
    result = 0
    for i, column in enumerate(reversed(columns)):
        if bits >> i & 1:
            result ^= column
    return result


@unittest.skipUnless(originals("jellyfish"), "no jellyfish")
class BloomCounters(NamesTest):
    def setUp(self):
        super().setUp()
        self.file("a.fq", gzip.decompress((DATA / "reads_1.fq.gz").read_bytes())[:60000].rsplit(b"\n@", 1)[0] + b"\n")
        self.file("genome.fa", (DATA / "genome.fa").read_bytes())
        self.sequences = [sequence for _, sequence in read_sequences(self.folder / "a.fq")]

    def dumps(self):
        dumps = []
        for name in (THEIRS, OURS):
            process = self.run_named("jellyfish", "dump", "-c", f"{name}.jf", original=True)
            self.assertEqual(process.returncode, 0, process.stderr)
            dumps.append(sorted(process.stdout.decode().splitlines()))
        return dumps

    def count_alike(self, *words):
        self.run_both("jellyfish", "count", "-s", "1M", "-t", 2, *words, "-o", "{}.jf")
        theirs, ours = self.dumps()
        self.assert_alike(ours, theirs, *words)
        return ours

    def test_digits(self):
        for k, options in ((5, ()), (13, ("-C",)), (21, ("-C", "-f", "0.05")), (33, ("-f", "0.2", "-t", "2")), (64, ("-C",))):
            self.run_both("jellyfish", "bc", "-m", k, "-s", "20k", *options, "a.fq", "-o", "{}.bc")
            counts = naive_count(self.sequences, k, forward="-C" not in options)
            headers = []
            for name in (THEIRS, OURS):
                header, digits = digits_of((self.folder / f"{name}.bc").read_bytes())
                self.assertEqual(digits, wanted_digits(header, counts), (k, options, name))
                headers.append({name: header[name] for name in ("alignment", "canonical", "format", "key_len", "nb_hashes", "size")})
            self.assertEqual(*headers)

    def test_hash_functions(self):
        """Two of them, so that few k-mers that occur once are taken for others; the counter is twice as large as it has to be."""
        kmers = naive_count(self.sequences, 21)
        once = sum(count == 1 for count in kmers.values())
        self.run_both("jellyfish", "bc", "-m", 21, "-s", 2 * len(kmers), "-C", "a.fq", "-o", "{}.bc")
        for name in (THEIRS, OURS):
            header, _ = digits_of((self.folder / f"{name}.bc").read_bytes())
            self.assertNotEqual(header["matrix1"]["columns"], header["matrix2"]["columns"], name)
            lines = self.count_alike("-m", 21, "-C", "--bc", f"{name}.bc", "a.fq")
            self.assertLess(sum(line.endswith(" 1") for line in lines), once / 500, name)

    def test_counting(self):
        """With either counter, the share of errors included."""
        for k, share, options in ((13, "0.001", ("-C",)), (21, "0.3", ("-C", "-L", "3")), (25, "0.2", ()), (21, "0.1", ("-C", "--if", "genome.fa"))):
            self.run_both("jellyfish", "bc", "-m", k, "-s", "20k", "-f", share, *options[:1], "a.fq", "-o", "{}.bc")
            for name in (THEIRS, OURS):
                lines = self.count_alike("-m", k, *options, "--bc", f"{name}.bc", "a.fq")
                if share == "0.001":
                    self.assertLess(len(lines), len(naive_count(self.sequences, k)) / 2)

    def test_nothing(self):
        self.run_both("jellyfish", "bc", "-m", 9, "-s", 100, "-o", "{}.bc")
        self.assertEqual(self.count_alike("-m", 9, "--bc", f"{OURS}.bc", "a.fq"), [])

    def test_refusals(self):
        self.run_named("jellyfish", "bc", "-m", 13, "-s", "20k", "a.fq", "-o", "good.bc")
        content = (self.folder / "good.bc").read_bytes()
        self.file("cut.bc", content[:-1])
        header = json.loads(content[9 : 9 + int(content[:9])].rstrip(b"\0"))
        del header["matrix1"]["columns"][3]
        self.file("columns.bc", content[:9] + json.dumps(header, separators=(",", ":")).encode().ljust(int(content[:9]), b"\0") + content[9 + int(content[:9]) :])
        self.file("fields.bc", content.replace(b'"nb_hashes"', b'"mb_hashes"', 1))
        self.run_named("jellyfish", "count", "-m", 13, "-s", 1000, "a.fq", "-o", "table.jf")
        before = self.files()
        count = ("jellyfish", "count", "-m", 13, "-s", 1000, "a.fq")
        for pattern, status, words in (
            ("cut off", 1, (*count, "--bc", "cut.bc")), ("a matrix has other columns", 1, (*count, "--bc", "columns.bc")),
            ("damaged: its header", 1, (*count, "--bc", "fields.bc")), ("no Bloom counter", 1, (*count, "--bc", "table.jf")),
            ("no Jellyfish database", 1, (*count, "--bc", "a.fq")), ("absent", 1, (*count, "--bc", "absent")),
            ("13-mers, and -m says 14", USAGE, ("jellyfish", "count", "-m", 14, "-s", 9, "--bc", "good.bc", "a.fq")),
            ("exclude each other", USAGE, (*count, "--bc", "good.bc", "--bf-size", "9")),
            ("-m, the length", USAGE, ("jellyfish", "bc", "-s", 9, "a.fq")), ("-s, how many", USAGE, ("jellyfish", "bc", "-m", 9, "a.fq")),
            ("between 0 and 1", USAGE, ("jellyfish", "bc", "-m", 9, "-s", 9, "-f", "1.5", "a.fq")),
            ("between 0 and 1", USAGE, ("jellyfish", "bc", "-m", 9, "-s", 9, "-f", "x", "a.fq")),
            ("share of errors of 0.9", USAGE, ("jellyfish", "bc", "-m", 9, "-s", 9, "-f", "0.9", "a.fq")),
            ("too large", USAGE, ("jellyfish", "bc", "-m", 9, "-s", "18E", "a.fq")),
            ("takes 28000000000000 bytes", 1, ("jellyfish", "bc", "-m", 9, "-s", "10T", "a.fq")),
            ("absent.fq", 1, ("jellyfish", "bc", "-m", 9, "-s", "10", "absent.fq")),
        ):  # fmt: skip
            with self.subTest(words):
                self.refused_named(pattern, *words, status=status)
                self.assertEqual(self.files(), before)

    def test_generators(self):
        self.file("commands", "# reads\ncat a.fq\n\n   \n  gzip -c a.fq | gzip -dc; echo >&2 said\nhead -n 400 a.fq")
        for options in ((), ("-G", 3, "genome.fa"), ("-S", "/bin/sh", "-G", 2)):
            theirs, ours = self.run_both_noisy("jellyfish", "count", "-s", "1M", "-m", 15, "-C", "-g", "commands", *options, "-o", "{}.jf")
            self.assert_alike(ours, theirs, options)
        # Jellyfish reads commands one after the other from one pipe, and loses FASTA behind FASTQ.
        self.file("commands", "cat a.fq\ncat genome.fa\n")
        self.warpmer("jellyfish", "count", "-s", "1M", "-m", 15, "-C", "-g", "commands", "-o", "x.jf")
        counts = naive_count(self.sequences + [sequence for _, sequence in read_sequences(self.folder / "genome.fa")], 15)
        self.assertEqual(self.warpmer("jellyfish", "dump", "-c", "x.jf").count("\n"), len(counts))
        # As Windows writes it: a shell would take the carriage return for a part of the name.
        self.file("commands", b"\xef\xbb\xbf# reads\r\n\r\ncat a.fq\r\ncat genome.fa\r\n")
        self.warpmer("jellyfish", "count", "-s", "1M", "-m", 15, "-C", "-g", "commands", "-o", "windows.jf")
        self.assertEqual(self.warpmer("jellyfish", "dump", "-c", "windows.jf"), self.warpmer("jellyfish", "dump", "-c", "x.jf"))
        self.file("commands", "cat a.fq\n")
        self.run_both("jellyfish", "bc", "-m", 13, "-s", "20k", "-C", "-g", "commands", "-o", "{}.bc")
        header, digits = digits_of((self.folder / f"{OURS}.bc").read_bytes())
        self.assertEqual(digits, wanted_digits(header, naive_count(self.sequences, 13)))

    def run_both_noisy(self, *words):
        for name, is_original in ((THEIRS, True), (OURS, False)):
            process = self.run_named(*(str(word).replace("{}", name) for word in words), original=is_original)
            self.assertEqual((process.returncode, process.stderr), (0, b"said\n"), (words, name))
        return self.dumps()

    def test_generators_that_fail(self):
        count = ("jellyfish", "count", "-s", "1M", "-m", 15, "-o", "x.jf", "-g", "commands")
        for commands, pattern in (
            ("cat a.fq; exit 3\n", "exit status 3"), ("cat a.fq\ncat absent.fq 2> /dev/null\n", "'cat absent.fq .* exit status 1"),
            ("cat a.fq; kill -9 $$\n", "signal 9"), ("# nothing\n\n", "no command"), ("x" * (1 << 21), "line 1: this line is too long for a command"), ("echo nonsense\nwhile true; do cat a.fq; done\n", "FASTA"),
        ):  # fmt: skip
            self.file("commands", commands)
            self.refused_named(pattern, *count, status=1)
            self.assertNotIn("x.jf", self.files())
        self.refused_named("absent", *count[:-1], "absent", status=1)
        self.refused_named("cannot be started", *count, "-S", "/no/shell", status=1)


@unittest.skipUnless(originals("jellyfish"), "no jellyfish")
class Memory(NamesTest):
    def test_alike(self):
        sizes = [("-s", size) for size in (1, 1000, "100k", "3G")] + [("--mem", memory) for memory in (1000, "30k", "1G", "1T")] + [()]
        for k, size, options in itertools.product((1, 21, 64), sizes, (("-c", 20, "-p", 62), ("--counter-len=0", "-C", "-t", 8, "reads.fq"))):
            theirs, ours = self.run_both("jellyfish", "mem", "-m", k, *size, *options)
            self.assertEqual(ours, theirs, (k, size, options))

    def test_refusals(self):
        for words in (("-s", "1k"), ("-m", 21, "-s", "1k", "--mem", "1k"), ("-m", 21, "-s", "x"), ("-m", 21, "--no-such")):
            self.run_named("jellyfish", "mem", *words, original=True)
            self.refused_named("jellyfish mem|--?[a-z]", "jellyfish", "mem", *words)


if __name__ == "__main__":
    main()
