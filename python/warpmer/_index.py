"""Open indexes: questions, walks, and set operations on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import InputError, UsageError
from ._packed import checked_words, unpack, whole, words_per_kmer

if TYPE_CHECKING:
    import pyarrow

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Numbers = npt.NDArray[np.uint64]
Kmers = Union[Iterable[Union[str, bytes]], bytes, bytearray, memoryview, npt.NDArray[np.generic]]


class Totals(NamedTuple):
    """Sums over an index. "Counted" is before the filter of counts, "stored" after it."""

    sequences: int  #: sequences read
    bases: int  #: characters of sequence read, N included
    counted_kmers: int  #: occurrences of k-mers
    counted_distinct: int  #: distinct k-mers
    counted_unique: int  #: distinct k-mers that occur once
    stored_kmers: int  #: occurrences of the k-mers in the index
    stored_distinct: int  #: distinct k-mers in the index
    largest_count: int  #: of a k-mer in the index
    min_count: int  #: the filter: k-mers that occur less often are not in the index,
    max_count: int  #: and neither are those that occur more often


class Progress(NamedTuple):
    """How far a job is. The thread that called it calls `progress` with this about ten times a second."""

    stage: str  #: "starting", "reading", "counting", "combining", "writing" or "done"
    bytes_done: int  #: of the input files, as they are on disk
    bytes_total: int  #: 0: not known
    kmers: int  #: occurrences of k-mers read so far
    parts_done: int  #: of the index
    parts_total: int


ProgressCallback = Callable[[Progress], object]


class Index:
    """An index file (.wmi) that is open for reading: what `warpmer.open`, `warpmer.count` and set operations return.

    The file is mapped, not read into memory. It may be renamed, replaced or removed meanwhile, but not written to. Any
    number of threads may ask one Index at once.
    """

    __slots__ = ("__weakref__", "_file", "_native")

    #: An Index answers for k-mers by name, as a dict does, and has none by number.
    __iter__ = None

    def __init__(self, path: Path) -> None:
        """Opens an index. InputError when there is no such file, or it is no index, or damaged."""
        self._native = _native.Index(os.fsencode(path))
        self._file = os.path.abspath(os.fsencode(path))  # which stays when the folder is changed

    def __repr__(self) -> str:
        return f"<warpmer.Index {self.path!r}: {len(self):,} distinct {self.k}-mers>"

    def __reduce__(self) -> tuple[Callable[[Path, int], Index], tuple[str, int]]:
        return _opened_again, (os.fsdecode(self._file), self.content_checksum)

    def _same_file(self) -> bytes:
        """The name of the file that is open, for what opens it again. InputError when another one has it now."""
        _opened_again(self._file, self.content_checksum)
        return self._file

    @property
    def path(self) -> str:
        """The file's name, as it was opened."""
        return os.fsdecode(self._native.path)

    @property
    def k(self) -> int:
        """Length of the k-mers, in bases."""
        return self._native.k

    @property
    def is_canonical(self) -> bool:
        """True when a k-mer and its reverse complement are one; False when k-mers were counted as they were read."""
        return self._native.is_canonical

    @property
    def content_checksum(self) -> int:
        """One number for k, strand, k-mers and counts. Indexes of equal content have equal checksums."""
        return self._native.content_checksum

    @property
    def totals(self) -> Totals:
        """Sums over the index."""
        return Totals(*self._native.totals())

    def __len__(self) -> int:
        """Number of distinct k-mers in the index."""
        return self._native.totals()[6]

    def __getitem__(self, kmer: str | bytes) -> int:
        """How often a k-mer occurs; 0 when it is not in the index. UsageError for what is no k-mer of this index."""
        return self._native.count_of(kmer)

    def __contains__(self, kmer: str | bytes) -> bool:
        return self._native.count_of(kmer) > 0

    def query(self, kmers: Kmers, *, threads: int = 0) -> Numbers:
        """Looks several k-mers up.

        `kmers` are

        - a list, or anything else to go through, of str or bytes, or an array of them;
        - packed k-mers: uint64 of shape (n,) for k up to 32, else (n, 2);
        - bytes with the k-mers one behind the other, or one a line, with any line ends (for k-mers that come from a file).

        `threads`: 0 for all cores. Returns their counts, uint64 of shape (n,), 0 where one is not in the index.
        UsageError for what is no k-mer of this index, TypeError for an array of anything else.
        """
        threads = whole(threads, "threads", 16)
        if isinstance(kmers, np.ndarray):
            if kmers.dtype.kind not in "SUOT":
                return self._native.counts_of_packed(checked_words(kmers, self.k), threads)
            if kmers.ndim != 1:
                raise UsageError(f"k-mers are an array of shape (n,), not {kmers.shape}")
            if kmers.dtype != np.dtype(f"S{self.k}"):
                kmers = kmers.tolist()
            else:
                kmers = kmers.tobytes()
        if isinstance(kmers, str):
            raise TypeError("query takes several k-mers; write index[kmer], or index.profile(sequence)")
        if isinstance(kmers, (bytes, bytearray, memoryview)):
            return self._native.counts_of_bytes(bytes(kmers), threads)
        return self._native.counts_of_texts(tuple(kmers), threads)

    def profile(self, sequence: str | bytes) -> Numbers:
        """Looks the k-mer at each position of a sequence up.

        Returns uint64 of shape (max(0, len(sequence) - k + 1),): counts, 0 where the k-mer is not in the index, and
        `warpmer.NO_KMER` (2^64 - 1) where its k letters contain an N or another code that is not one of A C G T U.
        UsageError for a character that is no nucleotide code.
        """
        return self._native.counts_in(sequence)

    def histogram(self) -> Numbers:
        """Returns uint64 of shape (rows, 2): a count, and how many distinct k-mers occur so often.

        There is a row for each count that a k-mer of the index has, the smallest first. `dict(histogram.tolist())` is
        the same as a dict.
        """
        return self._native.histogram()

    def chunks(self, *, size: int = _native.USUAL_CHUNK, threads: int = 0) -> Iterator[tuple[Numbers, Numbers]]:
        """Goes through all k-mers, some at a time, in an order that depends on the k-mers alone.

        Yields pairs of arrays that nobody else uses: packed k-mers, uint64 of shape (n,) for k up to 32, else (n, 2),
        and their counts, uint64 of shape (n,). n is about `size` or less. Threads (0: as many as there are cores)
        unpack the next chunks while the caller is busy with one; memory does not grow with the index. InputError when
        the file is damaged.
        """
        return _native.Chunks(self._native, whole(threads, "threads", 16), whole(size, "size", 40))

    def to_numpy(self, *, threads: int = 0) -> tuple[Numbers, Numbers]:
        """Returns all k-mers, packed, and their counts: two arrays, as those of `chunks`, 16 or 24 bytes a k-mer."""
        kmers = np.empty((len(self), words_per_kmer(self.k)), np.uint64)
        counts = np.empty(len(self), np.uint64)
        at = 0
        for some, their_counts in self.chunks(threads=threads):
            kmers[at : at + len(some)] = some.reshape(len(some), -1)
            counts[at : at + len(some)] = their_counts
            at += len(some)
        return (kmers.reshape(-1) if kmers.shape[1] == 1 else kmers), counts

    def to_arrow(self, *, packed: bool = False, threads: int = 0) -> pyarrow.Table:
        """Returns all k-mers as a table of pyarrow, which has to be installed.

        Its columns are `kmer`, a string, and `count`, uint64. With `packed`, k-mers are uint64 for k up to 32, else
        lists of two.
        """
        import pyarrow

        def column(kmers: Numbers) -> pyarrow.Array:
            if not packed:
                text = pyarrow.py_buffer(unpack(kmers, self.k))
                ends = np.arange(0, (len(kmers) + 1) * self.k, self.k, dtype=np.int32)
                return pyarrow.StringArray.from_buffers(len(kmers), pyarrow.py_buffer(ends), text)
            numbers = pyarrow.array(kmers.reshape(-1))
            return numbers if kmers.ndim == 1 else pyarrow.FixedSizeListArray.from_arrays(numbers, 2)

        names = ["kmer", "count"]
        batches = [
            pyarrow.RecordBatch.from_arrays([column(kmers), pyarrow.array(counts)], names=names)
            for kmers, counts in self.chunks(threads=threads)
        ]
        nothing = np.empty((0, 2)[: words_per_kmer(self.k)], np.uint64)
        schema = pyarrow.schema([("kmer", column(nothing).type), ("count", pyarrow.uint64())])
        return pyarrow.Table.from_batches(batches, schema)

    # --- Set operations

    def union(
        self,
        *others: Index,
        counts: str = "sum",
        min_samples: int = 1,
        min_count: int = 1,
        max_count: int | None = None,
        threads: int = 0,
        memory: int = 0,
        output: Path | None = None,
        progress: ProgressCallback | None = None,
    ) -> Index:
        """Returns an index of the k-mers that are in any of several indexes; `a | b` is the same.

        `counts` says which count a k-mer gets, of its counts in those that have it: "sum", "min", "max", "first",
        "last" or "samples" (their number). K-mers in fewer than `min_samples` of them are left out, and those whose
        count in the result is less than `min_count` or more than `max_count`. The other arguments are those of
        `warpmer.count`. UsageError for indexes that differ in k or strand. Warns by a JobWarning of an index that is
        there twice, as all set operations do, and of indexes that lack k-mers because `count` left some out.
        """
        bounds = (min_samples, min_count, max_count)
        return _jobs.combine("unite", (self, *others), counts, bounds, threads, memory, output, progress)

    def intersect(
        self,
        *others: Index,
        counts: str = "min",
        min_count: int = 1,
        max_count: int | None = None,
        threads: int = 0,
        memory: int = 0,
        output: Path | None = None,
        progress: ProgressCallback | None = None,
    ) -> Index:
        """Returns an index of the k-mers that are in all of several indexes; `a & b` is the same.

        The arguments are those of `union`.
        """
        bounds = (1, min_count, max_count)
        return _jobs.combine("intersect", (self, *others), counts, bounds, threads, memory, output, progress)

    def subtract(
        self,
        *others: Index,
        counts: str = "first",
        min_count: int = 1,
        max_count: int | None = None,
        threads: int = 0,
        memory: int = 0,
        output: Path | None = None,
        progress: ProgressCallback | None = None,
    ) -> Index:
        """Returns an index of the k-mers that this one has and no other; `a - b` is the same.

        With `counts="difference"` the others' counts are taken away from this one's, and a k-mer is left out when
        nothing remains. The other arguments are those of `union`.
        """
        bounds = (1, min_count, max_count)
        return _jobs.combine("subtract", (self, *others), counts, bounds, threads, memory, output, progress)

    def symmetric_difference(
        self,
        *others: Index,
        min_count: int = 1,
        max_count: int | None = None,
        threads: int = 0,
        memory: int = 0,
        output: Path | None = None,
        progress: ProgressCallback | None = None,
    ) -> Index:
        """Returns an index of the k-mers that are in exactly one of several indexes; `a ^ b` is the same.

        The arguments are those of `union`.
        """
        bounds = (1, min_count, max_count)
        return _jobs.combine("symmetric_difference", (self, *others), "usual", bounds, threads, memory, output, progress)

    def __or__(self, other: Index) -> Index:
        return self.union(other) if isinstance(other, Index) else NotImplemented

    def __and__(self, other: Index) -> Index:
        return self.intersect(other) if isinstance(other, Index) else NotImplemented

    def __sub__(self, other: Index) -> Index:
        return self.subtract(other) if isinstance(other, Index) else NotImplemented

    def __xor__(self, other: Index) -> Index:
        return self.symmetric_difference(other) if isinstance(other, Index) else NotImplemented


def open(path: Path) -> Index:
    """Opens an index file (.wmi). InputError when there is no such file, or it is no index, or damaged."""
    return Index(path)


def _opened_again(path: Path, checksum: int) -> Index:
    """Opens the file of an index. InputError when another one has its name now."""
    index = Index(path)
    if index.content_checksum != checksum:
        raise InputError(f"{index.path} was replaced since it was opened; open it again")
    return index


from . import _jobs  # behind Index, which it needs
