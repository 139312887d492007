"""What the tests of the command line share: a scratch folder, running warpmer, and a naive k-mer counter.

The counter is plain Python and shares nothing with warpmer. Environment: WARPMER (the binary),
WARPMER_DATA (the folder data/).
"""

import collections
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

from common_tier import FULL, some

SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("WARPMER_DATA", SOURCE / "data"))
WARPMER = os.environ.get("WARPMER", "")

# Some signals would leave a core beside a test's files.
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

DONE, NOTHING_FOUND, USAGE, INPUT, RESOURCE = 0, 1, 2, 3, 4

COMPLEMENT = str.maketrans("ACGT", "TGCA")
BASES = set("ACGT")


def reverse_complement(kmer):
    return kmer.translate(COMPLEMENT)[::-1]


def random_bases(chance, length, letters="ACGT"):
    return "".join(chance.choices(letters, k=length))


def canonical(kmer):
    return min(kmer, reverse_complement(kmer))


def kmers_of(sequence, k):
    """The k-mer at every position, as read; None where it contains a break."""
    text = sequence.upper().replace("U", "T")
    kmers = [None] * max(0, len(text) - k + 1)
    for unbroken in re.finditer("[ACGT]+", text):
        for begin in range(unbroken.start(), unbroken.end() - k + 1):
            kmers[begin] = text[begin : begin + k]
    return kmers


def naive_count(sequences, k, forward=False):
    kmers = [kmer for sequence in sequences for kmer in kmers_of(sequence, k) if kmer is not None]
    as_read = collections.Counter(kmers)
    if forward:
        return as_read
    counts = collections.Counter()
    for kmer, number in as_read.items():
        counts[canonical(kmer)] += number
    return counts


def read_sequences(path):
    """(name, sequence) of FASTA or four-line FASTQ, gzip or not."""
    path = pathlib.Path(path)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as lines:
        lines = [line.rstrip("\r\n") for line in lines]
    if lines and lines[0].startswith("@"):
        return [(lines[i][1:].split()[0], lines[i + 1]) for i in range(0, len(lines), 4)]
    records = []
    for line in lines:
        if line.startswith(">"):
            records.append([(line[1:].split() or [""])[0], ""])
        elif records:
            records[-1][1] += line
    return [tuple(record) for record in records]


def fasta(records):
    return "".join(f">{name}\n{sequence}\n" for name, sequence in records).encode()


def resident_bytes(process, what="VmRSS"):
    """What a process that runs has in memory; VmHWM: at most, so far."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(rf"{what}:\s*(\d+) kB", status)[1]) << 10


def file_size_limit(most=100):
    """For preexec_fn: files of `most` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def small_parent(arguments):
    """What comes before a command whose peak is looked at, perhaps. Portable builds know what getrusage tells: on Linux that
    begins with the resident set of the process that forked, so it is to be a small one."""
    is_measured = "WARPMER_PORTABLE" in os.environ and not {"-m", "--stats"}.isdisjoint(arguments)
    return ["sh", "-c", '"$0" "$@"; exit $?'] if is_measured else []


def has_files_without_names(folder):
    """Whether the file system has them: then nothing is left of an output however a process ends. Portable builds have none."""
    if "WARPMER_PORTABLE" in os.environ:
        return False
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return False
    return True


