#!/usr/bin/env python3
"""What count, histo, dump, query, stats and info say, against a naive counter.

ctest: one thread (its threads are those of cli/query_reads, cli/streams and cli/update)
"""

import collections
import gzip
import json
import random

from common_cli import (
    DATA,
    INPUT,
    NOTHING_FOUND,
    CliTest,
    canonical,
    fasta,
    main,
    naive_count,
    read_sequences,
    reverse_complement,
)
from common_tier import FULL, some

FILES = ("forty.fa", "reads_1.fq.gz", "iupac.fa", "low_complexity.fa", "palindromes.fa", "short.fa", "lower_case.fq")


class Counting(CliTest):
    def test_dump_equals_the_naive_counts(self):
        for name in FILES:
            sequences = [sequence for _, sequence in read_sequences(DATA / name)]
            for k in some((13, 33, 4, 64, 1, 21, 32), 3):
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
        for low, high in ((2, None), (None, 3), (2, 2), (5, 40), (100000, None)):
            options = [] if low is None else ["--min-count", low]
            options += [] if high is None else ["--max-count", high]
            kept = {kmer: n for kmer, n in expected.items() if (low or 1) <= n <= (high or n)}
            self.assertEqual(self.dump(self.count(DATA / "reads_1.fq.gz", k=21, options=[*options, *([] if kept else ["-q"])])), kept)
            everything = self.count(DATA / "reads_1.fq.gz", k=21, output="all.wmi")
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
            for listed in (text, text.rstrip(), "".join(kmer + end for kmer in kmers)):
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
