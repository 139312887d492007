#!/usr/bin/env python3
"""What count, histo, dump, query, stats and info say, against a naive counter.

ctest: one thread (its threads are those of cli/query_reads, cli/streams and cli/update)
"""

import collections
import gzip
import itertools
import json
import random
import resource
import shutil
import subprocess
import unittest

from common_cli import (
    DATA,
    INPUT,
    NOTHING_FOUND,
    RESOURCE,
    WARPMER,
    CliTest,
    canonical,
    fasta,
    main,
    naive_count,
    read_sequences,
    reverse_complement,
)
from common_tier import FULL, some
from read_wmi import Shape, read_index, reads_around_a_minimizer, shard_groups

FILES = ("forty.fa", "reads_1.fq.gz", "iupac.fa", "low_complexity.fa", "palindromes.fa", "short.fa", "lower_case.fq")


def gamma_bits(number):
    return 2 * number.bit_length() - 1


def kmer_bytes(path):
    """(bytes of the bases, of the counts) of an index, by what its page says that they take."""
    index = read_index(path)
    bases = counts = 0
    shape = Shape(index.k, index.m, index.k - index.m, 2 * index.m - index.shard_bits, bool(index.canonical))
    length_bits = ((shape.n + 1) * (shape.n + 2) // 2).bit_length()
    for shard in index.shards:
        if index.k <= 12:
            bases += shard.entries * (2 * index.k - shard.bucket_bits)
            exception_bits = max(shard.entries - 1, 0).bit_length() + shard.exception_bits
            counts += shard.entries * shard.count_bits + shard.exceptions * exception_bits
        elif shard.kmers > 0:
            for string in itertools.chain.from_iterable(shard_groups(shard, shape).values()):
                smallest = min(string.counts)
                width = (max(string.counts) - smallest).bit_length()
                bases += length_bits + 2 * (len(string.left) + len(string.right))
                counts += gamma_bits(width + 1) + gamma_bits(smallest) + width * len(string.counts)
    return bases / 8, counts / 8


class Counting(CliTest):
    def test_dump_equals_the_naive_counts(self):
        for name in some(FILES, 5):
            sequences = [sequence for _, sequence in read_sequences(DATA / name)]
            for k in some((13, 64, 33, 21, 4, 1, 32), 3):
                for options in some(([], ["--forward"])):
                    expected = naive_count(sequences, k, forward=bool(options))
                    with self.subTest(name, k=k, options=options):
                        warned = [] if expected else ["-q"]  # of no k-mers
                        self.assertEqual(self.dump(self.count(DATA / name, k=k, options=options + warned)), expected)

    def test_k_is_31_unless_given(self):
        self.warpmer("count", "-o", "out.wmi", DATA / "forty.fa")
        self.assertEqual(json.loads(self.warpmer("info", "--json", "out.wmi"))["params"]["k"], 31)

    def test_filters(self):
        sequences = [sequence for _, sequence in read_sequences(DATA / "reads_1.fq.gz")]
        expected = naive_count(sequences, 21)
        everything = self.count(DATA / "reads_1.fq.gz", k=21, output="all.wmi")
        for low, high in ((2, None), (None, 3), (2, 2), (5, 40), (100000, None)):
            options = [] if low is None else ["--min-count", low]
            options += [] if high is None else ["--max-count", high]
            kept = {kmer: n for kmer, n in expected.items() if (low or 1) <= n <= (high or n)}
            self.assertEqual(self.dump(self.count(DATA / "reads_1.fq.gz", k=21, options=[*options, *([] if kept else ["-q"])])), kept)
            self.assertEqual(self.dump(everything, *options), kept)

    def test_several_inputs_add_up_in_any_order(self):
        names = ["forty.fa", "short.fa", "reads_2.fq.gz"]
        sequences = [s for name in names for _, s in read_sequences(DATA / name)]
        expected = naive_count(sequences, 17)
        checksums = set()
        for order in (names, names[::-1]):
            index = self.count(*[DATA / name for name in order], k=17)
            self.assertEqual(self.dump(index), expected)
            checksums.add(json.loads(self.warpmer("info", "--json", index))["content_checksum"])
        self.assertEqual(len(checksums), 1)

    def test_base_quality(self):
        self.file("q.fq", "@r\nACGTACGTAC\n+\nIIIII5IIII\n")  # 5 is quality 20
        self.assertEqual(self.dump(self.count("q.fq", k=4, options=["--min-base-quality", "20"])), naive_count(["ACGTACGTAC"], 4))
        self.assertEqual(self.dump(self.count("q.fq", k=4, options=["--min-base-quality", "21"])), naive_count(["ACGTANGTAC"], 4))


class IndexOfAReference(CliTest):
    """htslib wants one beside the FASTA that a CRAM file was made with."""

    def setUp(self):
        super().setUp()
        shutil.copy(DATA / "genome.fa", self.folder / "ref.fa")
        self.counting = ("count", "--reference", "ref.fa", "-o", "x.wmi", DATA / "aligned.cram")

    def test_it_is_made_whole_and_then_used(self):
        self.warpmer(*self.counting)
        made = (self.folder / "ref.fa.fai").read_text().splitlines()
        names = [line[1:].split()[0] for line in (DATA / "genome.fa").read_text().splitlines() if line.startswith(">")]
        self.assertEqual([line.split("\t")[0] for line in made], names)
        self.assertEqual(self.files(), ["ref.fa", "ref.fa.fai", "x.wmi"])
        counts = self.dump("x.wmi")
        self.warpmer(*self.counting)
        self.assertEqual(self.dump("x.wmi"), counts)

    def test_one_that_is_not_there(self):
        """It is said where no input is CRAM, too, and before anything is read."""
        for inputs in ((DATA / "aligned.cram",), ("no.fq",), (DATA / "reads_1.fq.gz",)):
            self.refused(INPUT, "no.fa: cannot be opened: No such file", "count", "--reference", "no.fa", "-o", "x.wmi", *inputs)

    @unittest.skipUnless(shutil.which("bgzip"), "no bgzip")
    def test_that_of_a_compressed_one(self):
        self.warpmer(*self.counting)
        subprocess.run(["bgzip", "ref.fa"], cwd=self.folder, check=True)
        self.warpmer(*["ref.fa.gz" if word == "ref.fa" else "y.wmi" if word == "x.wmi" else word for word in self.counting])
        self.assertEqual(self.content("y.wmi"), self.content("x.wmi"))
        self.assertEqual(self.files(), ["ref.fa.fai", "ref.fa.gz", "ref.fa.gz.fai", "ref.fa.gz.gzi", "x.wmi", "y.wmi"])

    def test_one_that_is_not_its_own(self):
        self.file("ref.fa.fai", "another\t1000\t9\t60\t61\n")
        self.refused(INPUT, "or ref.fa.fai, beside it, is not its index", *self.counting)

    def test_containers_that_are_damaged(self):
        """With threads, htslib takes a damaged header for the end of the file. It checks compressed blocks alone."""
        content = (DATA / "aligned.cram").read_bytes()
        self.warpmer(*self.counting)  # makes ref.fa.fai
        headers = ((1457, 1), (2558, 1), (1451, 64), (2560, 1), (2568, 6))  # 1451: it seems to be very long; the last: its number of records is 0
        blocks = ((315, 8), (316, 16), (339, 8), (1484, 16))
        for place, bits in some(headers, 2) + some(blocks, 2):
            for threads in (1, 2):
                damaged = bytearray(content)
                damaged[place] ^= bits
                self.file("bad.cram", bytes(damaged))
                with self.subTest(place=place, threads=threads):
                    self.refused(INPUT, "bad.cram.* damaged", *self.counting[:-1], "bad.cram", "-t", threads)

    def test_one_that_cannot_be_written_leaves_nothing(self):
        name = "n" * 40
        self.file("ref.fa", "".join(f">{name}{i}\nACGT\n" for i in range(3000)))
        before = self.files()
        done = subprocess.run([WARPMER, *map(str, self.counting)], cwd=self.folder, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))  # fmt: skip
        self.assertEqual(done.returncode, RESOURCE, done.stderr)
        self.assertIn("cannot write ref.fa.fai, the index of the reference: File too large", done.stderr)
        self.assertEqual(self.files(), before)


