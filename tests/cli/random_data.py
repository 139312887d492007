#!/usr/bin/env python3
"""Random inputs: dump, histo, stats and query of warpmer say what the oracle says.

    tests/cli/random_data.py [--cases N] [--seed S] [--case I]

Inputs are made up from a seed: random letters with N and IUPAC codes, low complexity, one read many times,
palindromes, k-mers of one minimizer, reads shorter than k, in FASTA and FASTQ; k from 1 to 64, both ways of
counting, filters by count and quality. A failing case prints its number; `--case` runs it alone and keeps its files. Environment: see
oracle_common.py.

ctest: long; ctest: one thread (its threads are those of cli/query_reads, cli/streams and cli/update)
"""

import argparse
import collections
import json
import pathlib
import random
import sys
import tempfile

sys.dont_write_bytecode = True

import oracle_common as common
from common_cli import random_bases, reverse_complement
from common_hot_kmers import foremost_mmer
from common_tier import FULL, by_tier

# Each maker gives a list of sequences.


def make_plain(rng, k):
    return [random_bases(rng, rng.randint(0, 400)) for _ in range(rng.randint(1, 60))]


def make_with_breaks(rng, k):
    letters = "ACGT" * rng.choice((1, 5, 20)) + rng.choice(("N", "NRYSWKM", "-", "X*.", "BDHVNnx"))
    return [random_bases(rng, rng.randint(0, 500), letters) for _ in range(rng.randint(1, 40))]


def make_mixed_case(rng, k):
    return [random_bases(rng, rng.randint(0, 300), "ACGTacgt" + rng.choice(("", "n", "Uu"))) for _ in range(30)]


def make_low_complexity(rng, k):
    units = ["A", "T", "C", "AC", "AT", "CG", "GATTACA", random_bases(rng, rng.randint(1, 12))]
    return [rng.choice(units) * rng.randint(1, 600) for _ in range(rng.randint(1, 12))]


def make_poly_a(rng, k):
    return ["A" * rng.choice((k - 1, k, k + 1, 70000, 200000))]


def make_one_read_often(rng, k):
    return [random_bases(rng, rng.randint(k, k + 100))] * rng.choice((1000, 20000, 100000))


def make_palindromes(rng, k):
    sequences = []
    for _ in range(20):
        half = random_bases(rng, rng.randint(1, 80))
        sequences.append(half + reverse_complement(half))
        sequences.append(half + rng.choice("ACGTN") + reverse_complement(half))
    return sequences


def make_around_k(rng, k):
    return [random_bases(rng, max(0, k + rng.randint(-3, 3))) for _ in range(rng.randint(1, 300))]


def make_short(rng, k):
    return [random_bases(rng, rng.randint(0, max(0, k - 1))) for _ in range(50)]


def make_both_strands(rng, k):
    sequences = make_plain(rng, k)
    return sequences + [reverse_complement(s) for s in sequences]


def make_repeats(rng, k):
    genome = random_bases(rng, 3000)
    sequences = []
    for _ in range(400):
        first = rng.randrange(len(genome) - 150)
        read = genome[first : first + rng.randint(20, 150)]
        sequences.append(reverse_complement(read) if rng.random() < 0.5 else read)
    return sequences


def make_few_letters(rng, k):
    letters = rng.choice(("AC", "AT", "CG", "AAAAAAAAAAAC", "GT"))
    return [random_bases(rng, rng.randint(0, 2000), letters) for _ in range(10)]


def make_long(rng, k):
    return [random_bases(rng, rng.randint(100_000, 400_000)) for _ in range(rng.randint(1, 2))]


def minimizer_of_all(rng, k):
    """What is the minimizer of all k-mers that have it, and how many bases are beside it."""
    m = 11 if k < 20 else 13 if k < 28 else 15
    return (foremost_mmer(m), k - m) if k > 12 else (random_bases(rng, max(1, k - 2)), min(2, k - 1))


def make_minimizer_twice(rng, k):
    """A minimizer stands several times in a k-mer, on either strand, as near as it can."""
    mmer, flank = minimizer_of_all(rng, k)
    sequences = []
    for _ in range(60):
        sequence = random_bases(rng, flank)
        for _ in range(rng.randint(2, 4)):
            sequence += rng.choice((mmer, reverse_complement(mmer))) + random_bases(rng, rng.choice((0, 1, rng.randint(0, flank))))
        sequences.append(sequence + random_bases(rng, flank))
    return sequences


def make_one_group(rng, k):
    """All k-mers share a minimizer; flanks are the same up to some base."""
    mmer, flank = minimizer_of_all(rng, k)
    left, right = random_bases(rng, flank), random_bases(rng, flank)
    sequences = []
    for _ in range(rng.choice((3, 63, 65, 400))):
        at, to = rng.randint(0, flank), rng.randint(0, flank)
        sequences.append(random_bases(rng, flank - at) + left[flank - at :] + mmer + right[:to] + random_bases(rng, flank - to))
    return sequences + [reverse_complement(sequence) for sequence in sequences[::3]]


