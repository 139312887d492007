#!/usr/bin/env python3
"""`positions` and `locate` against plain Python: every occurrence of every k-mer, on both strands.

ctest: long
"""

import collections
import gzip
import json
import random
import re

from common_cli import (
    DATA,
    INPUT,
    NOTHING_FOUND,
    RESOURCE,
    USAGE,
    CliTest,
    canonical,
    fasta,
    kmers_of,
    main,
    read_sequences,
    reverse_complement,
)
from common_tier import FULL, by_tier, one_thread, some, without_sanitizers
from common_wmp import PositionIndex

HEADER = "query\tquery_pos\tsequence\tposition\tstrand\n"
SUMMARY = "read\tkmers\tfound\thits\n"
LENGTHS = (31, 33, 1, 5, 15, 32, 55, 64)


def occurrences(records, k):
    """Where each k-mer stands as it is: lists of (number of the sequence, position)."""
    found = collections.defaultdict(list)
    for number, (_, sequence) in enumerate(records):
        for position, kmer in enumerate(kmers_of(sequence, k)):
            if kmer is not None:
                found[kmer].append((number, position))
    return found


def found_by_search(records, kmers):
    """The same of some k-mers: for long sequences, where Python takes its time over every position."""
    found = {}
    for number, (_, sequence) in enumerate(records):
        for kmer in kmers:
            at = sequence.find(kmer)
            while at >= 0:
                found.setdefault(kmer, []).append((number, at))
                at = sequence.find(kmer, at + 1)
    return found


class Oracle:
    def __init__(self, records, k, forward=False, found=None):
        """`found`: where the k-mers are that will be asked for, if that is known."""
        self.records, self.k, self.forward = records, k, forward
        self.found = occurrences(records, k) if found is None else found

    def hits(self, kmer):
        """(sequence, position, strand) in the order of the reference."""
        plus = [(place, "+") for place in self.found.get(kmer, ())]
        other = reverse_complement(kmer)
        minus = [] if self.forward or other == kmer else [(place, "-") for place in self.found.get(other, ())]
        return [(self.records[number][0], position, strand) for (number, position), strand in sorted(plus + minus)]

    def lines(self, reads, most=None):
        text = []
        for name, sequence in reads:
            for at, kmer in enumerate(kmers_of(sequence, self.k)):
                hits = [] if kmer is None else self.hits(kmer)
                if most is None or len(hits) <= most:
                    text += [f"{name}\t{at}\t{s}\t{position}\t{strand}\n" for s, position, strand in hits]
        return "".join(text)

    def summary(self, reads, most=None):
        text = []
        for name, sequence in reads:
            kmers = [kmer for kmer in kmers_of(sequence, self.k) if kmer is not None]
            numbers = [len(self.hits(kmer)) for kmer in kmers]
            numbers = [n for n in numbers if n > 0 and (most is None or n <= most)]
            text.append(f"{name}\t{len(kmers)}\t{len(numbers)}\t{sum(numbers)}\n")
        return "".join(text)


def content(data):
    """What of a file does not depend on how it was made."""
    provenance = int.from_bytes(data[-136 + 72 : -136 + 80], "little")
    return data[:provenance], data[-136 + 96 : -136 + 104]


def random_genome(seed, length=4000):
    """Records with repeats on both strands, N's, lower case, palindromes and low complexity."""
    source = random.Random(seed)

    def some_bases(n):
        return "".join(source.choices("ACGT", k=n))

    repeat = some_bases(300)
    arm = some_bases(60)
    parts = [some_bases(length), repeat, some_bases(100), reverse_complement(repeat), "N" * 7, repeat.lower()]
    parts += ["A" * 90, some_bases(50), "ACG" * 40, arm + reverse_complement(arm), some_bases(200), "T" * 80, repeat]
    sequence = "".join(parts)
    cuts = sorted(source.sample(range(len(sequence)), 4))
    pieces = [sequence[a:b] for a, b in zip([0, *cuts], [*cuts, len(sequence)])]
    pieces.insert(2, "")
    pieces.insert(3, "ACGTN" * 8)
    return [(f"seq{i}", piece) for i, piece in enumerate(pieces)]