class CliTest(unittest.TestCase):
    """Each test runs in an empty folder of its own."""

    maxDiff = 2000
    strict_and_quiet = set()  # commands that have been run so by warned(), in the sample tier

    def setUp(self):
        if not os.access(WARPMER, os.X_OK):
            self.skipTest("no warpmer binary (set WARPMER)")
        folder = tempfile.TemporaryDirectory(prefix="warpmer-cli.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def unfinished_bytes(self, process):
        """The sizes of the outputs in the folder that a process writes and that have no name yet, or a temporary one."""
        sizes = []
        descriptors = pathlib.Path(f"/proc/{process.pid}/fd")
        with contextlib.suppress(OSError):  # it has ended
            for descriptor in descriptors.iterdir():
                with contextlib.suppress(FileNotFoundError):  # it was closed since it was listed: others may be outputs
                    leads_to = os.readlink(descriptor)
                    if leads_to.startswith(f"{self.folder.resolve()}/") and leads_to.endswith((".tmp", " (deleted)")):
                        sizes.append(descriptor.stat().st_size)
        return sizes

    def files(self):
        """Everything in the folder, hidden files included."""
        return sorted(os.listdir(self.folder))

    def run_process(self, *arguments, stdin=b"", **options):
        """`stdin`: what comes from a pipe, or an open file."""
        if hasattr(stdin, "fileno"):
            options["stdin"] = stdin
        else:
            options["input"] = stdin.encode() if isinstance(stdin, str) else stdin
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [*small_parent(arguments), WARPMER, *map(str, arguments)],
            stderr=subprocess.PIPE, cwd=self.folder, check=False, **options
        )

    def done(self, process, *about, error=None):
        """It went well and said nothing but, perhaps, the line at the end, which tells what was done."""
        error = process.stderr if error is None else error
        self.assertEqual(process.returncode, DONE, (*about, error))
        self.assertRegex(error, rb"\A(warpmer: (?!error:|warning:)[^\n]+\n)?\Z", about)

    def warpmer(self, *arguments, stdin=b"", status=DONE):
        """What it prints, as text; it must end with `status` and, when all went well, warn of nothing."""
        process = self.run_process(*arguments, stdin=stdin)
        self.assertEqual(process.returncode, status, (arguments, process.stderr))
        if status == DONE:
            self.done(process, arguments)
        return process.stdout.decode()

    def warned(self, pattern, *arguments, stdin=b""):
        """What it prints; it must go well and print one warning, which matches. With -q it prints none, and with --strict
        it ends with INPUT and leaves no output behind; in the sample tier that is looked at once for each command."""
        quiet = None
        if FULL or arguments[0] not in self.strict_and_quiet:
            self.strict_and_quiet.add(arguments[0])
            before = self.files()
            strict = self.run_process(*arguments, "--strict", "-q", stdin=stdin)
            self.assertEqual(strict.returncode, INPUT, (arguments, strict.stderr))
            self.assertRegex(strict.stderr.decode(), r"\Awarpmer: error: [^\n]+ \(a warning, which --strict makes an error\)\n\Z")
            self.assertEqual(self.files(), before, arguments)
            quiet = self.run_process(*arguments, "-q", stdin=stdin)
            self.done(quiet, arguments)
        process = self.run_process(*arguments, stdin=stdin)
        warnings = [line for line in process.stderr.decode().splitlines() if line.startswith("warpmer: warning: ")]
        self.assertEqual((process.returncode, len(warnings)), (DONE, 1), (arguments, process.stderr))
        self.assertRegex(warnings[0], pattern, arguments)
        if quiet and arguments[0] != "plan":  # whose numbers are of the command line, too
            self.assertEqual(process.stdout, quiet.stdout, arguments)
        return process.stdout.decode()

    def refused(self, status, pattern, *arguments, stdin=b""):
        """What it says; it must end with `status`, one line on stderr that matches, nothing on stdout, no new file."""
        before = self.files()
        process = self.run_process(*arguments, stdin=stdin)
        error = process.stderr.decode(errors="replace")
        self.assertEqual(process.returncode, status, (arguments, error))
        self.assertEqual(process.stdout, b"", arguments)
        self.assertRegex(error, r"\Awarpmer: error: [^\n]+\n\Z", arguments)
        self.assertRegex(error, pattern, arguments)
        self.assertEqual(self.files(), before, arguments)
        return error

    def count(self, *inputs, k=31, options=(), output="out.wmi", stdin=b""):
        self.warpmer("count", "-k", k, *options, "-o", output, *inputs, stdin=stdin)
        return output

    def info(self, index):
        return json.loads(self.warpmer("info", "--json", index))

    def totals(self, index):
        return self.info(index)["totals"]

    def checksum(self, index):
        return self.info(index)["content_checksum"]

    def refused_damaged(self, content, places, *arguments):
        """Runs a command on `bad.wmi`: what is in an index, but one bit, at so many places. It has to name that file."""
        for place in some(range(0, len(content), max(1, len(content) // places)), 4):
            damaged = bytearray(content)
            damaged[place] ^= 0x10
            self.file("bad.wmi", bytes(damaged))
            with self.subTest(place=place):
                self.refused(INPUT, "bad.wmi", *arguments)

    def content(self, index):
        """Of an index, a digest of all bytes that depend on the k-mers and their counts, and on nothing else."""
        size = self.info(index)["content_bytes"]
        with open(self.folder / index, "rb") as file:
            return hashlib.sha256(file.read(size)).hexdigest()

    def dump(self, index, *options):
        """K-mers and counts as a dict."""
        entries = {}
        for line in self.warpmer("dump", *options, index).splitlines():
            kmer, count = line.split("\t")
            self.assertNotIn(kmer, entries)
            entries[kmer] = int(count)
        return entries


def main():
    program = unittest.main(exit=False, verbosity=1)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIP if result.skipped and len(result.skipped) == result.testsRun else 0)
