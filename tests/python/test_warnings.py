"""What jobs warn of: where, on which thread, and that a warning which is an error leaves no output."""

import os
import threading
import unittest
import warnings

import warpmer
from common import ModuleTest, random_sequence


class Warnings(ModuleTest):
    def warned(self, call, *patterns):
        """Returns what `call` returns. Its warnings are these, in this order, and stand where this file calls the package."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        self.assertEqual([warning.category for warning in caught], [warpmer.JobWarning] * len(patterns), caught)
        for warning, pattern in zip(caught, patterns):
            self.assertRegex(str(warning.message), pattern)
            self.assertEqual(warning.filename, __file__)
            self.assertNotIn("\n", str(warning.message))
        return result

    def test_the_kind(self):
        self.assertTrue(issubclass(warpmer.JobWarning, UserWarning))
        self.assertEqual(warpmer.JobWarning.__module__, "warpmer")

    def test_inputs_without_kmers(self):
        nothing, short = self.fasta([], "none.fa"), self.fasta(["ACGT"], "short.fa")
        self.assertEqual(len(self.warned(lambda: warpmer.count(nothing, 5), r"\Athere is no sequence in the input; ")), 0)
        self.assertEqual(len(self.warned(lambda: warpmer.count(short, 5), r"\Athere is no k-mer in the input: its sequence is shorter than k = 5\Z")), 0)
        once = self.fasta([random_sequence(100, 1)])
        rare = self.warned(lambda: warpmer.count(once, 21, min_count=2), "none of the 80 distinct k-mers occurs at least 2 times")
        self.assertEqual(len(rare), 0)

    def test_nothing_to_warn_of(self):
        path = self.fasta([random_sequence(100, 1)])
        other = self.fasta([random_sequence(100, 2)], "other.fa")
        self.warned(lambda: warpmer.count([path, other], 21) | warpmer.count(other, 21))

    def test_a_file_named_twice(self):
        path = self.fasta([random_sequence(100, 1)])
        link = self.folder / "link.fa"
        link.symlink_to(path)
        twice = "; a file is read as often as it is named"
        index = self.warned(lambda: warpmer.count([path, path], 21), rf"\A'{path}' is named more than once{twice}\Z")
        self.assertEqual(index.totals.largest_count, 2)
        self.warned(lambda: warpmer.count([path, link], 21), rf"\A'{path}' and '{link}' are the same file{twice}\Z")
        odd = os.fsencode(self.folder) + b"/\xff.fa"
        os.rename(path, odd)
        self.warned(lambda: warpmer.count([odd, odd], 21), rf"\A'{self.folder}/\\xff.fa' is named more than once")

    def test_qualities(self):
        reads = self.folder / "q64.fq"
        reads.write_text("".join(f"@{i}\n{random_sequence(60, i)}\n+\n{'h' * 50}{'B' * 10}\n" for i in range(20)))
        self.warned(lambda: warpmer.count(reads, 21))
        self.warned(lambda: warpmer.count(reads, 21, min_base_quality=20), rf"\A{reads}: qualities look like Phred\+64")

    def test_sets(self):
        a = warpmer.count(self.fasta([random_sequence(100, 1)] * 2), 21, min_count=2)
        b = warpmer.count(self.fasta([random_sequence(100, 2)], "b.fa"), 21)
        lacks = rf"\A'{a.path}' lacks k-mers that --min-count or --max-count left out"
        for union in (lambda: a | b, lambda: a.union(b), lambda: a.union(b, output=self.folder / "x.wmi")):
            self.assertEqual(len(self.warned(union, lacks)), 160)
        self.warned(lambda: a & b)
        for operation in (lambda: b & b, lambda: b.intersect(b), lambda: b - b, lambda: b ^ b):
            self.warned(operation, rf"\A'{b.path}' is named more than once")

    def test_where(self):
        """A warning stands at the line that called the package, however deep it was in it."""
        nothing = self.fasta([], "none.fa")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            index = warpmer.count(nothing, 5)
            a = warpmer.count(self.fasta(["ACGTACGT"]), 5)
            union = a | a
        self.assertEqual((len(index), union.totals.stored_kmers), (0, 2 * a.totals.stored_kmers))
        first = self.test_where.__func__.__code__.co_firstlineno
        self.assertEqual([warning.lineno - first for warning in caught], [5, 7])

    def test_errors(self):
        """Where warnings are errors the job ends, and leaves no output."""
        nothing = self.fasta([], "none.fa")
        path = self.fasta(["ACGTACGT"])
        index = warpmer.count(path, 5)
        old = self.folder / "old.wmi"
        old.write_text("old")
        seen = []
        for call in (
            lambda: warpmer.count(nothing, 5, tmp_directory=self.folder),
            lambda: warpmer.count(nothing, 5, output=old),
            lambda: warpmer.count(nothing, 5, output=self.folder / "x.wmi", progress=seen.append),
            lambda: warpmer.count([path, path], 5, output=self.folder / "x.wmi"),
            lambda: index.union(index, output=old),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaises(warpmer.JobWarning):
                    call()
        self.assertEqual(old.read_text(), "old")
        self.assertEqual(self.files(), ["in.fa", "none.fa", "old.wmi"])
        self.assertNotIn("done", [status.stage for status in seen])

    def test_filters(self):
        nothing = self.fasta([], "none.fa")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", warpmer.JobWarning)
            self.assertEqual(len(warpmer.count(nothing, 5)), 0)
        self.assertEqual(caught, [])

    def test_threads(self):
        """Of several jobs at once, each warns on the thread that wants it, and of its own input."""
        found = []

        def show(message, category, filename, lineno, file=None, line=None):
            found.append((threading.current_thread().name, str(message)))

        def work(name):
            path = self.fasta([random_sequence(2000, 1)], name)
            index = warpmer.count([path, path], 21)
            for _ in range(10):
                index | index

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            threads = [threading.Thread(target=work, args=(f"{i}.fa",), name=f"{i}.fa") for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        of_files = [(name, message) for name, message in found if ".fa' is named" in message]
        self.assertEqual(len(found), 44)
        self.assertEqual(sorted(name for name, _ in of_files), [f"{i}.fa" for i in range(4)])
        for name, message in of_files:
            self.assertTrue(message.startswith(f"'{self.folder}/{name}'"), message)
        self.assertEqual({name: [other for other, _ in found].count(name) for name, _ in of_files}, dict.fromkeys([f"{i}.fa" for i in range(4)], 11))


if __name__ == "__main__":
    unittest.main()
