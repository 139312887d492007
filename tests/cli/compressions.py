#!/usr/bin/env python3
"""Inputs compressed with zstd, bzip2 and xz: every command makes the same of them as of the plain text."""

import bz2
import lzma
import random
import shutil
import subprocess

from common_cli import INPUT, CliTest, main
from common_tier import by_tier, some


def zstd(text, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=text, stdout=subprocess.PIPE, check=True).stdout


def pieces(pack, text, size):
    return b"".join(pack(text[i : i + size]) for i in range(0, len(text), size))


FORMS = {
    "bz2": bz2.compress,
    "streams.bz2": lambda text: pieces(bz2.compress, text, 50_000),
    "xz": lzma.compress,
    "streams.xz": lambda text: pieces(lzma.compress, text, 50_000),
}
if shutil.which("zstd"):
    FORMS["zst"] = zstd
    FORMS["high.zst"] = lambda text: zstd(text, "-12", "--long=24")
    FORMS["frames.zst"] = lambda text: pieces(zstd, text, 50_000)


def fastq(seed, count):
    source = random.Random(seed)
    genome = "".join(source.choice("ACGT") for _ in range(30_000))
    reads = []
    for i in range(count):
        begin = source.randrange(len(genome) - 100)
        reads.append(f"@r{i}\n{genome[begin : begin + 100]}\n+\n{'F' * 60 + ':' * 40}\n")
    return "".join(reads).encode()


class Compressions(CliTest):
    def setUp(self):
        super().setUp()
        self.text = fastq(1, 3000)
        self.file("reads.fq", self.text)
        self.count("reads.fq", output="plain.wmi")

    def test_count_in_all_ways(self):
        wanted = self.checksum("plain.wmi")
        for form, pack in FORMS.items():
            packed = pack(self.text)
            self.file(f"reads.{form}", packed)
            for options in by_tier((["-t", 1], ["-t", 2], ["-t", 4, "--device", "cpu:2"]), (["-t", 4, "--device", "cpu:2"],)):
                with self.subTest(form, options=options):
                    self.assertEqual(self.checksum(self.count(f"reads.{form}", options=options)), wanted)
            self.assertEqual(self.checksum(self.count("-", stdin=packed)), wanted)

    def test_a_file_of_several_megabytes(self):
        text = fastq(2, 20_000)
        self.file("large.fq", text)
        wanted = self.checksum(self.count("large.fq", output="large.wmi"))
        for form, pack in some(FORMS.items(), 4):
            self.file(f"large.{form}", pack(text))
            for threads in some((2, 8), 1):
                with self.subTest(form, threads=threads):
                    self.assertEqual(self.checksum(self.count(f"large.{form}", options=["-t", threads])), wanted)

    def test_other_commands_that_read_sequences(self):
        for form, pack in some(list(FORMS.items()), 2):
            with self.subTest(form):
                self.file("reads", pack(self.text))
                for command in (["query", "plain.wmi", "--reads"], ["filter", "plain.wmi", "--min-count", 3], ["qv", "plain.wmi"]):
                    self.assertEqual(self.warpmer(*command, "reads"), self.warpmer(*command, "reads.fq").replace("reads.fq", "reads"))
                self.warpmer("update", "plain.wmi", "--add", "reads", "-o", "twice.wmi")
                self.warpmer("update", "plain.wmi", "--add", "reads.fq", "-o", "wanted.wmi")
                self.assertEqual(self.checksum("twice.wmi"), self.checksum("wanted.wmi"))
                self.assertIn("distinct", self.warpmer("plan", "-k", 21, "reads"))

    def test_lists_and_tables(self):
        table = self.warpmer("dump", "plain.wmi").encode()
        kmers = b"".join(line.split(b"\t")[0] + b"\n" for line in table.splitlines())
        self.file("kmers", kmers)
        wanted = self.warpmer("query", "plain.wmi", "--kmers", "kmers")
        for form, pack in some(list(FORMS.items()), 2):
            with self.subTest(form):
                self.file("packed", pack(kmers))
                self.assertEqual(self.warpmer("query", "plain.wmi", "--kmers", "packed"), wanted)
                self.file("table", pack(table))
                self.warpmer("convert", "table", "-o", "again.wmi", "--force")
                self.assertEqual(self.checksum("again.wmi"), self.checksum("plain.wmi"))
                self.file("list", pack(b"reads.fq\n"))
                self.assertEqual(self.checksum(self.count("@list")), self.checksum("plain.wmi"))

    def test_damage(self):
        for form, pack in some(FORMS.items(), 4):
            name = {"bz2": "bzip2", "zst": "zstd", "xz": "xz"}[form.rsplit(".", 1)[-1]]
            packed = pack(self.text)
            with self.subTest(form):
                self.file("cut", packed[: len(packed) - 20])
                for options in (["-t", 1], ["-t", 4]):
                    self.refused(INPUT, f"cut: the {name} data is truncated: the file ends .*after {len(packed) - 20} bytes",
                                 "count", "-k", 21, *options, "-o", "o.wmi", "cut")
                    place = len(packed) // 2
                    self.file("bad", packed[:place] + bytes([packed[place] ^ 64]) + packed[place + 1 :])
                    self.refused(INPUT, f"bad: the {name} data is corrupt.*copy or download", "count", "-k", 21, *options, "-o", "o.wmi", "bad")
                self.file("junk", packed + b"junk, and more of it")
                self.refused(INPUT, "junk: what follows ", "count", "-k", 21, "-o", "o.wmi", "junk")
                self.file("kmers", pack(b"A" * 31 + b"\n")[:-2])
                self.refused(INPUT, f"kmers: the {name} data is truncated", "query", "plain.wmi", "--kmers", "kmers")

    def test_memory(self):
        for form in ("high.zst", "bz2", "xz"):
            if form in FORMS:
                self.file("reads", FORMS[form](self.text))
                self.assertEqual(self.checksum(self.count("reads", options=["-m", "400M", "-t", 2])), self.checksum("plain.wmi"))

    def test_too_large_a_window(self):
        if "zst" not in FORMS:
            self.skipTest("no zstd")
        repeated = (2 | (1 << 17) << 3).to_bytes(3, "little") + b"A"
        # A window of 512 MiB; blocks of 128 KiB.
        self.file("window.zst", bytes.fromhex("28b52ffd" "00" "98") + (3 << 3).to_bytes(3, "little") + b">a\n" + repeated * 80 + b"\1\0\0")
        self.refused(INPUT, r"takes more than 128 MiB of memory to decompress, in frame 1; pipe it in, as in `zstd -dc --long=31 window.zst \|",
                     "count", "-k", 21, "-o", "o.wmi", "window.zst")


if __name__ == "__main__":
    main()