def make_runs_of_k(rng, k):
    """Stretches of k - 1, k and k + 1 bases between breaks."""
    return ["N".join(random_bases(rng, max(0, k + rng.randint(-1, 1))) for _ in range(rng.randint(1, 200)))]


def make_nothing(rng, k):
    return [""] * rng.randint(0, 3)


MAKERS = [value for name, value in sorted(globals().items()) if name.startswith("make_")]


def wrapped(rng, text, width):
    return "\n".join(text[i : i + width] for i in range(0, len(text), width)) if width else text


def fasta(rng, sequences):
    width = rng.choice((0, 0, 60, 7, 1000))
    return "".join(f">s{i}\n{wrapped(rng, s, width)}\n" for i, s in enumerate(sequences))


def fastq(rng, sequences):
    width = rng.choice((0, 0, 0, 60, 7))
    lowest, highest = rng.choice(((33, 73), (64, 104), (70, 70), (33, 126)))
    records = []
    for i, s in enumerate(sequences):
        quality = bytes(rng.choices(range(lowest, highest + 1), k=len(s))).decode() if len(s) < 1000 else "F" * len(s)
        records.append(f"@s{i}\n{wrapped(rng, s, width)}\n+\n{wrapped(rng, quality, width)}\n")
    return "".join(records)


class Case:
    """Everything about one random case, made from its number and the seed alone."""

    def __init__(self, seed, number, folder):
        rng = self.rng = random.Random(f"{seed}/{number}")
        self.number = number
        self.k = rng.choice((rng.randint(1, 64), rng.randint(1, 13), rng.choice((12, 13, 31, 32, 33, 63, 64))))
        maker = MAKERS[number % len(MAKERS)]
        sequences = maker(rng, self.k)
        self.kind = maker.__name__[len("make_") :]
        self.is_fastq = rng.random() < 0.5
        text = fastq(rng, sequences) if self.is_fastq else fasta(rng, sequences)
        if rng.random() < 0.2:
            text = text.replace("\n", "\r\n")
        if rng.random() < 0.2 and not text.endswith("\n\n"):
            text = text[:-1]
        self.path = folder / f"case{number}.txt"
        self.path.write_bytes(text.encode())
        self.forward = rng.random() < 0.4
        self.min_quality = rng.choice((0, 0, 10, 20, 35)) if self.is_fastq else 0
        self.min_count = rng.choice((1, 1, 1, 2, 3, 50))
        self.max_count = rng.choice((None, None, None, 1, 5, 60000))
        if self.max_count is not None and self.max_count < self.min_count:
            self.max_count = self.min_count
        self.machine = ["-t", rng.randint(1, 4)]
        if rng.random() < 0.3:
            self.machine += ["--device", f"cpu:{rng.randint(1, 5)}"]
        self.from_stdin = rng.random() < 0.2

    def __str__(self):
        return f"case {self.number} ({self.kind}, {'FASTQ' if self.is_fastq else 'FASTA'}, k={self.k})"

    def count_command(self, warpmer, index):
        command = [warpmer, "count", "-k", self.k, *self.machine, "-o", index]
        command += ["--forward"] if self.forward else []
        command += ["--min-base-quality", self.min_quality] if self.min_quality else []
        command += ["--min-count", self.min_count] if self.min_count > 1 else []
        command += ["--max-count", self.max_count] if self.max_count is not None else []
        return [*command, "-" if self.from_stdin else self.path]

    def keeps(self, count):
        return count >= self.min_count and (self.max_count is None or count <= self.max_count)


def oracle_counts(case):
    """(kmer, count) of all k-mers, in order; and records, characters, k-mers, distinct k-mers."""
    with open(case.path, "rb") as text:
        command = common.oracle_command(case.k, case.forward, case.min_quality) + ["--totals"]
        done = common.run(command, stdin=text)
    if done.returncode != 0:
        raise common.Failed(f"the oracle: {done.stderr.decode()}")
    pairs = []
    for line in done.stdout.decode().splitlines():
        kmer, count = line.split("\t")
        pairs.append((kmer, int(count)))
    return pairs, [int(number) for number in done.stderr.split()]


def difference(wanted, got):
    wanted, got = wanted.splitlines(), got.splitlines()
    lines = [f"wanted {len(wanted)} lines, got {len(got)}"]
    missing, additional = sorted(set(wanted) - set(got)), sorted(set(got) - set(wanted))
    lines += [f"  missing: {line}" for line in missing[:5]] + [f"  additional: {line}" for line in additional[:5]]
    if not missing and not additional:
        lines.append("  the same lines in another order, or some twice")
    return "\n".join(lines)


