"""Counting, and all that an index answers, against the oracle."""

import gc
import os
import pathlib
import pickle
import tempfile
import unittest

import numpy as np
import warpmer
from common import ModuleTest, canonical, count_naively, packed_number, packed_numbers, random_sequence, sample_sequences

CASES = [(1, True), (7, True), (12, False), (13, True), (21, True), (31, False), (32, True), (33, True), (64, True)]


class Answers(ModuleTest):
    def test_all_questions_in_turn(self):
        sequences = sample_sequences()
        files = self.fasta(sequences)
        for k, is_canonical in CASES:
            with self.subTest(k=k, canonical=is_canonical):
                expected = count_naively(sequences, k, is_canonical)
                index = warpmer.count(files, k, canonical=is_canonical, threads=2, memory=1 << 30)
                self.check_facts(index, k, is_canonical, expected)
                self.check_single(index, expected)
                self.check_many(index, expected)
                self.check_walks(index, expected)
                self.check_profiles(index, sequences, expected)

    def check_facts(self, index, k, is_canonical, expected):
        self.assertEqual((index.k, index.is_canonical, len(index)), (k, is_canonical, len(expected)))
        self.assertIn(f"{k}-mers", repr(index))
        totals = index.totals
        self.assertEqual(totals.stored_distinct, len(expected))
        self.assertEqual(totals.stored_kmers, sum(expected.values()))
        self.assertEqual(totals.largest_count, max(expected.values()))
        self.assertEqual((totals.min_count, totals.max_count), (1, 2**64 - 1))
        rows = {}
        for count in expected.values():
            rows[count] = rows.get(count, 0) + 1
        histogram = index.histogram()
        self.assertEqual((histogram.dtype, histogram.shape), (np.uint64, (len(rows), 2)))
        self.assertEqual(histogram.tolist(), [list(row) for row in sorted(rows.items())])

    def check_single(self, index, expected):
        for kmer, count in list(expected.items())[:50]:
            self.assertEqual(index[kmer], count)
            self.assertEqual(index[kmer.lower().encode()], count)
            self.assertIn(kmer, index)
        absent = next((kmer for kmer in self.others(index.k) if kmer not in expected), None)
        if absent is not None:
            self.assertEqual(index[absent], 0)
            self.assertNotIn(absent, index)

    @staticmethod
    def others(k):
        return (canonical(random_sequence(k, seed)) for seed in range(100, 200))

    def check_many(self, index, expected):
        asked = [*expected, *self.others(index.k)]
        counts = [expected.get(kmer, 0) for kmer in asked]
        if index.is_canonical:  # by the other strand, too
            asked += [kmer[::-1].translate(str.maketrans("ACGT", "TGCA")) for kmer in asked]
            counts += counts
        packed = warpmer.pack(asked)
        self.assertEqual(packed_numbers(packed), [packed_number(kmer) for kmer in asked])
        text = "".join(asked).encode()
        lines = "\n".join(asked).encode()
        forms = {
            "list": asked,
            "bytes": [kmer.encode() for kmer in asked],
            "generator": (kmer for kmer in asked),
            "S array": np.array(asked, "S"),
            "wider S array": np.array(asked, f"S{index.k + 3}"),
            "str array": np.array(asked),
            "object array": np.array(asked, object),
            "packed": packed,
            "packed, in the other order of bytes": packed.astype(packed.dtype.newbyteorder()),
            "packed, every second": np.repeat(packed, 2, axis=0)[::2],
            "one behind the other": text,
            "lines": lines,
            "lines with an end": bytearray(lines + b"\n"),
            "lines of Windows": lines.replace(b"\n", b"\r\n") + b"\r\n",
        }
        if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
            forms["StringDType array"] = np.array(asked, np.dtypes.StringDType())
        for name, kmers in forms.items():
            for threads in (0, 1, 3):
                if name == "generator" and threads != 0:
                    continue
                answer = index.query(kmers, threads=threads)
                self.assertEqual((answer.dtype, answer.shape), (np.uint64, (len(asked),)), name)
                self.assertEqual(answer.tolist(), counts, name)

    def check_walks(self, index, expected):
        numbers = {packed_number(kmer): count for kmer, count in expected.items()}
        for size in (1, 100, 1 << 17):
            found = {}
            for kmers, counts in index.chunks(size=size, threads=2):
                self.assertEqual((kmers.dtype, counts.dtype), (np.uint64, np.uint64))
                self.assertEqual(kmers.shape, (len(counts),) if index.k <= 32 else (len(counts), 2))
                self.assertTrue(kmers.flags.writeable and kmers.flags.c_contiguous)
                found.update(zip(packed_numbers(kmers), counts.tolist()))
            self.assertEqual(found, numbers)
        kmers, counts = index.to_numpy(threads=2)
        self.assertEqual(dict(zip(packed_numbers(kmers), counts.tolist())), numbers)
        texts = warpmer.unpack(kmers, index.k)
        self.assertEqual(dict(zip(texts.astype(str).tolist(), counts.tolist())), dict(expected))
        self.assertTrue(np.array_equal(warpmer.pack(texts.tolist(), index.k), kmers))

    def check_profiles(self, index, sequences, expected):
        k = index.k
        for sequence in [*sequences, "", "A" * (k - 1), "RYNacgu" + random_sequence(70, 9)]:
            profile = index.profile(sequence)
            self.assertEqual((profile.dtype, profile.shape), (np.uint64, (max(0, len(sequence) - k + 1),)))
            wanted = []
            for at in range(len(sequence) - k + 1):
                kmer = sequence[at : at + k].upper().replace("U", "T")
                is_kmer = set(kmer) <= set("ACGT")
                name = canonical(kmer) if index.is_canonical else kmer
                wanted.append(expected.get(name, 0) if is_kmer else warpmer.NO_KMER)
            self.assertEqual(profile.tolist(), wanted)
            self.assertEqual(index.profile(sequence.encode()).tolist(), wanted)


