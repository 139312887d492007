#!/usr/bin/env python3
"""Called by the names of FastK's programs, and as yak, warpmer writes their files and prints their text.

An independent reader of the files is here, written from the descriptions of the formats. Where WARPMER_FASTK names a folder with
FastK's own programs, and WARPMER_YAK yak's, they run the same command lines, and results are compared.

ctest: release only (the jobs behind it are tested by their own scripts)
"""

import collections
import gzip
import math
import os
import pathlib
import random
import re
import stat
import struct
import subprocess
import tempfile
import unittest

from common_cli import DATA, DONE, USAGE, WARPMER, CliTest, canonical, file_size_limit, kmers_of, main, naive_count, read_sequences

FASTK = os.environ.get("WARPMER_FASTK", "")
YAK = os.environ.get("WARPMER_YAK", "")
LIMIT = 32767


def read_histogram(path):
    content = path.read_bytes()
    k, low, high, first, last = struct.unpack_from("<3i2q", content)
    rows = struct.unpack_from(f"<{high - low + 1}q", content, 28)
    assert len(content) == 28 + 8 * len(rows)
    return k, low, high, first, last, rows


def read_table(stub):
    """k, parts, smallest count, and (k-mer, count) in order."""
    content = stub.read_bytes()
    k, parts, least, p = struct.unpack_from("<4i", content)
    ends = struct.unpack_from(f"<{256**p}q", content, 16)
    assert len(content) == 16 + 8 * len(ends) and list(ends) == sorted(ends)
    entries, prefix = [], 0
    width = (k + 3) // 4 - p
    for number in range(1, parts + 1):
        part = (stub.parent / f".{stub.name}.{number}").read_bytes()
        part_k, n = struct.unpack_from("<iq", part)
        assert part_k == k and len(part) == 12 + n * (width + 2)
        for at in range(12, len(part), width + 2):
            while ends[prefix] <= len(entries):
                prefix += 1
            bits = prefix.to_bytes(p, "big") + part[at : at + width]
            text = "".join("ACGT"[byte >> shift & 3] for byte in bits for shift in (6, 4, 2, 0))
            assert set(text[k:]) <= {"A"}
            entries.append((text[:k], int.from_bytes(part[at + width : at + width + 2], "little")))
    assert ends[-1] == len(entries)
    return k, parts, least, entries


def read_profiles(stub):
    k, parts = struct.unpack("<2i", stub.read_bytes())
    root = stub.name.removesuffix(".prof")
    profiles = []
    for number in range(1, parts + 1):
        index = (stub.parent / f".{root}.pidx.{number}").read_bytes()
        content = (stub.parent / f".{root}.prof.{number}").read_bytes()
        part_k, first, n = struct.unpack_from("<i2q", index)
        assert part_k == k and first == len(profiles)
        begin = 0
        for end in struct.unpack_from(f"<{n}q", index, 20):
            profiles.append(unpacked(content[begin:end]))
            begin = end
        assert begin == len(content)
    return k, parts, profiles


def unpacked(content):
    counts, i = [], 0
    while i < len(content):
        byte = content[i]
        if byte & 0x80:
            bits = (byte & 0x7F) << 8 | content[i + 1]
            i += 1
            counts.append((counts[-1] + bits) % 32768 if counts else bits)
        elif not counts:
            counts.append(byte)
        elif byte & 0x40:
            step = byte & 0x1F
            counts.append(counts[-1] + (step - 32 if byte & 0x20 else step))
        else:
            counts += [counts[-1]] * byte
        i += 1
    return counts