class TinyInputs(CliTest):
    def test_fewer_bases_than_k(self):
        cases = {"empty": b"", "record": b">r\n", "base": b">r\nA", "fastq": b"@r\nACG\n+\nIII\n", "k-1": b">r\n" + b"A" * 30}
        for name, content in cases.items():
            self.file(name, content)
            for k in some((31, 32, 33, 64)):
                with self.subTest(name, k=k):
                    index = self.count(name, k=k, options=("-q",))
                    self.assertEqual(self.warpmer("dump", index), "")
                    self.assertEqual(self.warpmer("dump", "--sort", index), "")
                    self.assertEqual(self.warpmer("histo", index), "")
                    self.assertEqual(self.warpmer("histo", "--dense", index), "")
                    self.assertEqual(json.loads(self.warpmer("stats", "--json", index))["stored_distinct"], 0)
                    self.assertEqual(self.warpmer("query", index, "A" * k), "A" * k + "\t0\n")

    def test_exactly_k(self):
        text = "ACGTTGCATGGCCAATTGACCATGATTACAGGCATTAGGCCATAGGACCATTAGACCATAGGACC"
        for k in some(range(1, 65), 5):
            self.file("r.fa", ">r\n" + text[:k] + "\n")
            self.assertEqual(self.dump(self.count("r.fa", k=k)), {canonical(text[:k]): 1})