class Counting(ModuleTest):
    def test_filters_qualities_and_leniency(self):
        sequences = sample_sequences()
        expected = count_naively(sequences, 21)
        kept = {kmer: count for kmer, count in expected.items() if 2 <= count <= 3}
        index = warpmer.count([self.fasta(sequences)], k=21, min_count=2, max_count=3)
        kmers, counts = index.to_numpy()
        self.assertEqual(dict(zip(warpmer.unpack(kmers, 21).astype(str).tolist(), counts.tolist())), kept)
        self.assertEqual((index.totals.min_count, index.totals.max_count), (2, 3))
        self.assertEqual(index.totals.counted_distinct, len(expected))
        reads = self.folder / "reads.fq"
        reads.write_text("@one\nACGTACCCCC\n+\nIIIIII#III\n")
        self.assertEqual(warpmer.count(str(reads), 5, min_base_quality=20).totals.counted_kmers, 2)
        odd = self.fasta(["ACGTA1ACGTA"], "odd.fa")
        self.assertEqual(warpmer.count(odd, 5, lenient=True).totals.counted_kmers, 2)

    def test_the_same_content_whatever_the_machine(self):
        path = self.fasta(sample_sequences())
        checksums = {
            warpmer.count(path, 31, threads=threads, memory=memory).content_checksum
            for threads, memory in [(1, 0), (2, 1 << 30), (3, 400 << 20)]
        }
        self.assertEqual(len(checksums), 1)

    def test_an_output_stays_and_a_temporary_goes_with_its_index(self):
        path = self.fasta(["ACGTACGT"])
        index = warpmer.count(path, 5, output=self.folder / "kept.wmi")
        self.assertEqual(index.path, str(self.folder / "kept.wmi"))
        temporary = warpmer.count(path, 5, tmp_directory=self.folder)
        place = pathlib.Path(temporary.path)
        self.assertEqual(place.parent.parent, self.folder)
        self.assertEqual(temporary.content_checksum, index.content_checksum)
        chunks = temporary.chunks()
        del temporary, index
        gc.collect()
        self.assertFalse(place.parent.exists())
        self.assertEqual(sum(len(kmers) for kmers, _ in chunks), len(count_naively(["ACGTACGT"], 5)))
        self.assertEqual(self.files(), ["in.fa", "kept.wmi"])

    def test_temporaries_are_where_tempfile_has_them(self):
        path = self.fasta(["ACGTACGT"])
        before, tempfile.tempdir = tempfile.tempdir, str(self.folder)
        try:
            self.assertTrue(warpmer.count(path, 5).path.startswith(str(self.folder)))
        finally:
            tempfile.tempdir = before

    def test_names_of_any_kind(self):
        self.fasta(["ACGTACGT"])
        names = [self.folder / "one.wmi", str(self.folder / "zwei ü.wmi"), os.fsencode(self.folder) + b"/3\xff.wmi"]
        for name in names:
            index = warpmer.count(os.fsencode(self.folder / "in.fa"), 5, output=name)
            self.assertEqual(os.fsencode(index.path), os.fsencode(name))
            self.assertEqual(len(warpmer.open(name)), len(index))
        with self.assertRaises(warpmer.InputError):
            warpmer.open(os.fsencode(self.folder) + b"/none\xff.wmi")

    def test_an_index_is_pickled_by_its_name(self):
        index = warpmer.count(self.fasta(["ACGTACGTTTT"]), 5, output=self.folder / "x.wmi")
        again = pickle.loads(pickle.dumps(index))
        self.assertEqual(again.content_checksum, index.content_checksum)

    def test_an_index_without_kmers(self):
        with self.assertWarns(warpmer.JobWarning):
            index = warpmer.count(self.fasta(["ACGT"]), 31)
        self.assertEqual((len(index), list(index.chunks()), index.histogram().shape), (0, [], (0, 2)))
        kmers, counts = index.to_numpy()
        self.assertEqual((kmers.shape, counts.shape), ((0,), (0,)))
        self.assertEqual(index.query([]).shape, (0,))
        self.assertEqual(index.query(b"").shape, (0,))
        self.assertFalse(index)


