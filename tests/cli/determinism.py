#!/usr/bin/env python3
"""The index does not depend on how it was computed: its content is the same, byte for byte, for any number of
threads and devices, any order and dress of the inputs, and from run to run; any memory cap is in memory_cap.py.

    tests/cli/determinism.py [--runs N]

Content is everything before the provenance: the `content_bytes` of `warpmer info --json` (docs/index-format.md).
Inputs are made up; files of ../shared/data are used as well where they are. Environment: see oracle_common.py.

ctest: long; ctest: release only (under sanitizers, unit/cpu_session runs threads and devices against each other)
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import random
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

import oracle_common as common
from common_hot_kmers import BASES

COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")


def reverse_complement(sequence):
    return sequence.translate(COMPLEMENT)[::-1]


def make_reads(rng, genome, reads, length):
    """FASTQ records: reads of both strands with errors, N, and some of other lengths."""
    records = []
    for i in range(reads):
        size = length if rng.random() < 0.9 else rng.randint(1, 3 * length)
        start = rng.randrange(len(genome) - size)
        read = bytearray(genome[start : start + size])
        for _ in range(size // 100):
            read[rng.randrange(size)] = rng.choice(b"ACGTN")
        read = bytes(read)
        read = reverse_complement(read) if rng.random() < 0.5 else read
        read = read.lower() if rng.random() < 0.05 else read
        records.append(b"@read%d\n%s\n+\n%s\n" % (i, read, b"F" * size))
    return records


def content_of(warpmer, index):
    """SHA-256 of the index's content, and the checksum that it states."""
    done = common.run([warpmer, "info", "--json", index])
    if done.returncode != 0:
        raise common.Failed(f"info of {index}: {done.stderr.decode(errors='replace')}")
    info = json.loads(done.stdout)
    with open(index, "rb") as file:
        content = file.read(info["content_bytes"])
    return hashlib.sha256(content).hexdigest(), info["content_checksum"], len(content)


class Experiment:
    """One k and one set of k-mers, counted in many ways."""

    def __init__(self, report, folder, name, options):
        self.report, self.folder, self.name, self.options = report, folder, name, options
        self.warpmer = common.warpmer_path()
        self.wanted = None
        self.reference = folder / f"reference.{name.replace(' ', '_')}.wmi"

    def count(self, how, inputs, options=(), stdin=None):
        """Counts, and compares with the first way."""
        index = self.folder / "out.wmi"
        command = [self.warpmer, "count", *self.options, *options, "-o", index, *inputs]
        case = f"{self.name}: {how}"
        try:
            if stdin:
                with open(stdin, "rb") as source:
                    done = common.run(command, stdin=source, timeout=600)
            else:
                done = common.run(command, timeout=600)
            if done.returncode != 0:
                error = done.stderr.decode(errors="replace")
                self.report.fail(case, f"{common.quoted(command)}\nexit {done.returncode}: {error}")
                return
            content = content_of(self.warpmer, index)
            if self.wanted is None:
                self.wanted = content
                shutil.copy(index, self.reference)
            self.report.check(case, content == self.wanted, lambda: self.explain(command, index, content))
        except common.Failed as failure:
            self.report.fail(case, failure)
        finally:
            index.unlink(missing_ok=True)

    def explain(self, command, index, content):
        """Where the content differs from the first one, and whether the k-mers do."""
        one, other = self.reference.read_bytes(), index.read_bytes()
        first = next((i for i in range(min(len(one), len(other))) if one[i] != other[i]), "none")
        dumps = [common.digest([[self.warpmer, "dump", "--sort", path]]) for path in (self.reference, index)]
        stats = [common.run([self.warpmer, "stats", path]).stdout.decode() for path in (self.reference, index)]
        totals = "\n".join(f"{a}  |  {b}" for a, b in zip(*(text.split("\n") for text in stats)) if a != b)
        return (
            f"{common.quoted(command)}\ncontent {content}, wanted {self.wanted}, first different byte {first}\n"
            f"sorted dumps are {'the same' if dumps[0] == dumps[1] else 'DIFFERENT'}\n{totals}"
        )