class Readers(CliTest):
    @classmethod
    def setUpClass(cls):
        sequences = [sequence for _, sequence in read_sequences(DATA / "reads_1.fq.gz")]
        cls.expected = naive_count(sequences, 19)
        cls.sequences = len(sequences)
        cls.bases = sum(map(len, sequences))

    def setUp(self):
        super().setUp()
        self.index = self.count(DATA / "reads_1.fq.gz", k=19)

    def test_histo(self):
        numbers = collections.Counter(self.expected.values())
        sparse = "".join(f"{count} {numbers[count]}\n" for count in sorted(numbers))
        dense = "".join(f"{count} {numbers[count]}\n" for count in range(1, max(numbers) + 1))
        self.assertEqual(self.warpmer("histo", self.index), sparse)
        self.assertEqual(self.warpmer("histo", "--dense", self.index), dense)

    def test_dump(self):
        lines = [f"{kmer}\t{count}\n" for kmer, count in sorted(self.expected.items())]
        self.assertEqual(self.warpmer("dump", "--sort", self.index), "".join(lines))
        cap = "64M" if FULL else "1G"  # sanitizers take memory of their own
        self.assertEqual(self.warpmer("dump", "--sort", "-t", "1", "-m", cap, self.index), "".join(lines))
        plain = self.warpmer("dump", self.index)
        self.assertEqual(sorted(plain.splitlines(True)), lines)
        self.assertEqual(self.warpmer("dump", "-t", "3", self.index), plain)
        few = [f"{kmer}\t{count}\n" for kmer, count in sorted(self.expected.items()) if 2 <= count <= 5]
        self.assertEqual(self.warpmer("dump", "--sort", "--min-count", "2", "--max-count", "5", self.index), "".join(few))
        kept = [line for line in plain.splitlines(True) if 2 <= int(line.split("\t")[1]) <= 5]
        self.assertEqual(self.warpmer("dump", "--min-count", "2", "--max-count", "5", self.index), "".join(kept))
        records = [f">{count}\n{kmer}\n" for kmer, count in sorted(self.expected.items())]
        self.assertEqual(self.warpmer("dump", "--sort", "--format", "fasta", self.index), "".join(records))

    def test_stats_and_info(self):
        stats = json.loads(self.warpmer("stats", "--json", self.index))
        size = (self.folder / self.index).stat().st_size
        wanted = {
            "k": 19,
            "strand": "canonical",
            "sequences": self.sequences,
            "bases": self.bases,
            "counted_kmers": sum(self.expected.values()),
            "counted_distinct": len(self.expected),
            "counted_unique": sum(1 for count in self.expected.values() if count == 1),
            "stored_kmers": sum(self.expected.values()),
            "stored_distinct": len(self.expected),
            "largest_count": max(self.expected.values()),
            "min_count": 1,
            "max_count": None,
            "file_bytes": size,
        }
        self.assertEqual({key: stats[key] for key in wanted}, wanted)
        self.assertAlmostEqual(stats["bytes_per_kmer"], size / len(self.expected))
        text = dict(line.rsplit(None, 1) for line in self.warpmer("stats", self.index).splitlines())
        self.assertEqual(int(text["k-mers counted"]), wanted["counted_kmers"])
        self.assertEqual(int(text["largest count"]), wanted["largest_count"])
        info = json.loads(self.warpmer("info", "--json", self.index))
        self.assertEqual(info["provenance"]["inputs"], [str(DATA / "reads_1.fq.gz")])
        self.assertIn("count -k 19", info["provenance"]["command_line"])
        self.assertEqual(info["file_bytes"], size)
        self.assertIn(info["content_checksum"], self.warpmer("info", self.index))

    def check_bytes_per_kmer(self, index):
        """Compares what `stats` says with what another reader finds, in all its forms."""
        path = self.folder / index
        stats = json.loads(self.warpmer("stats", "--json", index))
        parts = stats["bytes_per_kmer_parts"]
        kmers = stats["stored_distinct"]
        self.assertAlmostEqual(stats["bytes_per_kmer"], path.stat().st_size / kmers)
        for name, size in zip(("bases", "counts"), kmer_bytes(path)):
            self.assertAlmostEqual(parts[name], size / kmers, msg=name)
        self.assertEqual(list(parts), ["bases", "counts", "directory"])
        self.assertAlmostEqual(sum(parts.values()), stats["bytes_per_kmer"])
        # The directory of shards is in it, and the sections of a fixed size.
        self.assertGreater(parts["directory"] * kmers, 64 + 80 + 136)

        lines = self.warpmer("stats", "-t", "1", index).splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("bytes per k-mer"))
        shown = [line.rsplit(None, 1) for line in lines[first : first + 4]]
        self.assertEqual([name for name, _ in shown], ["bytes per k-mer", "  bases", "  counts", "  directory"])
        whole, *hundredths = [int(number.replace(".", "")) for _, number in shown]
        self.assertEqual(sum(hundredths), whole)
        for number, (_, exact) in zip(hundredths, parts.items()):
            self.assertLessEqual(abs(number - 100 * exact), 1)
        header, cells = (line.split("\t") for line in self.warpmer("stats", "--tsv", index).splitlines())
        table = dict(zip(header, cells))
        for name, exact in parts.items():
            self.assertEqual(table[f"bytes_per_kmer_parts_{name}"], f"{exact:.6g}")

    def test_bytes_per_kmer(self):
        for k in some((5, 12, 13, 19, 27, 31, 32, 55, 64), 4):
            with self.subTest(k=k):
                # Large groups have their counts in records.
                reads = reads_around_a_minimizer(random.Random(k), k) if k > 12 else ["ACGTTGCATGCA" * 200]
                (self.folder / "more.fa").write_bytes(fasta(enumerate(reads)))
                self.check_bytes_per_kmer(self.count("more.fa", DATA / "forty.fq", k=k))

    def test_bytes_per_kmer_of_nothing(self):
        index = self.count(DATA / "short.fa", k=64, options=["-q", "--min-count", 1000])
        stats = json.loads(self.warpmer("stats", "--json", index))
        self.assertEqual(stats["bytes_per_kmer"], 0)
        self.assertEqual(stats["bytes_per_kmer_parts"], {"bases": 0, "counts": 0, "directory": 0})

    def test_stats_of_a_filtered_index(self):
        index = self.count(DATA / "reads_1.fq.gz", k=19, options=["--min-count", 3, "--max-count", 9, "--forward"])
        stats = json.loads(self.warpmer("stats", "--json", index))
        self.assertEqual((stats["min_count"], stats["max_count"], stats["strand"]), (3, 9, "forward"))
        self.assertEqual(stats["counted_kmers"], sum(self.expected.values()))
        self.assertLessEqual(stats["largest_count"], 9)
        self.assertIn("at least 3, at most 9", self.warpmer("stats", index))

    def test_query_arguments(self):
        kmers = random.Random(1).sample(sorted(self.expected), 20)
        typed = []
        for i, kmer in enumerate(kmers):
            other = reverse_complement(kmer)
            typed += [kmer, other, kmer.lower(), kmer.replace("T", "U"), "ACGT"[i % 4] * 19]
        lines = [f"{kmer}\t{self.expected[canonical(kmer.upper().replace('U', 'T'))]}\n" for kmer in typed]
        self.assertEqual(self.warpmer("query", self.index, *typed), "".join(lines))
        listed = "\n".join(typed)
        self.assertEqual(self.warpmer("query", self.index, "--kmers", "-", stdin=listed), "".join(lines))
        self.file("list.txt", listed + "\n\n")
        self.assertEqual(self.warpmer("query", self.index, "--kmers", "list.txt"), "".join(lines))
        self.file("list.txt", listed.replace("\n", "\r\n") + "\r\n")
        self.assertEqual(self.warpmer("query", self.index, "--kmers", "list.txt"), "".join(lines))

    def test_query_list_of_any_lines(self):
        kmers = random.Random(2).sample(sorted(self.expected), 20)
        lines = "".join(f"{kmer}\t{self.expected[kmer]}\n" for kmer in kmers)
        for end in ("\n", "\r\n", "\r"):
            text = "\ufeff# markers" + end + end.join(f" \t{kmer} \tname" for kmer in kmers) + end + " \t" + end
            for listed in some((text, text.rstrip(), "".join(kmer + end for kmer in kmers))):
                with self.subTest(end=end):
                    self.file("list.txt", listed)
                    self.assertEqual(self.warpmer("query", self.index, "--kmers", "list.txt"), lines)
                    self.assertEqual(self.warpmer("query", self.index, "--kmers", "-", stdin=listed.encode()), lines)
        self.file("list.txt.gz", gzip.compress("\r".join(kmers).encode()))
        self.assertEqual(self.warpmer("query", self.index, "--kmers", "list.txt.gz"), lines)

    def test_query_takes_a_dump_back(self):
        text = self.warpmer("dump", self.index)
        for threads in (1, 4):
            self.assertEqual(self.warpmer("query", "-t", threads, self.index, "--kmers", "-", stdin=text), text)

    def test_query_list_errors_name_the_line(self):
        good = "A" * 19
        for bad in ("ACG", "A" * 18 + "N", "A" * 20, "\0"):
            self.file("list.txt", f"{good}\n\n{bad}\n{good}\n")
            self.refused(INPUT, r"list\.txt:3: ", "query", self.index, "--kmers", "list.txt")
            self.file("list.txt", f"{good}\r\r {bad} \r{good}")
            self.refused(INPUT, r"list\.txt:3: ", "query", self.index, "--kmers", "list.txt")
        self.file("list.txt", f"{good}\n{good} {good}\n")
        self.refused(INPUT, r"list\.txt:2: there are two k-mers in this line", "query", self.index, "--kmers", "list.txt")
        self.file("list.fa", ">1\nACGT\n")
        self.refused(INPUT, r"list\.fa:1: this is FASTA or FASTQ, and no list of k-mers; give it to --reads", "query", self.index, "--kmers", "list.fa")
        self.file("list.txt", good.encode("utf-16"))
        self.refused(INPUT, r"list\.txt, line 1: this is text in UTF-16", "query", self.index, "--kmers", "list.txt")
        self.refused(INPUT, "standard input:2: ", "query", self.index, "--kmers", "-", stdin=f"{good}\nx\n")
        self.refused(INPUT, "none.txt", "query", self.index, "--kmers", "none.txt")
        self.file("long.txt", "A" * (3 << 20))
        self.refused(INPUT, r"long\.txt, line 1: this line is too long", "query", self.index, "--kmers", "long.txt")

    def test_query_exit_status(self):
        present, absent = next(iter(self.expected)), "ACGTACGTTTTTTTTCGCG"
        self.assertNotIn(canonical(absent), self.expected)
        self.warpmer("query", "--exit-status", self.index, absent, present)
        self.warpmer("query", "--exit-status", self.index, absent, status=NOTHING_FOUND)
        self.warpmer("query", self.index, absent)
        self.warpmer("query", "--exit-status", self.index, "--kmers", "-", stdin=absent, status=NOTHING_FOUND)
        reads = self.file("absent.fa", fasta([("r", absent)]))
        self.warpmer("query", "--exit-status", self.index, "--reads", reads, status=NOTHING_FOUND)
        self.warpmer("query", "--exit-status", self.index, "--reads", DATA / "reads_1.fq.gz")
        bed = ("query", "--exit-status", self.index, "--format", "bed")
        self.warpmer(*bed, "--reads", DATA / "reads_1.fq.gz")
        self.warpmer(*bed, "--reads", DATA / "reads_1.fq.gz", "--min-count", 10**9, status=NOTHING_FOUND)
        self.warpmer(*bed, "--reads", reads, "--min-count", 0, "--max-count", 0)


class RunReport(CliTest):
    def test_stats_of_a_run(self):
        self.count(DATA / "forty.fa", k=21, options=["--stats", "run.json", "-t", "1"])
        report = json.loads((self.folder / "run.json").read_text())
        expected = naive_count([s for _, s in read_sequences(DATA / "forty.fa")], 21)
        self.assertEqual(report["totals"]["counted_kmers"], sum(expected.values()))
        self.assertEqual(report["threads"], 1)
        self.assertEqual(report["index_bytes"], (self.folder / "out.wmi").stat().st_size)
        self.assertGreater(report["peak_resident_bytes"], 0)
        self.assertTrue(report["stages"])
        for stage in report["stages"]:
            self.assertEqual(sorted(stage), ["busy_seconds", "bytes", "name"])


if __name__ == "__main__":
    main()