class NamesTest(CliTest):
    def setUp(self):
        super().setUp()
        for name, reads in (("a.fastq", "reads_1.fq.gz"), ("b.fastq", "reads_2.fq.gz")):
            self.file(name, gzip.decompress((DATA / reads).read_bytes()))
        self.file("n.fasta", ">a\nACGTACGTACGTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTNACGTACGTACGTACGT\n>b\nACG\n>c\nACGTACGTACGTTTTTTTTTTTTTTTTTTT\n")
        self.file("many.fasta", ">a\n" + "A" * 40000 + "\n>b\nACGTACGTACGTACGATTTTTTACGACGGACTAC\n")

    def named(self, *words, status=DONE, stdin=b""):
        process = subprocess.run([WARPMER, *map(str, words)], capture_output=True, cwd=self.folder, check=False, input=stdin,
                                 env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual(process.returncode, status, (words, process.stderr))
        self.error = process.stderr.decode()
        return process.stdout.decode()

    def sequences(self, *names):
        return [sequence for name in names for _, sequence in read_sequences(self.folder / name)]


class Fastk(NamesTest):
    def check(self, options, inputs, k, least, changed=lambda text: text, root=None, parts=4):
        sequences = [changed(sequence) for sequence in self.sequences(*inputs)]
        counts = naive_count(sequences, k)
        root = root or pathlib.Path(inputs[0]).stem
        found = read_histogram(self.folder / f"{root}.hist")
        self.assertEqual(found[:3], (k, 1, LIMIT))
        rows = collections.Counter(min(count, LIMIT) for count in counts.values())
        self.assertEqual(found[3:5], (rows[1], sum(count for count in counts.values() if count >= LIMIT)))
        self.assertEqual(found[5], tuple(rows[count] for count in range(1, LIMIT + 1)))
        if least:
            table = read_table(self.folder / f"{root}.ktab")
            self.assertEqual(table[:3], (k, parts, least))
            self.assertEqual(table[3], [(kmer, min(n, LIMIT)) for kmer, n in sorted(counts.items()) if n >= least])
        if "-p" in " ".join(options):
            found_k, found_parts, profiles = read_profiles(self.folder / f"{root}.prof")
            self.assertEqual((found_k, found_parts), (k, parts))
            wanted = [[min(counts[canonical(kmer)], LIMIT) if kmer else 0 for kmer in kmers_of(each, k)] for each in sequences]
            self.assertEqual(profiles, wanted)

    def test_counts(self):
        for options, inputs, k, least in (
            ((), ("a.fastq",), 40, 0), (("-k21", "-t"), ("a.fastq",), 21, 1), (("-k17", "-t4", "-v"), ("a.fastq", "b.fastq"), 17, 4),
            (("-k7", "-t1", "-p"), ("n.fasta",), 7, 1), (("-k21", "-tp", "-M2", "-P."), ("a.fastq",), 21, 1), (("-k15", "-t1", "-p"), ("many.fasta",), 15, 1),
            (("-vpt", "-k33"), ("b.fastq",), 33, 1),
        ):  # fmt: skip
            with self.subTest(options=options, inputs=inputs):
                self.assertEqual(self.named("FastK", *options, *inputs), "")
                self.check(options, inputs, k, least)
                self.named("Fastrm", pathlib.Path(inputs[0]).stem)
                self.assertFalse([name for name in self.files() if name.startswith(".") or name.endswith((".hist", ".ktab", ".prof"))])

    def test_outputs(self):
        self.named("FastK", "-k9", "-t2", "-T3", "-p", "-Nx.y", "a")
        self.check(("-p",), ("a.fastq",), 9, 2, root="x.y", parts=3)
        self.named("FastK", "-k9", "-t1", "-T1", "-Nz", "a.fastq")
        self.check((), ("a.fastq",), 9, 1, root="z", parts=1)
        self.named("FastK", "-k15", "-t1", "-Nm", "many.fasta")
        self.assertIn("1 k-mer occurs more than 32767 times and stands in m.ktab with that count\n", self.error)

    def test_endings_of_sources(self):
        """Those of plain text come first, and a name without one last."""
        self.file("a", ">r\nACGTACGT\n")
        (self.folder / "b").mkdir()
        self.file("b.fq.gz", gzip.compress(b">r\nACGTACGT\n"))
        self.file("c.x", ">r\nACCTACCTGG\n")
        for source, read, root in (("a", "a.fastq", "a"), ("b", "b.fastq", "b"), ("c.x", "c.x", "c.x")):
            self.named("FastK", "-k7", "-t1", source)
            self.check((), (read,), 7, 1, root=root)

    def test_names_that_end_like_a_table(self):
        self.named("FastK", "-k9", "-t1", "-Nx", "a.fastq")
        self.named("FastK", "-k9", "-t1", "-p", "-Nx.ktab", "b.fastq")
        self.named("FastK", "-k9", "-p", "-Nx.prof", "b.fastq")
        self.check((), ("a.fastq",), 9, 1, root="x")
        self.check(("-p",), ("b.fastq",), 9, 1, root="x.ktab")
        self.check(("-p",), ("b.fastq",), 9, 0, root="x.prof")

    def test_parts_of_before(self):
        self.named("FastK", "-k9", "-t1", "-p", "-T5", "-Nx", "a.fastq")
        self.named("FastK", "-k9", "-t1", "-p", "-T2", "-Nx", "a.fastq")
        self.check(("-p",), ("a.fastq",), 9, 1, root="x", parts=2)
        self.assertEqual([name for name in self.files() if name.startswith(".x.")], [f".x.{ending}.{i}" for ending in ("ktab", "pidx", "prof") for i in (1, 2)])

    def test_changed_sequences(self):
        def compressed(text):
            return "".join(base for i, base in enumerate(text) if i == 0 or text[i - 1] != base)

        self.named("FastK", "-k13", "-t1", "-c", "-p", "a.fastq")
        self.check(("-p",), ("a.fastq",), 13, 1, compressed)
        self.named("FastK", "-k13", "-t1", "-bc5", "-p", "a.fastq")
        self.check(("-p",), ("a.fastq",), 13, 1, lambda text: text[5:])

    def test_long_sequences(self):
        """Some that come in several pieces, with runs of a base and of counts where these are cut."""
        unit = "".join(random.Random(3).choices("ACGT", k=700)) + "A" * 130 + "N" * 20 + "C" * 150
        bases = unit * 1150  # more than a mebibyte
        self.file("long.fasta", f">short\n{unit}\n>long\n{bases}\n>last\nACGTACGTACGTACGTA\n")
        self.named("FastK", "-k13", "-t1", "-p", "long.fasta")
        self.check(("-p",), ("long.fasta",), 13, 1)
        content = (self.folder / ".long.prof.1").read_bytes() + (self.folder / ".long.prof.2").read_bytes()
        self.assertIn(bytes([63, 63]), content)
        ignored = len(re.sub(r"(.)\1+", r"\1", bases)) - 3000  # FastK leaves out bases of what it has compressed
        self.named("FastK", "-k13", "-t1", "-p", "-c", f"-bc{ignored}", "long.fasta")
        self.check(("-p",), ("long.fasta",), 13, 1, lambda text: re.sub(r"(.)\1+", r"\1", text)[ignored:])
        self.named("kmc", "-hc", "-fm", "-k13", "-ci1", "-cs10000", "long.fasta", "x", ".")
        self.named("kmc_dump", "x", "x.txt")
        counts = naive_count([re.sub(r"(.)\1+", r"\1", text) for text in self.sequences("long.fasta")], 13)
        self.assertEqual(dict(line.split("\t") for line in (self.folder / "x.txt").read_text().splitlines()), {kmer: str(n) for kmer, n in counts.items()})

    def test_relative_profiles(self):
        self.named("FastK", "-k21", "-t2", "a.fastq")
        self.named("FastK", "-k21", "-p:a", "-Nr", "b.fastq")
        self.assertFalse((self.folder / "r.hist").exists())
        counts = {kmer: min(n, LIMIT) for kmer, n in naive_count(self.sequences("a.fastq"), 21).items() if n >= 2}
        wanted = [[counts.get(canonical(kmer), 0) if kmer else 0 for kmer in kmers_of(each, 21)] for each in self.sequences("b.fastq")]
        self.assertEqual(read_profiles(self.folder / "r.prof")[2], wanted)
        (self.folder / "a").mkdir()  # a folder for each sample, as many have
        self.named("FastK", "-k21", "-p:a", "-Ns", "b.fastq")
        self.assertEqual(read_profiles(self.folder / "s.prof")[2], wanted)
        self.assertIn("21-mers", (self.named("FastK", "-k20", "-p:a", "-Nr", "b.fastq", status=USAGE), self.error)[1])

    def test_files(self):
        self.named("FastK", "-k9", "-t1", "-p", "-T2", "a.fastq")
        before = {name: (self.folder / name).read_bytes() for name in self.files() if name.startswith((".a.", "a.")) and name != "a.fastq"}
        self.assertEqual(len(before), 3 + 2 + 4)
        self.named("Fastcp", "a", "c")
        self.named("Fastmv", "a", "d")
        for root in ("c", "d"):
            for name, content in before.items():
                self.assertEqual((self.folder / (name.replace("a.", f"{root}.", 1))).read_bytes(), content)
        self.assertFalse([name for name in self.files() if name.startswith((".a.", "a.")) and name != "a.fastq"])
        (self.folder / "sub").mkdir()
        self.named("Fastmv", "c.hist", "d.ktab", "sub")
        self.assertEqual(sorted(os.listdir(self.folder / "sub")), [".d.ktab.1", ".d.ktab.2", "c.hist", "d.ktab"])
        self.named("Fastcp", "-n", "sub/d.ktab", "c.ktab")
        self.assertEqual((self.folder / "c.ktab").read_bytes(), before["a.ktab"])
        self.named("Fastrm", "-i", "c", stdin=b"y\nn\n")
        self.assertTrue((self.folder / "c.prof").exists())
        self.named("Fastrm", "c", "d", "nothing")
        self.assertIn("no FastK output files with root nothing", self.error)
        self.named("Fastrm", "-f", "nothing")
        self.assertEqual(self.error, "")
        self.named("Fastmv", "nothing", "x", status=1)
        self.named("Fastmv", "a", status=USAGE)

    def test_two_sources_of_one_name(self):
        """The second would replace the first, which -n and -i could not see."""
        for folder in ("x", "y", "there"):
            (self.folder / folder).mkdir()
        self.named("FastK", "-k9", "-t1", "-T2", "-Nx/a", "a.fastq")
        self.named("FastK", "-k9", "-t1", "-T1", "-Ny/a", "b.fastq")
        before = {name: sorted(os.listdir(self.folder / name)) for name in "xy"}
        for words in (("Fastcp", "x/a", "y/a"), ("Fastcp", "-n", "x/a", "y/a"), ("Fastcp", "-f", "x/a", "y/a.ktab"), ("Fastmv", "x/a", "y/a")):
            self.named(*words, "there", status=USAGE)
            self.assertRegex(self.error, rf"{words[0]}: x/a.(hist|ktab) and y/a.\1 would both become there/a.\1; give them one after the other\n\Z")
            self.assertEqual({name: sorted(os.listdir(self.folder / name)) for name in "xy"}, before)
            self.assertEqual(os.listdir(self.folder / "there"), [])
        self.named("Fastmv", "x/a.hist", "y/a.ktab", "there")
        self.assertEqual(sorted(os.listdir(self.folder / "there")), [".a.ktab.1", "a.hist", "a.ktab"])

    def test_copies_have_their_names_when_all_are_complete(self):
        self.file("a.fasta", ">a\n" + "".join(random.Random(7).choices("ACGT", k=300000)) + "\n")
        self.named("FastK", "-k21", "-t1", "-T2", "a.fasta")
        self.named("FastK", "-k9", "-t1", "-T2", "-Ny", "n.fasta")
        (self.folder / ".a.ktab.1").chmod(0o640)
        content = {name: (self.folder / name).read_bytes() for name in self.files()}
        most = len(content["a.hist"]) + 1000
        self.assertGreater(len(content[".a.ktab.1"]), most)
        for target in ("x", "y"):
            process = subprocess.run([WARPMER, "Fastcp", "a", target], capture_output=True, cwd=self.folder, check=False, preexec_fn=lambda: file_size_limit(most))
            self.assertEqual(process.returncode, 1)
            self.assertRegex(process.stderr.decode(), rf"\Awarpmer: error: [^\n]*'.{target}.ktab.[12]'[^\n]*ulimit[^\n]*\n\Z")
            self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, content)
        self.named("Fastcp", "a", "./a", status=USAGE)
        self.named("Fastcp", "a", "x")
        self.assertEqual(stat.S_IMODE((self.folder / ".x.ktab.1").stat().st_mode), 0o640)
        other_system = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.TemporaryDirectory(dir=other_system) as other:
            self.named("Fastmv", "a", f"{other}/b")
            self.assertFalse([name for name in self.files() if name.startswith((".a.", "a.")) and name not in ("a.fasta", "a.fastq")])
            self.assertEqual({name.replace("b", "a", 1): (pathlib.Path(other) / name).read_bytes() for name in os.listdir(other)},
                             {name: each for name, each in content.items() if name in ("a.hist", "a.ktab", ".a.ktab.1", ".a.ktab.2")})

    def test_folders_that_cannot_be_listed(self):
        self.named("FastK", "-k9", "-t1", "-T2", "a.fastq")
        other = self.folder / "other"
        other.mkdir()
        other.chmod(0o777)
        self.folder.chmod(0o311)
        self.addCleanup(self.folder.chmod, 0o700)
        for words in (("Fastmv", "a.ktab", "other/b"), ("Fastcp", "a.ktab", "other/b"), ("Fastrm", "a.ktab")):
            try:
                process = subprocess.run([WARPMER, *words], capture_output=True, cwd=self.folder, check=False, user=65534 if os.geteuid() == 0 else None)
            except PermissionError:
                self.skipTest("another user may not run this program")
            self.assertEqual(process.returncode, 1, words)
            self.assertIn(f"{words[0]}: .: Permission denied".encode(), process.stderr)
            self.assertEqual(os.listdir(other), [])
        self.folder.chmod(0o700)
        self.assertTrue((self.folder / "a.ktab").exists())

    def test_merge(self):
        """As the files together. Fastmerge itself writes the first k-mer of these twice."""
        for root in "ab":
            self.named("FastK", "-k21", "-t1", f"{root}.fastq")
        self.named("FastK", "-k21", "-t1", "-Nwanted", "a.fastq", "b.fastq")
        self.named("Fastmerge", "-ht", "-T2", "m", "a", "b.ktab")
        self.assertEqual(read_table(self.folder / "m.ktab")[3], read_table(self.folder / "wanted.ktab")[3])
        self.assertEqual(read_histogram(self.folder / "m.hist"), read_histogram(self.folder / "wanted.hist"))
        self.named("Fastmerge", "-t", "m.ktab", "a", "b", status=USAGE)
        self.named("Fastmerge", "m", "a", "b", status=USAGE)

    def test_text(self):
        self.named("FastK", "-k21", "-t2", "a.fastq")
        counts = naive_count(self.sequences("a.fastq"), 21)
        kept = [(kmer.lower(), n) for kmer, n in sorted(counts.items()) if n >= 2]
        self.assertEqual(self.named("Tabex", "-A", "a"), "".join(f"{kmer}\t{n}\n" for kmer, n in kept))
        head = f"Opening 21-mer table with {len(kept):,} entries occuring 2-or-more times\n"
        rows = [f" {i:9}: {kmer} = {n:5}\n" for i, (kmer, n) in enumerate(kept)]
        self.assertEqual(self.named("Tabex", "a.ktab"), head + "".join(rows))
        self.assertEqual(self.named("Tabex", "a", "5-7"), head + "".join(rows[5:8]))
        self.assertEqual(self.named("Tabex", "a", "acg"), head + "".join(row for row in rows if row[12:].startswith("acg")))
        self.assertEqual(self.named("Tabex", "a", "5-"), head + "".join(rows[5:]))
        self.assertEqual(self.named("Tabex", "a", "acg-"), head + "".join(row for row in rows if row[12:] >= "acg"))
        self.assertEqual(self.named("Tabex", "-C", "a"), "\nTable is OK\n")
        self.assertEqual(self.named("Tabex", "a", "acgtacgtacgtacgtacgta"), "\nNothing found in range given !\n")
        histogram = collections.Counter(counts.values())
        self.assertEqual(self.named("Histex", "-A", "-h9", "a"), "".join(
            f"{n}\t{kmers}\n" for n in range(1, 10) if (kmers := histogram[n] if n < 9 else sum(h for c, h in histogram.items() if c >= 9))))

    def test_failures(self):
        self.named("FastK", "-k9", "-t1", "a.fastq")
        for words, status in (
            (("FastK",), USAGE), (("FastK", "-k0", "a"), USAGE), (("FastK", "-x", "a"), USAGE), (("FastK", "-tz", "a"), USAGE), (("FastK", "absent"), 1),
            (("FastK", "-Pabsent", "a"), 1), (("FastK", "-p:absent", "a"), 1), (("FastK", "x.db"), USAGE), (("FastK", "-Nno/x", "a"), 1),
            (("Histex",), USAGE), (("Histex", "absent"), 1), (("Histex", "-1", "a"), USAGE), (("Histex", "-h5:2", "a"), USAGE), (("Tabex",), USAGE),
            (("Tabex", "absent"), 1), (("Tabex", "-C", "-A", "a"), USAGE), (("Tabex", "a", "99999999"), USAGE), (("Tabex", "a", "xyz"), USAGE),
            (("Tabex", "-1", "a"), USAGE), (("Fastmerge", "-t", "m", "a", "absent"), 1), (("yak", "qv", "x"), USAGE), (("yak", "count"), USAGE),
            (("yak", "count", "-k32", "a.fastq"), USAGE), (("yak", "inspect", "absent"), 1), (("yak", "inspect", "a.ktab"), 1), (("Fastrm",), USAGE),
        ):  # fmt: skip
            with self.subTest(words):
                before = self.files()
                self.named(*words, status=status)
                if words != ("yak", "count"):
                    self.assertRegex(self.error, r"\Awarpmer: error: [^\n]+\n\Z")
                self.assertEqual(self.files(), before)
        (self.folder / ".a.ktab.2").unlink()
        self.named("Tabex", "a", status=1)
        self.assertIn(".a.ktab.2' is not there", self.error)

    def test_help(self):
        for name in ("FastK", "Histex", "Tabex", "Fastmerge", "Fastrm", "Fastmv", "Fastcp"):
            self.assertTrue(self.named(name, "--help").startswith(f"Usage: {name}"))