class Sets(ModuleTest):
    def setUp(self):
        super().setUp()
        shared = random_sequence(500, 1)
        self.sequences = [shared + random_sequence(300, 2), shared[100:] + random_sequence(300, 3), shared[:50]]
        self.counts = [count_naively([text, text[:200]], 21) for text in self.sequences]
        self.indexes = [
            warpmer.count(self.fasta([text, text[:200]], f"{i}.fa"), 21) for i, text in enumerate(self.sequences)
        ]

    def check(self, index, expected):
        kmers, counts = index.to_numpy()
        self.assertEqual(dict(zip(warpmer.unpack(kmers, 21).astype(str).tolist(), counts.tolist())), dict(expected))

    def test_operators(self):
        (a, b, _), (of_a, of_b, _) = self.indexes, self.counts
        self.check(a | b, of_a + of_b)
        self.check(a & b, of_a & of_b)
        self.check(a - b, {kmer: count for kmer, count in of_a.items() if kmer not in of_b})
        self.check(a ^ b, {kmer: (of_a + of_b)[kmer] for kmer in of_a.keys() ^ of_b.keys()})

    def test_several_and_rules(self):
        a, b, c = self.indexes
        all_counts = [[counts.get(kmer, 0) for counts in self.counts] for kmer in self.names()]
        rules = {
            "sum": sum,
            "min": lambda counts: min(filter(None, counts)),
            "max": max,
            "first": lambda counts: next(filter(None, counts)),
            "last": lambda counts: next(filter(None, reversed(counts))),
            "samples": lambda counts: sum(map(bool, counts)),
        }
        for name, rule in rules.items():
            self.check(a.union(b, c, counts=name), dict(zip(self.names(), map(rule, all_counts))))
            in_all = {kmer: rule(counts) for kmer, counts in zip(self.names(), all_counts) if all(counts)}
            self.check(a.intersect(b, c, counts=name), in_all)
        in_two = {kmer: sum(counts) for kmer, counts in zip(self.names(), all_counts) if sum(map(bool, counts)) > 1}
        self.check(a.union(b, c, min_samples=2), in_two)
        few = {kmer: sum(counts) for kmer, counts in zip(self.names(), all_counts) if 2 <= sum(counts) <= 3}
        self.check(a.union(b, c, min_count=2, max_count=3), few)
        self.check(a.subtract(b, c, counts="difference"), self.counts[0] - self.counts[1] - self.counts[2])

    def names(self):
        return sorted(set().union(*self.counts))

    def test_an_output_and_progress(self):
        seen = []
        path = self.folder / "out.wmi"
        index = self.indexes[0].union(self.indexes[1], output=path, threads=2, memory=1 << 30, progress=seen.append)
        self.assertEqual(index.path, str(path))
        self.assertEqual(seen[-1].stage, "done")
        self.assertEqual(seen[-1].parts_done, seen[-1].parts_total)

    def test_what_cannot_be_combined(self):
        a, b, _ = self.indexes
        with self.assertRaises(TypeError):
            a | "b.wmi"
        with self.assertRaises(TypeError):
            a.union("b.wmi")
        with self.assertRaises(warpmer.UsageError):
            a | warpmer.count(self.folder / "0.fa", 23)
        with self.assertRaises(warpmer.UsageError):
            a & warpmer.count(self.folder / "0.fa", 21, canonical=False)
        with self.assertRaises(warpmer.UsageError):
            a.subtract()
        for arguments in [{"counts": "mean"}, {"counts": "difference"}, {"min_count": 3, "max_count": 2}, {"min_count": -1},
                          {"min_samples": 3}, {"min_samples": 0}]:  # fmt: skip
            with self.assertRaises(warpmer.UsageError, msg=arguments):
                a.union(b, **arguments)
        with self.assertRaises(warpmer.UsageError):
            a.subtract(b, counts="max")
        with self.assertRaises(warpmer.UsageError):
            a.union(b, output=a.path)
        with self.assertRaises(warpmer.ResourceError):
            a.union(b, memory=1000)


