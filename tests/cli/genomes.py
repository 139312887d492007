#!/usr/bin/env python3
"""Set algebra and `compare` on whole genomes: five of Salmonella, and E. coli K-12 and W.

Of the results every k-mer with one of two words in its middle, 1 of 512, is what Python's dicts make of the FASTA
files; of all k-mers the numbers are what `comm` finds in the oracle's sorted text.

ctest: release only; ctest: long
"""

import gzip
import itertools
import os
import pathlib
import re
import subprocess
import unittest

from common_cli import BASES, SOURCE, CliTest, canonical, main
from compare import mash

SHARED = pathlib.Path(os.environ.get("WARPMER_SHARED") or SOURCE.parent / "shared") / "data" / "medium"
ECOLI = {"k12": SHARED / "ecoli_K12_MG1655_GCF_000005845.2.fna.gz", "w": SHARED / "ecoli_W.fasta.gz"}
SALMONELLA = {path.name.split(".")[0]: path for path in sorted((SHARED / "salmonella5").glob("*.gz"))}
# Each the other's reverse complement: a k-mer of odd k is in the sample when its reverse complement is.
WORDS = "ACGAT|ATCGT"
WORD = 5


def sampled_counts(path, k):
    """The canonical k-mers in the sample, with their counts, by the text of a FASTA file alone."""
    counts = {}
    with gzip.open(path, "rt") as text:
        for record in text.read().split(">")[1:]:
            sequence = record.partition("\n")[2].replace("\n", "").upper()
            for word in re.finditer(f"(?={WORDS})", sequence):
                begin = word.start() - (k - WORD) // 2
                kmer = sequence[begin : begin + k] if begin >= 0 else ""
                if len(kmer) == k and BASES.issuperset(kmer):
                    kmer = canonical(kmer)
                    counts[kmer] = counts.get(kmer, 0) + 1
    return counts


@unittest.skipUnless(len(SALMONELLA) == 5 and all(path.exists() for path in ECOLI.values()), f"no genomes in {SHARED}")
class Genomes(CliTest):
    def indexes(self, genomes, k):
        return [self.count(path, k=k, output=f"{name}.wmi") for name, path in genomes.items()]

    def check_sample(self, wanted, k, *operation):
        """The k-mers of an operation's result that are in the sample, and their counts."""
        self.warpmer(*operation, "-o", "result.wmi")
        command = f"'{os.environ['WARPMER']}' dump result.wmi | grep -E '^.{{{(k - WORD) // 2}}}({WORDS})'"
        lines = subprocess.run(["bash", "-c", command], cwd=self.folder, env=dict(os.environ, LC_ALL="C"),
                               stdout=subprocess.PIPE, check=True).stdout.decode().split()
        found = dict(zip(lines[::2], map(int, lines[1::2])))
        self.assertEqual(len(found) * 2, len(lines))
        # Not assertEqual, which would put a difference of thousands of lines into words.
        self.assertTrue(found == wanted, (operation, len(found), len(wanted), sorted(found.items() ^ wanted.items())[:5]))

    def test_operations_on_two(self):
        k = 55
        a, b = (sampled_counts(path, k) for path in ECOLI.values())
        one, two = self.indexes(ECOLI, k)
        self.assertGreater(len(a.keys() & b.keys()), 3_000)
        every = {kmer: (a.get(kmer, 0), b.get(kmer, 0)) for kmer in a.keys() | b.keys()}
        self.check_sample({x: n + m for x, (n, m) in every.items()}, k, "union", one, two)
        self.check_sample({x: min(n) for x, n in every.items() if all(n)}, k, "intersect", one, two)
        self.check_sample({x: n for x, n in a.items() if x not in b}, k, "subtract", one, two)
        self.check_sample({x: n - m for x, (n, m) in every.items() if n > m}, k, "subtract", "--counts", "difference", one, two)
        self.check_sample({x: n + m for x, (n, m) in every.items() if not (n and m)}, k, "symmetric-difference", one, two)

    def test_operations_on_five(self):
        k = 31
        files = self.indexes(SALMONELLA, k)
        there = {}
        for path in SALMONELLA.values():
            for kmer, n in sampled_counts(path, k).items():
                there.setdefault(kmer, []).append(n)
        first = sampled_counts(next(iter(SALMONELLA.values())), k)
        self.check_sample({x: sum(n) for x, n in there.items()}, k, "merge", *files)
        self.check_sample({x: len(n) for x, n in there.items() if len(n) >= 2}, k, "union", "--min-samples", 2,
                          "--counts", "samples", *files)
        self.check_sample({x: max(n) for x, n in there.items() if len(n) == 5}, k, "intersect", "--counts", "max", *files)
        self.check_sample({x: n for x, n in first.items() if len(there[x]) == 1}, k, "subtract", *files)
        self.check_sample({x: n[0] for x, n in there.items() if len(n) == 1}, k, "symmetric-difference", *files)

    def oracle_text(self, genomes, k):
        """For each genome, its k-mers in a sorted file."""
        for name, path in genomes.items():
            command = f"gzip -dc '{path}' | '{os.environ['NAIVE_COUNT']}' -k {k} | cut -f 1 >{name}.txt"
            subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=self.folder, check=True)

    def only_and_shared(self, a, b):
        total = subprocess.run(["comm", "-123", "--total", f"{a}.txt", f"{b}.txt"], cwd=self.folder, check=True,
                               env=dict(os.environ, LC_ALL="C"), stdout=subprocess.PIPE).stdout.split()
        return tuple(map(int, total[:3]))

    @unittest.skipUnless(os.environ.get("NAIVE_COUNT"), "no naive_count")
    def test_distances(self):
        k = 21
        for genomes in (ECOLI, SALMONELLA):
            files = self.indexes(genomes, k)
            self.oracle_text(genomes, k)
            header, *lines = [line.split("\t") for line in self.warpmer("compare", *files).splitlines()]
            self.assertEqual([tuple(line[:2]) for line in lines], list(itertools.combinations(genomes, 2)))
            for a, b, *numbers in lines:
                found = dict(zip(header[2:], map(float, numbers)))
                only_a, only_b, both = self.only_and_shared(a, b)
                j = both / (only_a + only_b + both)
                self.assertEqual((found["only_a"], found["only_b"], found["shared"]), (only_a, only_b, both))
                for measure, wanted in (("jaccard", j), ("mash", mash(j, k)), ("containment_a_in_b", both / (only_a + both)),
                                        ("containment_b_in_a", both / (only_b + both))):
                    self.assertAlmostEqual(found[measure], wanted, delta=1e-8, msg=(a, b, measure))


if __name__ == "__main__":
    main()