class Yak(NamesTest):
    def entries(self, name):
        """The counts that a file has, by warpmer."""
        self.warpmer("convert", "-q", name, "-o", "y.wmi")
        return dict(line.split("\t") for line in self.warpmer("dump", "y.wmi").splitlines())

    def test_count_and_inspect(self):
        counts = naive_count(self.sequences("a.fastq"), 21)
        capped = {kmer: min(n, 1023) for kmer, n in counts.items()}
        self.assertEqual(self.named("yak", "count", "-k21", "-t2", "-K1m", "-o", "x.yak", "a.fastq"), "")
        self.assertEqual(self.entries("x.yak"), {kmer: str(n) for kmer, n in capped.items()})
        rows, total = [], 0
        histogram = collections.Counter(capped.values())
        for n in range(1023, -1, -1):
            total += histogram[n]
            if total:
                rows.append(f"HS\t{n}\t0\t{histogram[n]}\t{total}\n")
        self.assertEqual(self.named("yak", "inspect", "x.yak"), "".join(rows))

    def test_bloom_filter(self):
        counts = [naive_count(self.sequences(name), 15) for name in ("a.fastq", "b.fastq")]
        self.named("yak", "count", "-b", 30, "-k", 15, "-o", "x.yak", "a.fastq")
        self.assertEqual(self.entries("x.yak"), {kmer: str(min(n, 1023)) for kmer, n in counts[0].items() if n > 1})
        self.named("yak", "count", "-b30", "-k15", "-o", "x.yak", "a.fastq", "b.fastq")
        both = {kmer: min(n, 1023) for kmer, n in counts[1].items() if n > 1 and counts[0][kmer] > 1}
        self.assertEqual(self.entries("x.yak"), {kmer: str(n) for kmer, n in both.items()})

    def test_inspect_of_two(self):
        """By its description; yak itself looks k-mers up under other hashes, and finds none. With that mended its text is the same."""
        self.assembly()
        self.named("yak", "count", "-k21", "-o", "asm.yak", "asm.fa")
        reads, assembly = ({kmer: min(n, 1023) for kmer, n in naive_count(self.sequences(name), 21).items()} for name in ("reads.fa", "asm.fa"))
        for first, second, names, options in ((assembly, reads, ("asm.yak", "reads.yak"), ()), (reads, assembly, ("reads.yak", "asm.yak"), ("-m", "3"))):
            rows = [line.split("\t") for line in self.named("yak", "inspect", *options, *names).splitlines()]
            most = int(options[1]) if options else 20
            counts = sorted(set(first.values()), reverse=True)
            of_first, of_second = (collections.Counter(each.values()) for each in (first, second))
            sensitivity, qualities = [], []
            for count in counts:
                found = [second.get(kmer, 0) for kmer, n in first.items() if n >= count]
                shares = [f"{sum(n >= other for n in found) / len(found):.4f}" for other in range(1, most + 1)]
                sensitivity.append(["SN", str(count), str(of_first[count]), str(of_second[count]), *shares])
                missing = found.count(0)
                if count <= most and 0 < missing < len(found):
                    quality = -10 * math.log10(math.log(len(found) / (len(found) - missing)) / 21)
                    qualities.append(["QV", str(count), str(len(found)), str(missing), f"{quality:.3f}"])
            self.assertEqual([row for row in rows if row[0] == "SN"], sensitivity)
            self.assertTrue(qualities)
            self.assertEqual([row[:5] for row in rows if row[0] == "QV" and 0 < int(row[3]) < int(row[2])], qualities)
        self.named("yak", "count", "-k15", "-o", "other.yak", "asm.fa")
        for words in (("reads.yak", "other.yak"), ("asm.yak",) * 3, ("-m", "0", "asm.yak", "reads.yak"), ("-m", "1024", "asm.yak", "reads.yak")):
            self.named("yak", "inspect", *words, status=USAGE)
            self.assertRegex(self.error, r"\Awarpmer: error: [^\n]+\n\Z")
        self.named("yak", "inspect", "asm.yak", "absent", status=1)

    def assembly(self):
        """A genome, reads of it (30 times, with an error in a hundred bases), and an assembly with an error in a thousand."""
        dice = random.Random(7)

        def changed(text, every):
            return "".join(dice.choice("ACGT") if dice.randrange(every) == 0 else base for base in text)

        genome = "".join(dice.choice("ACGT") for _ in range(30000))
        starts = [dice.randrange(len(genome) - 150) for _ in range(6000)]
        self.file("reads.fa", "".join(f">r{i}\n{changed(genome[at:at + 150], 100)}\n" for i, at in enumerate(starts)))
        contigs = [changed(genome[at : at + 10000], 1000) for at in range(0, 30000, 10000)] + ["ACGT" * 20, "AC"]
        self.file("asm.fa", "".join(f">c{i} x\n{contig}\n" for i, contig in enumerate(contigs)))
        self.named("yak", "count", "-k21", "-o", "reads.yak", "reads.fa")
        return contigs

    def test_quality(self):
        contigs = self.assembly()
        counts = {kmer: min(n, 1023) for kmer, n in naive_count(self.sequences("reads.fa"), 21).items()}
        rows = [line.split("\t") for line in self.named("yak", "qv", "-p", "-E", "reads.yak", "asm.fa").splitlines()]
        found = [[counts.get(canonical(kmer), 0) for kmer in kmers_of(contig, 21)] for contig in contigs]
        self.assertEqual([row[1:5] for row in rows if row[0] == "SQ"],
                         [[f"c{i}", str(len(contigs[i])), str(len(each)), str(len(each) - each.count(0))] for i, each in enumerate(found)])
        self.assertEqual([row[1:] for row in rows if row[0] == "EK"],
                         [[f"c{i}", str(at)] for i, each in enumerate(found) for at, count in enumerate(each) if count == 0])
        kept = [count for each in found if len(each) - each.count(0) >= 0.5 * len(each) for count in each]
        histogram, of_reads = collections.Counter(kept), collections.Counter(counts.values())
        self.assertEqual([row[1:4] for row in rows if row[0] == "CT"],
                         [[str(n), str(of_reads[n]), str(histogram[n])] for n in range(1023, -1, -1)])
        (raw, adjusted), = [row[1:] for row in rows if row[0] == "QV"]
        self.assertEqual(raw, f"{-10 * math.log10(math.log(len(kept) / (len(kept) - histogram[0])) / 21):.3f}")
        self.assertLess(abs(float(adjusted) - 30), 2)  # an error in a thousand, and a quarter of these is none
        long = self.named("yak", "qv", "-p", "-l", 1000, "reads.yak", "asm.fa")
        for least in ("-l1k", "-l0.001M", "-l1e3"):
            self.assertEqual(self.named("yak", "qv", "-p", least, "reads.yak", "asm.fa"), long)
        self.assertNotEqual(self.named("yak", "qv", "-p", "-l50", "reads.yak", "asm.fa"), long)
        for option in ("-f", "-e", "-l"):
            for value in ("1e400", "nan", "-1", "0x1", "", "1kk", "k"):
                self.named("yak", "qv", option, value, "reads.yak", "asm.fa", status=USAGE)

    def test_quality_of_long_sequences(self):
        """One that comes in several pieces, and repeats itself, so that it is known where k-mers are not found."""
        unit, copies = self.assembly()[0][:900], 2500
        counts = naive_count(self.sequences("reads.fa"), 21)
        missing = [at for at, kmer in enumerate(kmers_of(unit + unit[:20], 21)) if canonical(kmer) not in counts]
        bases = copies * len(unit)
        self.file("long.fa", f">long\n{unit * copies}\n>short\n{unit}\n")
        expected = [at + copy * len(unit) for copy in range(copies) for at in missing if at + copy * len(unit) + 21 <= bases]
        rows = [line.split("\t") for line in self.named("yak", "qv", "-p", "-E", "-l", 2_000_000, "reads.yak", "long.fa").splitlines()]
        self.assertEqual([row[1:] for row in rows if row[0] == "EK"], [["long", str(at)] for at in expected])
        self.assertEqual([row[1:5] for row in rows if row[0] == "SQ"],
                         [["long", str(bases), str(bases - 20), str(bases - 20 - len(expected))]])

    @unittest.skipUnless(YAK, "WARPMER_YAK names no yak")
    def test_quality_as_of_yak(self):
        self.assembly()
        for options in ((), ("-p",), ("-E",), ("-l", "9999"), ("-f0.1", "-e", "0.001"), ("-p", "-l100")):
            texts = [subprocess.run([*program, "qv", "-t1", *options, "reads.yak", "asm.fa"], cwd=self.folder, check=True, capture_output=True).stdout
                     for program in ((YAK,), (WARPMER, "yak"))]
            self.assertEqual(*texts)

    @unittest.skipUnless(YAK, "WARPMER_YAK names no yak")
    def test_against_yak(self):
        for options in (("-k21",), ("-k31",), ("-k15", "-b30")):
            for program, name in (((YAK,), "theirs.yak"), ((WARPMER, "yak"), "ours.yak")):
                subprocess.run([*program, "count", *options, "-o", name, "a.fastq"], cwd=self.folder, check=True, capture_output=True)
            self.assertEqual(self.entries("ours.yak"), self.entries("theirs.yak"))
            texts = [subprocess.run([*program, "inspect", name], cwd=self.folder, check=True, capture_output=True).stdout
                     for program in ((YAK,), (WARPMER, "yak")) for name in ("theirs.yak", "ours.yak")]
            self.assertEqual(len(set(texts)), 1)