class Arrow(ModuleTest):
    def test_columns(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("no pyarrow")
        for k in (21, 40):
            expected = count_naively(sample_sequences(), k)
            index = warpmer.count(self.fasta(sample_sequences()), k)
            table = index.to_arrow()
            self.assertEqual(table.schema.field("kmer").type, pyarrow.string())
            self.assertEqual(table.schema.field("count").type, pyarrow.uint64())
            self.assertEqual(dict(zip(table["kmer"].to_pylist(), table["count"].to_pylist())), dict(expected))
            table.validate(full=True)
            numbers = index.to_arrow(packed=True)["kmer"].to_pylist()
            numbers = numbers if k <= 32 else [(high << 64) | low for high, low in numbers]
            self.assertEqual(set(numbers), {packed_number(kmer) for kmer in expected})
        with self.assertWarns(warpmer.JobWarning):
            empty = warpmer.count(self.fasta(["ACGT"]), 31).to_arrow()
        self.assertEqual((empty.num_rows, empty.column_names), (0, ["kmer", "count"]))

    def test_it_is_not_needed_otherwise(self):
        import sys

        index = warpmer.count(self.fasta(["ACGTACGT"]), 5)
        before = sys.modules.get("pyarrow")
        sys.modules["pyarrow"] = None
        try:
            with self.assertRaises(ImportError):
                index.to_arrow()
        finally:
            del sys.modules["pyarrow"]
            if before is not None:
                sys.modules["pyarrow"] = before


if __name__ == "__main__":
    unittest.main()
