"""K-mers as texts and as integers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import UsageError


def words_per_kmer(k: int) -> int:
    return 1 if k <= 32 else 2


def checked_words(kmers: npt.NDArray[Any], k: int) -> npt.NDArray[np.uint64]:
    """Packed k-mers as the machine has them. TypeError unless they are uint64, UsageError for another shape."""
    if kmers.dtype.newbyteorder("=") != np.uint64:
        raise TypeError(f"packed k-mers are uint64, not {kmers.dtype}")
    if words_per_kmer(k) == 1:
        if kmers.ndim != 1:
            raise UsageError(f"packed {k}-mers have the shape (n,), not {kmers.shape}")
    elif kmers.ndim != 2 or kmers.shape[1] != 2:
        raise UsageError(f"packed {k}-mers have the shape (n, 2), not {kmers.shape}")
    return np.ascontiguousarray(kmers, np.uint64)


def pack(kmers: Iterable[str | bytes], k: int | None = None) -> npt.NDArray[np.uint64]:
    """Packs k-mers.

    Without `k` it is the length of the first one. Returns uint64 of shape (n,) up to k = 32, else (n, 2). UsageError
    when one is not exactly k letters of A C G T U.
    """
    if isinstance(kmers, (str, bytes)):
        raise TypeError("pack takes several k-mers; write pack([kmer])")
    texts = tuple(kmers)
    if k is None:
        if not texts:
            raise UsageError("of no k-mers the length is not known; give k")
        k = len(texts[0])
    return _native.pack(texts, whole(k, "k", 32))


def unpack(kmers: npt.NDArray[np.uint64], k: int) -> npt.NDArray[np.bytes_]:
    """Returns the texts of packed k-mers: an array of dtype S<k> and shape (n,), which cannot be written to.

    `unpack(kmers, k).astype(str)` are str. UsageError when a number has more than 2k bits.
    """
    k = whole(k, "k", 32)
    texts = _native.unpack(checked_words(np.asarray(kmers), k), k)
    return np.frombuffer(texts, dtype=f"S{k}")


def whole(number: int, name: str, bits: int) -> int:
    """The number, if the library can take it: TypeError if it is not whole, UsageError if it is out of range."""
    try:
        value = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {number!r}") from None
    if not 0 <= value < 1 << bits:
        raise UsageError(f"{name} is {value}, which is out of range")
    return value