def every_way(experiment, rng, parts, dresses, runs):
    """`parts`: files that together are the input; `dresses`: other lists of files with the same sequences. Without
    `runs`, some ways of each kind: how the input is divided does not depend on the other experiments' k."""
    experiment.count("one thread", parts, ["-t", "1"])
    for threads in (2, 3, 8) if runs else (8,):
        experiment.count(f"{threads} threads", parts, ["-t", threads])
    for devices in range(1, 9) if runs else (2, 7):
        experiment.count(f"cpu:{devices}", parts, ["--device", f"cpu:{devices}", "-t", 1 + devices % 4])
    if runs:
        experiment.count("device cpu", parts, ["--device", "cpu"])
    for i in range(3 if runs else 1):
        shuffled = list(parts)
        rng.shuffle(shuffled)
        experiment.count(f"shuffled files {i}", shuffled, ["-t", 3])
    for name, files in dresses.items():
        if runs or name in ("joined, gzip", "mixed", "shuffled reads"):
            experiment.count(name, files, ["-t", 3])
    joined = dresses.get("joined")
    if joined and runs:
        experiment.count("standard input", ["-"], ["-t", 2], stdin=joined[0])
        experiment.count("standard input, gzip", ["-"], ["-t", 2], stdin=dresses["joined, gzip"][0])
    for i in range(runs):
        experiment.count(f"run {i} of 8 threads", parts, ["-t", 8])
    for i in range(runs // 2):
        experiment.count(f"run {i} of cpu:4, 8 threads", parts, ["-t", 8, "--device", "cpu:4"])


def bgzip(path, source):
    """True when `path` has become `source` in BGZF."""
    if not shutil.which("bgzip"):
        return False
    done = common.run(["bgzip", "-c", source])
    path.write_bytes(done.stdout)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=6)
    arguments = parser.parse_args()
    report = common.Report()
    common.warpmer_path()
    rng = random.Random(20261121)
    with tempfile.TemporaryDirectory(prefix="determinism.") as temporary:
        folder = pathlib.Path(temporary)
        genome = rng.randbytes(60_000).translate(BASES)
        genome += genome[:9000] + b"A" * 400 + b"AC" * 300 + reverse_complement(genome[20_000:24_000])
        is_slow = bool(common.os.environ.get("WARPMER_SANITIZE"))
        quarter = 300 if is_slow else 2000
        records = make_reads(rng, genome, 4 * quarter, 150)
        parts, zipped, blocked = [], [], []
        for i in range(4):
            text = b"".join(records[i * quarter : (i + 1) * quarter])
            path = folder / f"part{i}.fq"
            path.write_bytes(text)
            parts.append(path)
            zipped.append(folder / f"part{i}.fq.gz")
            zipped[-1].write_bytes(gzip.compress(text, 1))
            blocked.append(folder / f"part{i}.bgzf.gz")
        dresses = {"gzip": zipped, "joined": [folder / "joined.fq"], "joined, gzip": [folder / "joined.fq.gz"]}
        dresses["joined"][0].write_bytes(b"".join(records))
        dresses["joined, gzip"][0].write_bytes(b"".join(path.read_bytes() for path in zipped))
        if all(bgzip(block, part) for block, part in zip(blocked, parts)):
            dresses["BGZF"] = blocked
            dresses["mixed"] = [parts[0], zipped[1], blocked[2], parts[3]]
        else:
            report.skip("BGZF", "bgzip is not installed")
        shuffled = list(records)
        rng.shuffle(shuffled)
        dresses["shuffled reads"] = [folder / "shuffled.fq"]
        dresses["shuffled reads"][0].write_bytes(b"".join(shuffled))
        fasta = [folder / f"part{i}.fa" for i in range(4)]
        for source, path in zip(parts, fasta):
            lines = source.read_bytes().split(b"\n")
            path.write_bytes(b"".join(b">%s\n%s\n" % (name[1:], read) for name, read in zip(lines[::4], lines[1::4])))
        dresses["FASTA"] = fasta
        listing = folder / "files.list"
        listing.write_text("".join(f"{path}\n" for path in zipped), encoding="utf-8")
        dresses["list"] = [f"@{listing}"]
        for name, options, runs in (
            ("k=31", ["-k", "31"], arguments.runs),
            ("k=11", ["-k", "11"], arguments.runs // 2),
            ("k=12", ["-k", "12"], 0),  # 16 times as much as 10 takes
            ("k=3", ["-k", "3"], 0),
            ("k=13", ["-k", "13"], 0),
            ("k=20 forward", ["-k", "20", "--forward"], 0),
            ("k=55", ["-k", "55"], arguments.runs // 2),
            ("k=64 min-count", ["-k", "64", "--min-count", "2", "--max-count", "30"], 0),
        ):
            every_way(Experiment(report, folder, name, options), rng, parts, dresses, runs)
        shared = common.shared_data(required=False)
        if shared and is_slow:
            report.skip("real data", "sanitizers take too long")
        elif shared:
            names = ("ecoli_KAT_r1.1K.fastq.gz", "derived/illumina18.bgzf.fq.gz", "dm3_chr4_softmasked.fa.gz",
                     "lambda_ont_multiline.fastq.gz", "NA12878_hiseq_chr20_first500.bam", "mirbase_mature_RNA.fa.gz")
            files = [shared / "small" / name for name in names]
            every_way(Experiment(report, folder, "real data, k=21", ["-k", "21"]), rng, files, {}, 0)
        else:
            report.skip("real data", "../shared/data is not there")
    report.finish()


if __name__ == "__main__":
    main()
