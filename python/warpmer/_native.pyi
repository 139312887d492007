"""The public C++ library (include/warpmer/warpmer.h), call by call. Paths are bytes."""

import enum
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

NO_KMER: int
LARGEST_K: int
USUAL_CHUNK: int
version: str

_Numbers = npt.NDArray[np.uint64]
_Listener = Callable[[str, int, int, int, int, int], object]
_WarningListener = Callable[[str], object]

class Index:
    def __init__(self, path: bytes, /) -> None: ...
    @property
    def path(self) -> bytes: ...
    @property
    def k(self) -> int: ...
    @property
    def is_canonical(self) -> bool: ...
    @property
    def content_checksum(self) -> int: ...
    def totals(self) -> tuple[int, int, int, int, int, int, int, int, int, int]: ...
    def histogram(self) -> _Numbers: ...
    def count_of(self, kmer: str | bytes, /) -> int: ...
    def counts_of_texts(self, kmers: tuple[str | bytes, ...], threads: int, /) -> _Numbers: ...
    def counts_of_bytes(self, kmers: bytes, threads: int, /) -> _Numbers: ...
    def counts_of_packed(self, kmers: _Numbers, threads: int, /) -> _Numbers: ...
    def counts_in(self, sequence: str | bytes, /) -> _Numbers: ...

class Chunks:
    def __init__(self, index: Index, threads: int, kmers: int, /) -> None: ...
    def __iter__(self) -> Iterator[tuple[_Numbers, _Numbers]]: ...
    def __next__(self) -> tuple[_Numbers, _Numbers]: ...

class SetOperation(enum.Enum):
    unite = 0
    intersect = 1
    subtract = 2
    symmetric_difference = 3

class CountRule(enum.Enum):
    usual = 0
    sum = 1
    min = 2
    max = 3
    first = 4
    last = 5
    samples = 6
    difference = 7

def count(
    inputs: tuple[bytes, ...],
    output: bytes,
    /,
    k: int,
    canonical: bool,
    min_count: int,
    max_count: int,
    min_base_quality: int | None,
    lenient: bool,
    reference: bytes,
    threads: int,
    memory: int,
    tmp_directory: bytes,
    device: str,
    progress: _Listener,
    warn: _WarningListener,
) -> None: ...
def combine(
    operation: SetOperation,
    indexes: tuple[bytes, ...],
    output: bytes,
    /,
    counts: CountRule,
    min_samples: int,
    min_count: int,
    max_count: int,
    threads: int,
    memory: int,
    progress: _Listener,
    warn: _WarningListener,
) -> None: ...
def pack(kmers: tuple[str | bytes, ...], k: int, /) -> _Numbers: ...
def unpack(kmers: _Numbers, k: int, /) -> bytes: ...