def check_queries(report, case, warpmer, index, kept):
    """`query` of k-mers that are there, that are not, and of the other strand of some."""
    rng = case.rng
    kmers = [rng.choice(kept)[0] for _ in range(20)] if kept else []
    kmers += [random_bases(rng, case.k) for _ in range(20)]
    kmers += [reverse_complement(kmer) for kmer in kmers]
    counts = dict(kept)
    done = common.run([warpmer, "query", index, *kmers])
    answers = [line.split("\t") for line in done.stdout.decode().splitlines()]
    if done.returncode != 0 or len(answers) != len(kmers):
        report.fail(f"{case} query", f"exit {done.returncode}, {len(answers)} answers: {done.stderr.decode()}")
        return
    wrong = []
    for kmer, answer in zip(kmers, answers):
        key = kmer if case.forward else min(kmer, reverse_complement(kmer))
        if answer[0] not in (kmer, key) or int(answer[-1]) != counts.get(key, 0):
            wrong.append(f"{kmer}: {answer}, wanted {counts.get(key, 0)}")
    report.check(f"{case} query", not wrong, "\n".join(wrong[:5]))


def run_case(report, case, warpmer, folder):
    index = folder / f"case{case.number}.wmi"
    command = case.count_command(warpmer, index)
    said = common.quoted(command) + (f" < {case.path}" if case.from_stdin else "")
    pairs, (records, characters, kmers, distinct) = oracle_counts(case)
    if case.from_stdin:
        with open(case.path, "rb") as text:
            done = common.run(command, stdin=text)
    else:
        done = common.run(command)
    if not report.check(f"{case} count", done.returncode == 0,
                        f"{said}\nexit {done.returncode}: {done.stderr.decode(errors='replace')}"):
        return False
    failed = report.failed
    kept = [(kmer, count) for kmer, count in pairs if case.keeps(count)]
    wanted = "".join(f"{kmer}\t{count}\n" for kmer, count in kept)
    got = common.run([warpmer, "dump", "--sort", index]).stdout.decode()
    report.check(f"{case} dump --sort", got == wanted, lambda: f"{said}\n{difference(wanted, got)}")
    if not FULL and case.number % 4 != 0:
        return report.failed == failed
    unsorted = common.run([warpmer, "dump", index]).stdout.decode()
    report.check(f"{case} dump", sorted(unsorted.splitlines()) == wanted.splitlines(), said)
    records_of_fasta = "".join(f">{count}\n{kmer}\n" for kmer, count in kept)
    got_fasta = common.run([warpmer, "dump", "--sort", "--format", "fasta", index]).stdout.decode()
    report.check(f"{case} dump --format fasta", got_fasta == records_of_fasta, said)

    histogram = collections.Counter(count for _, count in kept)
    wanted_histo = "".join(f"{count} {number}\n" for count, number in sorted(histogram.items()))
    got_histo = common.run([warpmer, "histo", index]).stdout.decode()
    report.check(f"{case} histo", got_histo == wanted_histo, lambda: f"{said}\n{difference(wanted_histo, got_histo)}")
    if max(histogram, default=0) <= 200_000:
        dense = "".join(f"{count} {histogram.get(count, 0)}\n" for count in range(1, max(histogram, default=0) + 1))
        got_dense = common.run([warpmer, "histo", "--dense", index]).stdout.decode()
        report.check(f"{case} histo --dense", got_dense == dense, lambda: f"{said}\n{difference(dense, got_dense)}")

    done = common.run([warpmer, "stats", "--json", index])
    stats = json.loads(done.stdout or b"{}")
    wanted_stats = {
        "k": case.k,
        "strand": "forward" if case.forward else "canonical",
        "sequences": records,
        "bases": characters,
        "counted_kmers": kmers,
        "counted_distinct": distinct,
        "counted_unique": sum(count == 1 for _, count in pairs),
        "stored_kmers": sum(count for _, count in kept),
        "stored_distinct": len(kept),
        "largest_count": max((count for _, count in kept), default=0),
        "min_count": case.min_count,
        "max_count": case.max_count,
    }
    wrong = [f"{key}: {stats.get(key)}, wanted {value}" for key, value in wanted_stats.items() if stats.get(key) != value]
    report.check(f"{case} stats", not wrong, f"{said}\n" + "\n".join(wrong))
    check_queries(report, case, warpmer, index, kept)
    return report.failed == failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=by_tier(5, 1) * len(MAKERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="run this one alone and keep its files")
    arguments = parser.parse_args()
    report = common.Report()
    warpmer = common.warpmer_path()
    common.oracle_path()
    with tempfile.TemporaryDirectory(prefix="random_data.") as temporary:
        folder = pathlib.Path(temporary)
        if arguments.case is not None:
            folder = pathlib.Path(tempfile.mkdtemp(prefix=f"random_data.case{arguments.case}."))
            print(f"files are in {folder}")
        numbers = range(arguments.cases) if arguments.case is None else (arguments.case,)
        for number in numbers:
            case = Case(arguments.seed, number, folder)
            try:
                run_case(report, case, warpmer, folder)
            except common.Failed as failure:
                report.fail(case, failure)
            if arguments.case is None:
                case.path.unlink()
                (folder / f"case{number}.wmi").unlink(missing_ok=True)
    if report.failed:
        print(f"the seed was {arguments.seed}")
    report.finish()


if __name__ == "__main__":
    main()
