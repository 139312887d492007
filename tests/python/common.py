"""What the tests of the Python module share: an oracle, which counts in plain Python, and sequences to count."""

import pathlib
import random
import shutil
import tempfile
import unittest
from collections import Counter

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def canonical(kmer):
    return min(kmer, kmer[::-1].translate(COMPLEMENT))


def count_naively(sequences, k, is_canonical=True):
    """The oracle: a Counter of k-mers as an index names them."""
    counts = Counter()
    for sequence in sequences:
        text = sequence.upper().replace("U", "T")
        for at in range(len(text) - k + 1):
            kmer = text[at : at + k]
            if set(kmer) <= set("ACGT"):
                counts[canonical(kmer) if is_canonical else kmer] += 1
    return counts


def packed_number(kmer):
    """The oracle's packed k-mer, an int of any size."""
    number = 0
    for base in kmer:
        number = 4 * number + "ACGT".index(base)
    return number


def packed_numbers(kmers):
    """An array of packed k-mers as ints."""
    if kmers.ndim == 1:
        return [int(kmer) for kmer in kmers]
    return [(int(high) << 64) | int(low) for high, low in kmers]


def random_sequence(length, seed):
    return "".join(random.Random(seed).choices("ACGT", k=length))


def sample_sequences():
    """Repeats, both strands, lower case, breaks, and one that is short."""
    bases = random_sequence(3000, 5)
    return [bases, bases[500:900] + "N" + bases[100:400][::-1].translate(COMPLEMENT), bases[:300].lower(), "ACGTN", "A" * 90]


class ModuleTest(unittest.TestCase):
    """Has an empty folder."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warpmer_python."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def fasta(self, sequences, name="in.fa"):
        path = self.folder / name
        path.write_text("".join(f">{i}\n{sequence}\n" for i, sequence in enumerate(sequences)))
        return path

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())
