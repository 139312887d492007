"""Counts the k-mers of sequencing data, exactly, and looks k-mers up.

    import warpmer

    index = warpmer.count(["reads_1.fq.gz", "reads_2.fq.gz"], k=31, output="sample.wmi")
    index["GCACCGTTAACACACGACACCTTTAATCTAA"]   # how often it occurs; 0 when it does not
    index.profile(sequence)                    # a count for each position
    for kmers, counts in index.chunks():       # all of them, as NumPy arrays
        ...

A k-mer is a str (or bytes) of k letters A C G T, in upper or lower case. Where there are many, it can be packed: a
number of 2k bits with A = 0, C = 1, G = 2, T = 3, the first base in the highest bits. Up to k = 32 that is one uint64,
above two, the upper one first; so n packed k-mers are an array of shape (n,) or (n, 2). In an index whose strand is
canonical a k-mer and its reverse complement are one, which is named by the lexicographically smaller of the two, and
may be asked for by either.

Errors are UsageError, InputError, ResourceError and InternalError, all derived from Error. Jobs warn by JobWarning, a
UserWarning. Calls that take long release the GIL. docs/python.md is a tour.
"""

from __future__ import annotations

from ._errors import Error, InputError, InternalError, JobWarning, ResourceError, UsageError
from ._index import Index, Progress, Totals, open
from ._jobs import count
from ._native import LARGEST_K, NO_KMER
from ._native import version as __version__
from ._packed import pack, unpack

__all__ = [
    "LARGEST_K",
    "NO_KMER",
    "Error",
    "Index",
    "InputError",
    "InternalError",
    "JobWarning",
    "Progress",
    "ResourceError",
    "Totals",
    "UsageError",
    "__version__",
    "count",
    "open",
    "pack",
    "unpack",
]
