"""Jobs that write an index: counting, and set operations."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator

from . import _native
from ._errors import JobWarning, ResourceError, UsageError
from ._index import Index, Path, Progress, ProgressCallback
from ._packed import whole


def count(
    files: Path | Iterable[Path],
    k: int = 31,
    *,
    output: Path | None = None,
    canonical: bool = True,
    min_count: int = 1,
    max_count: int | None = None,
    min_base_quality: int | None = None,
    lenient: bool = False,
    reference: Path | None = None,
    threads: int = 0,
    memory: int = 0,
    tmp_directory: Path | None = None,
    device: str = "cpu",
    progress: ProgressCallback | None = None,
) -> Index:
    """Counts the k-mers of sequence files, and returns an index of them.

    files: one file or several: any mix of FASTA and FASTQ, plain or compressed, of BAM and CRAM.
    k: length of the k-mers, 1 to 64 bases.
    output: the index file to write, which gets its name when it is complete; None for a temporary one, which lives as
        long as the Index, in `tmp_directory` or where the tempfile module has it.
    canonical: a k-mer and its reverse complement are one.
    min_count, max_count: k-mers that occur less or more often are left out; None: there is no limit.
    min_base_quality: Phred quality, 0 to 93: bases of lower quality are taken for N.
    lenient: a character that is no nucleotide code is taken for N; else it is an InputError.
    reference: FASTA of the reference for CRAM; None: as htslib finds it.
    threads: number of threads; 0: all cores that this process may use.
    memory: cap on the memory of the whole process, in bytes, what Python holds included; 0: nine tenths of what it may
        use and is free.
    tmp_directory: for what the cap leaves no memory for; None: $TMPDIR, else that of the output.
    device: "cpu"; "cuda", "cuda:N" or "cuda:N,M" for GPUs, if warpmer was built for them; "auto".
    progress: is called with a Progress about ten times a second, and at the end. What it raises ends the job. It cannot
        count itself.

    UsageError for arguments out of range, no input, or an output whose name ends as files of another kind do (.kff,
    .tsv), that is also an input or the reference, or that is there and is sequence data; InputError for an input that
    is missing, damaged or no sequences; ResourceError when memory, disk or device do not suffice. After an error,
    nothing is left of the output. A process counts once at a time: other calls wait.

    Warns by a JobWarning of inputs without k-mers, a file that is named twice, qualities that look like Phred+64, a
    GPU that is passed over, and memory above what this process is granted. Where warnings are errors, that ends the job, and leaves no output.
    """
    paths = (files,) if isinstance(files, (str, bytes, os.PathLike)) else tuple(files)
    inputs = tuple(os.fsencode(path) for path in paths)

    if not isinstance(device, str):
        raise TypeError(f"device is a str, not {device!r}")

    def write(path: bytes) -> None:
        _native.count(
            inputs,
            path,
            k=whole(k, "k", 32),
            canonical=bool(canonical),
            min_count=whole(min_count, "min_count", 64),
            max_count=_limit(max_count),
            min_base_quality=None if min_base_quality is None else whole(min_base_quality, "min_base_quality", 32),
            lenient=bool(lenient),
            reference=b"" if reference is None else os.fsencode(reference),
            threads=whole(threads, "threads", 16),
            memory=whole(memory, "memory", 64),
            tmp_directory=b"" if tmp_directory is None else os.fsencode(tmp_directory),
            device=device,
            progress=_listener(progress),
            warn=_warn,
        )

    return _written(output, tmp_directory, write)


def combine(
    operation: str,
    indexes: tuple[Index, ...],
    counts: str,
    bounds: tuple[int, int, int | None],
    threads: int,
    memory: int,
    output: Path | None,
    progress: ProgressCallback | None,
) -> Index:
    """Makes one index of several. `bounds` are min_samples, min_count and max_count."""
    for index in indexes:
        if not isinstance(index, Index):
            raise TypeError(f"set operations are of indexes, not of {type(index).__name__}")
    rule = getattr(_native.CountRule, str(counts), None)
    if not isinstance(rule, _native.CountRule):
        raise UsageError(f"there is no rule {counts!r} for counts; see Index.union")
    min_samples, min_count, max_count = bounds

    def write(path: bytes) -> None:
        _native.combine(
            getattr(_native.SetOperation, operation),
            tuple(index._same_file() for index in indexes),
            path,
            counts=rule,
            min_samples=whole(min_samples, "min_samples", 32),
            min_count=whole(min_count, "min_count", 64),
            max_count=_limit(max_count),
            threads=whole(threads, "threads", 16),
            memory=whole(memory, "memory", 64),
            progress=_listener(progress),
            warn=_warn,
        )

    return _written(output, None, write)


def _limit(max_count: int | None) -> int:
    return 2**64 - 1 if max_count is None else whole(max_count, "max_count", 64)


class _RunningJobs:
    """Jobs of daemon threads end before the interpreter does: a thread that comes back from C++ afterwards would be ended
    in the midst of it, and the process aborted."""

    PATIENCE_SECONDS = 10  # a job may wait for a disk, or for a server

    def __init__(self) -> None:
        self._number = 0
        self._changed = threading.Condition()
        self._must_end = False

    @contextlib.contextmanager
    def one_more(self) -> Iterator[None]:
        """Other threads than daemons are waited for by Python itself."""
        if not threading.current_thread().daemon:
            yield
            return
        with self._changed:
            self.check()
            self._number += 1
        try:
            yield
        finally:
            with self._changed:
                self._number -= 1
                self._changed.notify_all()

    def check(self) -> None:
        """Ends a daemon thread where the interpreter is about to end."""
        if self._must_end and threading.current_thread().daemon:
            raise SystemExit("the interpreter ends")

    def end(self) -> None:
        with self._changed:
            self._must_end = True
            self._changed.wait_for(lambda: self._number == 0, self.PATIENCE_SECONDS)


_running = _RunningJobs()
atexit.register(lambda: _running.end())


def _forget_jobs() -> None:
    """A process that was forked off has none of the other's threads."""
    global _running
    _running = _RunningJobs()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_jobs)


def _listener(progress: ProgressCallback | None) -> Callable[..., object]:
    def listen(*status: str | int) -> None:
        _running.check()
        if progress is not None:
            progress(Progress(*status))

    return listen


def _warn(message: str) -> None:
    """Warns where this package was called. The thread that wants the job calls it, while the job waits."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level += 1
        frame = frame.f_back
    warnings.warn(message, JobWarning, stacklevel=level)


def _written(output: Path | None, tmp_directory: Path | None, write: Callable[[bytes], None]) -> Index:
    """Has an index written, and opens it."""
    with _running.one_more():
        if output is None:
            return _written_for_now(tmp_directory, write)
        write(os.fsencode(output))
        return Index(output)


def _written_for_now(tmp_directory: Path | None, write: Callable[[bytes], None]) -> Index:
    """Does so in a folder of its own, which goes with the Index."""
    try:
        folder = tempfile.mkdtemp(prefix="warpmer-", dir=None if tmp_directory is None else os.fsdecode(tmp_directory))
    except OSError as error:
        raise ResourceError(f"there is no place for a temporary index: {error}; choose another output") from error
    try:
        path = os.path.join(folder, "index.wmi")
        write(os.fsencode(path))
        index = Index(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(index, _remove, folder, os.getpid())
    return index


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked off has the Index, too
        shutil.rmtree(folder, ignore_errors=True)
