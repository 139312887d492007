"""What the tests of real, random and refused inputs share: running warpmer and the oracle, and reporting.

Environment: WARPMER (the binary), NAIVE_COUNT (the oracle's binary; built on the fly when unset),
WARPMER_SHARED (the folder with data/; default: ../shared beside the source tree).
"""

import csv
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77
CHUNK = 1 << 20

# Characters a sequence may hold: bases (with U), the other IUPAC codes, gaps, '*' and X.
ALLOWED = frozenset(b"ACGTURYSWKMBDHVNXacgturyswkmbdhvnx-.*")


def skip_all(why):
    print(f"skipped: {why}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(SKIP)


def warpmer_path():
    path = os.environ.get("WARPMER") or shutil.which("warpmer")
    if not path or not os.access(path, os.X_OK):
        skip_all("no warpmer binary (set WARPMER)")
    return os.path.abspath(path)


def shared_data(required=True):
    """The folder of real data, or None."""
    folder = pathlib.Path(os.environ.get("WARPMER_SHARED") or SOURCE.parent / "shared") / "data"
    if (folder / "MANIFEST.tsv").is_file():
        return folder
    if required:
        skip_all(f"no real data at {folder} (set WARPMER_SHARED)")
    return None


_oracle_folder = None


def oracle_path():
    """The oracle's binary: NAIVE_COUNT, the one in WARPMER_BUILD, or built into a temporary folder."""
    global _oracle_folder
    given = os.environ.get("NAIVE_COUNT")
    if given:
        return os.path.abspath(given)
    built = pathlib.Path(os.environ.get("WARPMER_BUILD", "/nonexistent")) / "bin" / "naive_count"
    if os.access(built, os.X_OK):
        return str(built)
    if _oracle_folder is None:
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
        if not compiler:
            skip_all("no naive_count (set NAIVE_COUNT) and no C++ compiler to build it")
        _oracle_folder = tempfile.TemporaryDirectory(prefix="naive_count.")
        source = SOURCE / "tests" / "oracle" / "naive_count.cpp"
        target = os.path.join(_oracle_folder.name, "naive_count")
        subprocess.run([compiler, "-std=c++17", "-O2", "-o", target, str(source)], check=True)
    return os.path.join(_oracle_folder.name, "naive_count")


def quoted(command):
    return " ".join(shlex.quote(str(part)) for part in command)


class Report:
    """Counts cases, prints what failed, and knows the exit status. Thread-safe."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self._lock = threading.Lock()

    def ok(self, case=None):
        with self._lock:
            self.passed += 1

    def fail(self, case, why):
        with self._lock:
            self.failed += 1
            text = str(why).rstrip("\n").replace("\n", "\n      ")
            print(f"FAIL  {case}\n      {text}", flush=True)

    def skip(self, case, why):
        with self._lock:
            self.skipped += 1
            print(f"skip  {case}: {why}", flush=True)

    def check(self, case, condition, why):
        if condition:
            self.ok(case)
        else:
            self.fail(case, why() if callable(why) else why)
        return bool(condition)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        if self.failed:
            sys.exit(1)
        sys.exit(0 if self.passed else SKIP)


def run(command, **options):
    """A finished process with stdout and stderr as bytes."""
    options.setdefault("stdin", subprocess.DEVNULL)
    if "input" in options:
        options.pop("stdin")
    return subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options
    )


class Digest:
    """SHA-256 and number of lines of a text."""

    def __init__(self, sha256, lines):
        self.sha256, self.lines = sha256, lines

    def __eq__(self, other):
        return (self.sha256, self.lines) == (other.sha256, other.lines)

    def __str__(self):
        return f"{self.lines} lines, sha256 {self.sha256[:16]}"


class Failed(Exception):
    """A command of a pipeline failed, or was not there."""


def stream(pipeline, consume, stdin=None):
    """Runs commands joined by pipes, feeding the last one's output to `consume` in chunks."""
    processes, errors = [], []
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL
    try:
        for command in pipeline:
            error = tempfile.TemporaryFile()
            errors.append(error)
            process = subprocess.Popen(
                [str(part) for part in command], stdin=source, stdout=subprocess.PIPE, stderr=error
            )
            if source is not subprocess.DEVNULL:
                source.close()
            source = process.stdout
            processes.append(process)
        while chunk := source.read(CHUNK):
            consume(chunk)
        source.close()
        for command, process, error in zip(pipeline, processes, errors):
            if process.wait() != 0:
                error.seek(0)
                text = error.read()[-2000:].decode(errors="replace")
                raise Failed(f"{quoted(command)} ended with {process.returncode}: {text}")
    except OSError as failure:
        raise Failed(str(failure)) from failure
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for error in errors:
            error.close()


def digest(pipeline, stdin=None):
    """The Digest of what a pipeline prints."""
    sha256, lines = hashlib.sha256(), [0]

    def consume(chunk):
        sha256.update(chunk)
        lines[0] += chunk.count(b"\n")

    stream(pipeline, consume, stdin)
    return Digest(sha256.hexdigest(), lines[0])


def first_difference(expected, actual, limit=5):
    """The first lines in which two pipelines differ, as text."""
    with tempfile.TemporaryDirectory(prefix="difference.") as folder:
        paths = []
        for name, pipeline in (("expected", expected), ("actual", actual)):
            path = os.path.join(folder, name)
            with open(path, "wb") as out:
                stream(pipeline, out.write)
            paths.append(path)
        shown = []
        with subprocess.Popen(["diff", *paths], stdout=subprocess.PIPE) as diff:
            for line in diff.stdout:
                if line[:1] in b"<>":
                    shown.append(line.decode(errors="replace").rstrip("\n"))
                if len(shown) >= 2 * limit:
                    diff.kill()
                    break
    return "\n".join(["first differences (< expected, > warpmer):", *shown])


class DataFile:
    """One line of MANIFEST.tsv."""

    def __init__(self, folder, row):
        self.name = row["file"]
        self.path = folder / row["file"]
        self.sha256 = row["sha256"]
        self.format = row["format / container"]
        self.base_name = self.path.name
        self.is_sequence = self.format.startswith(("FASTA", "FASTQ"))
        self.is_fastq = self.format.startswith("FASTQ")
        self.is_alignment = self.format.endswith(("BAM", "CRAM"))
        self.records = int(row["records"]) if row["records"].isdigit() else None
        self.bases = int(row["bases"]) if row["bases"].isdigit() else None
        self.lower_case = row["lowercase"].isdigit() and int(row["lowercase"]) > 0
        self.reference = None
        self.version = ""  # of `text_command`, for whoever keeps what came of it
        if "NEEDS the external reference" in row["note"]:
            self.reference = self.path.parent / row["note"].split("external reference ")[1].split()[0]
        if self.is_alignment:
            self.version = "2"
        self._damage = None

    @property
    def is_medium(self):
        return self.name.startswith("medium/")

    @property
    def why_refused(self):
        """Why warpmer must refuse it, or an empty string."""
        if self._damage is None:
            self._damage = self._find_damage()
        return self._damage

    def _find_damage(self):
        if "TRUNCATED" in self.format:
            return "truncated gzip"
        # Of these, one only has other names in its '+' lines.
        if self.base_name.startswith("error_") and self.base_name != "error_diff_ids.fastq":
            return "malformed FASTQ"
        if self.base_name == "f003.fasta":
            return "comments in FASTA"
        if "ERR:" in self.format:
            return "malformed"
        if not self.is_sequence:
            return "" if self.path.stat().st_size == 0 else "no sequences"
        if self.is_medium or self.is_alignment:
            return ""
        letters = foreign_letters(self)
        # Blanks in FASTA are no bases, and nothing wrong.
        return f"the letters {letters}" if letters and letters != " " else ""

    def text_command(self):
        """The command that prints it as plain FASTA or FASTQ."""
        if self.is_alignment:
            reference = ["--reference", self.reference] if self.reference else []
            records = quoted(["samtools", "view", "-h", "-F", "0x900", *reference, self.path])
            # `samtools fastq` keeps one of neighbours with equal names, so every record gets a name of its own.
            rename = quoted(["awk", "-F\t", "-v", "OFS=\t", '!/^@[A-Z][A-Z]\t/ { $1 = "r" NR } { print }'])
            return ["bash", "-c", f"set -o pipefail; {records} | {rename} | samtools fastq -n -F 0x900 -"]
        return ["bzip2", "-dc", self.path] if self.format.endswith("bzip2") else ["gzip", "-dcf", self.path]

    @property
    def warpmer_options(self):
        return ["--reference", self.reference] if self.reference else []


def foreign_letters(data_file):
    """Characters in its sequences that are no nucleotide code, in alphabetical order."""
    text = run(data_file.text_command()).stdout.replace(b"\r", b"").split(b"\n")
    letters = set()
    in_quality = False
    wanted = 0
    for line in text:
        if data_file.is_fastq:
            if in_quality:
                wanted -= len(line)
                in_quality = wanted > 0
                continue
            if line.startswith(b"+"):
                in_quality = wanted > 0
                continue
            if line.startswith(b"@") or not line:
                wanted = 0
                continue
            wanted += len(line)
        elif line.startswith(b">"):
            continue
        letters.update(line)
    return "".join(chr(letter) for letter in sorted(letters - ALLOWED))


def manifest(folder):
    with open(folder / "MANIFEST.tsv", newline="", encoding="utf-8") as text:
        return [DataFile(folder, row) for row in csv.DictReader(text, delimiter="\t")]


def oracle_command(k, forward=False, min_quality=0):
    command = [oracle_path(), "-k", str(k)]
    if forward:
        command.append("--forward")
    if min_quality:
        command += ["--min-quality", str(min_quality)]
    return command