@unittest.skipUnless(FASTK, "WARPMER_FASTK names no folder with FastK's programs")
class AgainstFastk(NamesTest):
    def run_both(self, *words):
        """The text of both programs."""
        environment = {**os.environ, "TMPDIR": str(self.folder), "PATH": f"{FASTK}:{os.environ['PATH']}"}
        return [subprocess.run([*program, *map(str, words[1:])], capture_output=True, cwd=self.folder, env=environment, check=False)
                for program in ((f"{FASTK}/{words[0]}",), (WARPMER, words[0]))]

    def test_files(self):
        for options, name in (
            (("-k40", "-t1"), "a.fastq"), (("-k21", "-t4"), "a.fastq"), (("-k7", "-t1", "-p"), "n.fasta"), (("-k21", "-t1", "-p", "-T2"), "b.fastq"),
            (("-k15", "-t1", "-p"), "many.fasta"), (("-k13", "-t1", "-c", "-p"), "a.fastq"), (("-k13", "-t1", "-bc5"), "a.fastq"),
        ):  # fmt: skip
            with self.subTest(options=options, name=name):
                self.run_both("FastK", *options, "-Ntheirs", name)[0].check_returncode()
                subprocess.run([f"{FASTK}/FastK", *options, "-Ntheirs", name], cwd=self.folder, check=True, capture_output=True)
                self.named("FastK", *options, "-Nours", name)
                self.assertEqual((self.folder / "ours.hist").read_bytes(), (self.folder / "theirs.hist").read_bytes())
                theirs, ours = (read_table(self.folder / f"{root}.ktab") for root in ("theirs", "ours"))
                self.assertEqual(ours, theirs)
                if "-p" in options:
                    # Of little input FastK makes fewer parts than it has threads.
                    self.assertEqual(*(read_profiles(self.folder / f"{root}.prof")[2] for root in ("ours", "theirs")))
                for words in (("Tabex",), ("Tabex", "-A"), ("Tabex", "-t3"), ("Tabex", "-C")):
                    their_text, our_text = self.run_both(*words, "ours")
                    self.assertEqual(our_text.stdout, their_text.stdout, words)

    def test_text(self):
        self.named("FastK", "-k21", "-t2", "a.fastq")
        self.named("FastK", "-k15", "-t1", "many.fasta")
        for root in ("a", "many"):
            for words in (
                ("Histex",), ("Histex", "-k"), ("Histex", "-h20"), ("Histex", "-h5:30"), ("Histex", "-k", "-h5:30"), ("Histex", "-A"), ("Histex", "-A", "-k"),
                ("Histex", "-G"), ("Histex", "-G", "-h2000"), ("Histex", "-h32767"), ("Histex", "-kA", "-h3:9"),
            ):  # fmt: skip
                with self.subTest(words=words, root=root):
                    theirs, ours = self.run_both(*words, f"{root}.hist")
                    self.assertEqual((ours.returncode, ours.stdout), (theirs.returncode, theirs.stdout))
            for address in ("0", "3-8", "acg", "ac-ag", "t", "ttt-ttt", "5-acg", "A"):
                with self.subTest(address=address, root=root):
                    theirs, ours = self.run_both("Tabex", f"{root}.ktab", address)
                    self.assertEqual((ours.returncode, ours.stdout), (theirs.returncode, theirs.stdout))


if __name__ == "__main__":
    main()