class Positions(CliTest):
    def index(self, *inputs, k=31, options=(), output="ref.wmp", stdin=b""):
        self.warpmer("positions", "-k", k, *options, "-o", output, *inputs, stdin=stdin)
        return output

    def check_file(self, index, oracle):
        """The file holds what Python finds, in canonical order, as the format's page says."""
        read = PositionIndex(self.folder / index)
        self.assertEqual(read.sequences, [(name, len(sequence)) for name, sequence in oracle.records])
        self.assertEqual((read.k, read.canonical), (oracle.k, not oracle.forward))
        expected = collections.defaultdict(list)
        for kmer, places in oracle.found.items():
            name = kmer if oracle.forward else canonical(kmer)
            strand = "+" if name == kmer else "-"
            expected[name] += [(number, position, strand) for number, position in places]
        expected = {
            kmer: [(oracle.records[n][0], position, strand) for n, position, strand in sorted(places)]
            for kmer, places in expected.items()
        }
        found = collections.defaultdict(list)
        for kmer, *place in read.entries():
            found[kmer].append(tuple(place))
        self.assertEqual(found, expected)
        sizes = [len(places) for places in expected.values()]
        self.assertEqual(
            (read.occurrences, read.distinct, read.unique, read.most_occurrences),
            (sum(sizes), len(sizes), sizes.count(1), max(sizes, default=0)),
        )

    def check(self, inputs, reads, k, options=()):
        records = [record for path in inputs for record in read_sequences(path)]
        oracle = Oracle(records, k, "--forward" in options)
        index = self.index(*inputs, k=k, options=options)
        self.check_file(index, oracle)
        asked = [read for path in reads for read in read_sequences(path)]
        arguments = ["locate", index, "-t", 3, "--reads", *reads]
        same = self.warpmer(*arguments) == HEADER + oracle.lines(asked)
        self.assertTrue(same, "hits differ")  # a diff of them would take minutes
        self.assertEqual(self.warpmer(*arguments, "--summary"), SUMMARY + oracle.summary(asked))

    @one_thread
    def test_random_references(self):
        for k in some(LENGTHS, 2):
            with self.subTest(k=k):
                genome = random_genome(k, 300 if k == 1 else 4000)
                self.file("ref.fa", fasta(genome))
                # Reads of either strand, some with errors, some from nowhere.
                source = random.Random(k)
                whole = "".join(sequence for _, sequence in genome).upper()
                reads = []
                for i in range(12 if k < 10 else 60):
                    at = source.randrange(len(whole) - 150)
                    read = whole[at : at + source.choice((20, 100, 150))]
                    if i % 2:
                        read = "".join(reversed([{"A": "T", "C": "G", "G": "C", "T": "A"}.get(c, c) for c in read]))
                    if i % 5 == 0:
                        read = read[:30] + "N" + read[31:60] + source.choice("ACGT") + read[61:]
                    reads.append((f"r{i}", read))
                reads.append(("empty", ""))
                self.file("reads.fa", fasta(reads))
                for options in ((), ("--forward",)) if FULL and k in (5, 31, 33) else ((),):
                    self.check([self.folder / "ref.fa"], [self.folder / "reads.fa"], k, options)

    def test_bundled_inputs(self):
        for k in some((31, 40)):
            with self.subTest(k=k):
                self.check([DATA / "genome.fa"], [DATA / "forty.fq"], k)
        names = ("iupac.fa", "short.fa", "palindromes.fa", "empty_records.fa", "low_complexity.fa", "one_base.fa")
        for k in some((6, 31, 12), 2):
            with self.subTest(k=k):
                # Thousands of the same base, asked for where they occur, would be millions of lines.
                asked = [DATA / name for name in names if name != "low_complexity.fa"]
                self.check([DATA / name for name in names], asked, k)

    @one_thread
    def test_reads_are_a_reference(self):
        self.check([DATA / "forty.fq"], [DATA / "forty.fq"], 21)

    def test_a_sequence_longer_than_batches(self):
        # Reading takes 4 MiB at a time, locating 256 KiB.
        source = random.Random(5)
        unit = "".join(source.choices("ACGT", k=9000))
        long = "".join(unit[: 8000 + 7 * (i % 50)] + ("N" if i % 3 else "") for i in range(600))
        records = [("first", unit[:500]), ("long", long), ("last", reverse_complement(unit[100:700]))]
        self.file("ref.fa", fasta(records))
        k = 29
        index = self.index("ref.fa", k=k)
        reads = [("q", unit[8200:8300]), ("r", reverse_complement(unit[450:520]))]
        asked = {kmer for _, sequence in reads for kmer in kmers_of(sequence, k)}
        asked |= set(map(reverse_complement, asked))
        found = found_by_search(records, sorted(asked))
        oracle = Oracle(records, k, found=found)
        self.file("reads.fa", fasta(reads))
        self.assertTrue(self.warpmer("locate", index, "--reads", "reads.fa") == HEADER + oracle.lines(reads))
        # The other way round: long reads.
        index = self.index("reads.fa", k=k)
        oracle = Oracle(reads, k)
        lines, numbers = [], [[0, 0] for _ in records]
        for (number, at), kmer in sorted((place, kmer) for kmer, places in found.items() for place in places):
            hits = oracle.hits(kmer)
            lines += [f"{records[number][0]}\t{at}\t{s}\t{position}\t{strand}\n" for s, position, strand in hits]
            numbers[number][0] += 1 if hits else 0
            numbers[number][1] += len(hits)
        lines = "".join(lines)
        summary = ""
        for (name, sequence), (kmers_found, hits) in zip(records, numbers):
            kmers = sum(max(0, len(run) - k + 1) for run in sequence.split("N"))
            summary += f"{name}\t{kmers}\t{kmers_found}\t{hits}\n"
        for threads in some((3, 1)):
            arguments = ["locate", index, "-t", threads, "--reads", "ref.fa"]
            self.assertTrue(self.warpmer(*arguments) == HEADER + lines)
            self.assertEqual(self.warpmer(*arguments, "--summary"), SUMMARY + summary)

    def test_more_hits_than_are_kept(self):
        # Each of 300 k-mers has 20,000 hits. These lines are more than the 64 MiB that a batch may keep.
        k = 11
        self.file("ref.fa", fasta([("a", "A" * (20000 + k - 1)), ("b", "ACGTACGATCAG")]))
        self.file("reads.fa", fasta([("x", "ACGTACGATCAG"), ("y", "T" * (300 + k - 1)), ("z", "ACGTACGATCA")]))
        index = self.index("ref.fa", k=k)
        lines_of_one = "".join(f"y\t0\ta\t{p}\t-\n" for p in range(20000))
        hot = "".join(lines_of_one.replace("y\t0", f"y\t{i}") for i in range(300))
        x = "x\t0\tb\t0\t+\nx\t1\tb\t1\t+\n"
        z = "z\t0\tb\t0\t+\n"
        out = self.warpmer("locate", index, "-t", 3, "--no-header", "--reads", "reads.fa")
        self.assertTrue(out == x + hot + z)
        self.assertEqual(self.warpmer("locate", index, "--reads", "reads.fa", "--max-hits", 19999), HEADER + x + z)
        self.assertEqual(
            self.warpmer("locate", index, "--summary", "--reads", "reads.fa", "--max-hits", 19999),
            SUMMARY + "x\t2\t2\t2\ny\t300\t0\t0\nz\t1\t1\t1\n",
        )
        self.assertEqual(
            self.warpmer("locate", index, "--summary", "--reads", "reads.fa", "--max-hits", 20000),
            SUMMARY + "x\t2\t2\t2\ny\t300\t300\t6000000\nz\t1\t1\t1\n",
        )
        number = by_tier(300, 3)
        self.file("kmers", "ACGTACGATCA\n" + "TTTTTTTTTTT\n" * number + "\nACGTACGATCA\tmore\n")
        out = self.warpmer("locate", index, "-t", "1", "--kmers", "kmers")
        line = "ACGTACGATCA\t0\tb\t0\t+\n"
        expected = HEADER + line + "".join(f"TTTTTTTTTTT\t0\ta\t{p}\t-\n" for p in range(20000)) * number + line
        self.assertTrue(out == expected)

    @one_thread
    def test_info(self):
        self.file("ref.fa", fasta([("one", "GATTACAGA"), ("two", "TGTAAT")]))
        index = self.index("ref.fa", k=5)
        info = json.loads(self.warpmer("info", "--json", index))
        self.assertEqual(info["file_bytes"], (self.folder / index).stat().st_size)
        self.assertEqual((info["params"]["k"], info["params"]["strand"]), (5, "canonical"))
        self.assertEqual(
            info["totals"],
            {"sequences": 2, "bases": 15, "positions": 7, "distinct": 5, "unique": 3, "most_positions": 2},
        )
        self.assertEqual(info["provenance"]["inputs"], ["ref.fa"])
        text = self.warpmer("info", index)
        for line in (f"file {index}", "k 5", "sequences 2", "positions 7", "distinct k-mers 5", "input ref.fa"):
            label, value = line.rsplit(" ", 1)
            self.assertIn(f"{label:<20}{value}\n", text)
        self.assertIn(info["content_checksum"], text)

    @one_thread
    def test_single_kmers(self):
        records = random_genome(9)
        self.file("ref.fa", fasta(records))
        index = self.index("ref.fa", k=21)
        oracle = Oracle(records, 21)
        sequence = records[0][1].upper()
        kmers = [sequence[10:31], reverse_complement(sequence[40:61]), "A" * 21, "ACGTACGTACGTACGTACGTA", "T" * 21]
        expected = HEADER + "".join(
            f"{kmer}\t0\t{s}\t{p}\t{strand}\n" for kmer in kmers for s, p, strand in oracle.hits(kmer)
        )
        self.assertEqual(self.warpmer("locate", index, *kmers), expected)
        self.file("kmers", "\n".join(kmers))
        self.assertEqual(self.warpmer("locate", index, "--kmers", "kmers"), expected)
        self.assertEqual(self.warpmer("locate", index, "--kmers", "-", stdin="\n".join(kmers)), expected)
        for end in ("\r", "\r\n"):  # and blanks around, and comments between
            stdin = "# k-mers" + end + "".join(f"  {kmer}\t{end}" for kmer in kmers)
            self.assertEqual(self.warpmer("locate", index, "--kmers", "-", stdin=stdin), expected)
        self.assertEqual(self.warpmer("locate", index, kmers[0].lower()).splitlines()[1].split("\t")[0], kmers[0].lower())
        self.warpmer("locate", index, "--exit-status", kmers[0])
        self.warpmer("locate", index, "--exit-status", "ACGTACGTACGTACGTACGTA", status=NOTHING_FOUND)

    @one_thread
    def test_inputs_of_every_kind(self):
        records = random_genome(3)
        text = fasta(records)
        self.file("ref.fa", text)
        wrapped = "".join(
            f">{name} comment\r\n" + "".join(sequence[i : i + 60] + "\r\n" for i in range(0, len(sequence), 60))
            for name, sequence in records
        )
        self.file("wrapped.fa", wrapped)
        self.file("ref.fa.gz", gzip.compress(text))
        middle = len(records) // 2
        self.file("one.fa", fasta(records[:middle]))
        self.file("two.fa", fasta(records[middle:]))
        self.file("list", "one.fa\ntwo.fa\n")
        expected = list(PositionIndex(self.folder / self.index("ref.fa", k=17)).entries())
        for inputs in (("wrapped.fa",), ("ref.fa.gz",), ("one.fa", "two.fa"), ("@list",)):
            with self.subTest(inputs=inputs):
                self.assertEqual(list(PositionIndex(self.folder / self.index(*inputs, k=17)).entries()), expected)
        self.index("-", k=17, stdin=text)
        self.assertEqual(list(PositionIndex(self.folder / "ref.wmp").entries()), expected)

    def test_same_bytes(self):
        """For any number of threads and passes, in a file and in a pipe."""
        source = random.Random(1)
        repeat = "".join(source.choices("ACGT", k=2000))
        records = [(f"s{i}", "".join(source.choices("ACGT", k=60000)) + repeat) for i in range(15)]
        records.append(("hot", "A" * 50000))
        self.file("ref.fa", fasta(records))

        for k in some((31, 47)):
            (self.folder / "one.wmp").unlink(missing_ok=True)
            self.index("ref.fa", k=k, options=("-t", 1), output="one.wmp")
            one = content((self.folder / "one.wmp").read_bytes())
            for threads in (2, 5):
                self.index("ref.fa", k=k, options=("-t", threads))
                self.assertTrue(content((self.folder / "ref.wmp").read_bytes()) == one)
            piped = self.run_process("positions", "-k", k, "-t", 3, "-o", "-", "ref.fa")
            self.done(piped)
            self.assertTrue(content(piped.stdout) == one)
        answer = self.warpmer("locate", "-", repeat[:k], stdin=piped.stdout)
        self.assertEqual(answer.count("\n"), 16)

    def test_memory(self):
        if not FULL:
            self.skipTest("sanitizers take memory of their own")
        source = random.Random(2)
        records = [("s", "".join(source.choices("ACGT", k=3_000_000)))]
        self.file("ref.fa", fasta(records))
        self.index("ref.fa", options=("-t", 2), output="free.wmp")
        free = (self.folder / "free.wmp").read_bytes()
        one_pass = several = 0
        for megabytes in range(30, 150, 5):
            run = self.run_process(
                "positions", "-t", 2, "-m", f"{megabytes}M", "--progress", "-o", "tight.wmp", "ref.fa"
            )
            if run.returncode == RESOURCE:
                self.assertRegex(run.stderr.decode(), r"-m \d+ MiB is too little.* \d+ MiB.*raise -m\n\Z")
                self.assertNotIn("tight.wmp", self.files())
                self.assertEqual(several + one_pass, 0, "more memory must not be too little")
                continue
            self.assertEqual(run.returncode, 0)
            tight = (self.folder / "tight.wmp").read_bytes()
            self.assertTrue(content(tight) == content(free))
            if b" 1 pass\n" in run.stderr:
                one_pass += 1
                break
            several += 1
        self.assertGreater(one_pass, 0)
        self.assertGreater(several, 0)

    @without_sanitizers
    def test_a_pipe_needs_what_is_said(self):
        """Of which it is not known how much follows."""
        text = fasta([("s", random.Random(3).randbytes(5_000_000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4)))] * 2)
        command = ("positions", "-t", 2, "-o", "x.wmp", "-", "-m")
        error = self.refused(RESOURCE, "the sequences alone, .* take about", *command, "10M", stdin=text)
        self.warpmer(*command, re.search(r"about (\d+ M)iB", error)[1].replace(" ", ""), stdin=text)

    @one_thread
    def test_damaged_files(self):
        self.file("ref.fa", fasta(random_genome(4, 800)))
        index = self.index("ref.fa", k=19)
        good = (self.folder / index).read_bytes()
        source = random.Random(7)
        reads = ["--reads", "ref.fa"]  # asks for every bin
        for at in sorted({0, 8, 12, 16, 40, 63, len(good) - 1, *source.sample(range(len(good)), by_tier(50, 10))}):
            flipped = bytearray(good)
            flipped[at] ^= 1 << source.randrange(8)
            self.file("bad.wmp", bytes(flipped))
            with self.subTest(byte=at):
                process = self.run_process("locate", "bad.wmp", *reads)
                self.assertEqual(process.returncode, INPUT)
                self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: 'bad.wmp' [^\n]+\n\Z")
        for size in some((0, 1, 7, 8, 63, 64, 65, 199, 200, len(good) // 2, len(good) - 8, len(good) - 1), 6):
            self.file("bad.wmp", good[:size])
            with self.subTest(size=size):
                self.refused(INPUT, "'bad.wmp' is (empty|truncated|damaged)", "locate", "bad.wmp", *reads)
        self.file("bad.wmp", good + b"\0")
        self.refused(INPUT, "bad.wmp", "locate", "bad.wmp", *reads)
        self.refused(INPUT, "not a warpmer index of positions", "locate", "ref.fa", *reads)
        self.count("ref.fa", k=19, output="counts.wmi")
        self.refused(INPUT, "such as 'warpmer count' makes; .* 'warpmer positions'", "locate", "counts.wmi", *reads)
        self.refused(INPUT, "such as 'warpmer positions' makes; .* 'warpmer count'", "query", index, "A" * 19)
        newer = bytearray(good)
        newer[8] = 2
        self.file("bad.wmp", bytes(newer))
        self.refused(INPUT, "format version 2", "locate", "bad.wmp", *reads)

    @one_thread
    def test_refusals(self):
        self.file("ref.fa", fasta(random_genome(4, 300)))
        index = self.index("ref.fa", k=19)
        self.refused(USAGE, "-o", "positions", "ref.fa")
        self.refused(USAGE, "-k must be", "positions", "-k", "0", "-o", "x.wmp", "ref.fa")
        self.refused(USAGE, "-k must be", "positions", "-k", "65", "-o", "x.wmp", "ref.fa")
        self.refused(USAGE, "REF", "positions", "-o", "x.wmp")
        self.refused(USAGE, "one of the inputs", "positions", "-o", "ref.fa", "ref.fa")
        self.refused(INPUT, "no_such.fa", "positions", "-o", "x.wmp", "no_such.fa")
        self.refused(INPUT, "bad_character.fq", "positions", "-o", "x.wmp", DATA / "bad_character.fq")
        self.refused(INPUT, "bad_truncated", "positions", "-o", "x.wmp", DATA / "bad_truncated.fq.gz")
        self.refused(RESOURCE, "no_such_folder", "positions", "-o", "no_such_folder/x.wmp", "ref.fa")
        self.warpmer("positions", "--lenient", "-o", "lenient.wmp", DATA / "bad_character.fq")
        self.file("short.fa", ">a\nACGT\n")
        self.refused(INPUT, "shorter than k", "positions", "--strict", "-o", "-", "short.fa")
        self.refused(USAGE, "--min-base-quality needs --reads", "locate", index, "--min-base-quality", "5", "A" * 19)
        self.refused(USAGE, "nothing to look up", "locate", index)
        self.refused(USAGE, "exclude each other", "locate", index, "A" * 19, "--reads", "ref.fa")
        self.refused(USAGE, "--summary needs --reads", "locate", index, "--summary", "A" * 19)
        self.refused(USAGE, "has 18 bases", "locate", index, "A" * 18)
        self.refused(USAGE, "no k-mer", "locate", index, "A" * 18 + "N")
        self.refused(USAGE, "--max-hits must be", "locate", index, "--max-hits", "0", "A" * 19)
        self.refused(INPUT, "no_such", "locate", "no_such.wmp", "A" * 19)
        self.refused(INPUT, "bad_character.fq", "locate", index, "--no-header", "-o", "out", "--reads", DATA / "bad_character.fq")
        self.file("kmers", "A" * 19 + "\nACGT\n")
        self.refused(INPUT, "kmers:2: 'ACGT' has 4 bases", "locate", index, "-o", "out", "--kmers", "kmers")
        self.file("kmers", "A" * 19 + "\r\r \tACGT\r")
        self.refused(INPUT, "kmers:3: 'ACGT' has 4 bases", "locate", index, "-o", "out", "--kmers", "kmers")

    @one_thread
    def test_nothing_to_index(self):
        self.file("short.fa", ">a\nACG\n>b\nNNNNNNNN\n")
        index = self.index("short.fa", k=31, options=("-q",))
        self.assertEqual(self.warpmer("locate", index, "A" * 31), HEADER)
        self.assertEqual(PositionIndex(self.folder / index).sequences, [("a", 3), ("b", 8)])
        self.file("empty.fa", "")
        index = self.index("empty.fa", k=31, options=("-q",), output="empty.wmp")
        self.assertEqual(self.warpmer("locate", "-q", index, "--summary", "--reads", "short.fa"), SUMMARY + "a\t0\t0\t0\nb\t0\t0\t0\n")


if __name__ == "__main__":
    main()
