#!/usr/bin/env python3
"""The Python module beside the program: all k-mers of an index as NumPy arrays, and lookups of a list.

    bench/python_speed.py --index FILE [--kmers 1000000] [-t 2] [--rounds 5] [--warpmer FILE]

Needs the module. Prints medians: seconds for all k-mers and their counts as two arrays (`to_numpy`), and in parts (`chunks`);
lookups a second of --kmers k-mers of the index in random order, as text one a line, by the module and by `warpmer query`, which
reads them from a file and throws its output away. The rate of the program leaves out its start: a query of one k-mer.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import warpmer

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def parsed():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--index", required=True)
    parser.add_argument("--kmers", default=1_000_000, type=int)
    parser.add_argument("-t", "--threads", default=2, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--warpmer", default=SOURCE / "build/cpu/warpmer")
    return parser.parse_args()


def seconds(work, rounds):
    times = []
    for _ in range(rounds):
        begin = time.monotonic()
        work()
        times.append(time.monotonic() - begin)
    return statistics.median(times)


def go_through(index, threads):
    seen = 0
    for kmers, _counts in index.chunks(threads=threads):
        seen += len(kmers)
    assert seen == len(index)


def some_kmers(index, number):
    kmers, _counts = next(iter(index.chunks(size=max(10 * number, 1))))
    chosen = numpy.random.default_rng(1).choice(len(kmers), number, replace=number > len(kmers))
    return warpmer.unpack(kmers[chosen], index.k)


def main():
    options = parsed()
    index = warpmer.open(options.index)
    whole = seconds(lambda: index.to_numpy(threads=options.threads), options.rounds)
    parts = seconds(lambda: go_through(index, options.threads), options.rounds)
    print(f"{len(index):,} k-mers: to_numpy {whole:.2f} s, chunks {parts:.2f} s")

    texts = b"\n".join(some_kmers(index, options.kmers).tolist()) + b"\n"
    with tempfile.TemporaryDirectory() as folder:
        lists = {name: pathlib.Path(folder) / name for name in ("all", "one")}
        lists["all"].write_bytes(texts)
        lists["one"].write_bytes(texts.split(b"\n", 1)[0] + b"\n")
        by_program = {
            name: seconds(
                lambda file=file: subprocess.run(
                    [options.warpmer, "query", "-q", "-t", str(options.threads), options.index, "--kmers", file],
                    stdout=subprocess.DEVNULL,
                    check=True,
                ),
                options.rounds,
            )
            for name, file in lists.items()
        }
    by_module = options.kmers / seconds(lambda: index.query(texts, threads=options.threads), options.rounds) / 1e6
    of_program = options.kmers / (by_program["all"] - by_program["one"]) / 1e6
    print(f"lookups: module {by_module:.2f} M/s, program {of_program:.2f} M/s ({by_module / of_program:.2f})")


if __name__ == "__main__":
    main()
