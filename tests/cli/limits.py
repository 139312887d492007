#!/usr/bin/env python3
"""What a process may use: threads from affinity and Slurm, memory from Slurm and -m, peak memory below -m.

ctest: long; ctest: release only (sanitizers' shadow memory is not ours to answer for)
"""

import filecmp
import gzip
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from common_hot_kmers import BASES, hot, random_bases

WARPMER = os.environ.get("WARPMER", "build/cpu/warpmer")
DATA = Path(os.environ.get("WARPMER_DATA", "data"))

QUALITIES = bytes(b"!,5:AFI"[byte % 7] for byte in range(256))
WITHOUT_REFERENCE = ["--no-PG", "--output-fmt-option", "no_ref=1"]  # of samtools, for CRAM

passed = failed = 0


def check(name, right, seen=""):
    global passed, failed
    if right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {name}: {seen}")


def count(folder, arguments, environment=None, cpus=None, limit=None):
    """Runs a count and returns (exit status, its --stats, standard error)."""
    stats = Path(folder) / "stats.json"
    stats.unlink(missing_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")} | (environment or {})
    done = subprocess.run(
        [WARPMER, "count", "-o", str(Path(folder) / "out.wmi"), "--stats", str(stats), *arguments],
        env=environment, capture_output=True, text=True, timeout=600,
        preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else (lambda: resource.setrlimit(*limit)) if limit else None)
    return done.returncode, json.loads(stats.read_text()) if stats.exists() else {}, done.stderr


def main():
    genome = str(DATA / "genome.fa")
    usable = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="warpmer_limits.") as folder:
        status, stats, _ = count(folder, [genome], cpus=usable[:1])
        is_bound = 1 if "WARPMER_PORTABLE" not in os.environ else len(usable)  # POSIX knows no affinity
        check("one core by affinity", status == 0 and stats["threads"] == is_bound, stats.get("threads"))
        status, stats, _ = count(folder, [genome], {"SLURM_CPUS_PER_TASK": "1"})
        check("one core by Slurm", status == 0 and stats["threads"] == 1, stats.get("threads"))
        status, stats, _ = count(folder, [genome], {"SLURM_CPUS_PER_TASK": "4096"})
        check("no more cores than there are", status == 0 and stats["threads"] <= len(usable), stats.get("threads"))
        status, stats, _ = count(folder, ["-t", "3", genome], {"SLURM_CPUS_PER_TASK": "1"})
        check("-t is obeyed", status == 0 and stats["threads"] == 3, stats.get("threads"))

        most = 1000 << 20
        status, stats, _ = count(folder, [genome], {"SLURM_MEM_PER_NODE": "1000"})
        check("memory of the node by Slurm", status == 0 and 0 < stats["memory_cap_bytes"] <= most,
              stats.get("memory_cap_bytes"))
        status, stats, _ = count(folder, [genome], {"SLURM_MEM_PER_CPU": "500", "SLURM_CPUS_PER_TASK": "2"})
        check("memory per core by Slurm", status == 0 and 0 < stats["memory_cap_bytes"] <= most,
              stats.get("memory_cap_bytes"))
        limit = [resource.RLIMIT_AS, (2 << 30, 2 << 30)]
        status, stats, _ = count(folder, ["-t", "2", genome], limit=limit)  # stacks of more threads take it all
        check("memory by ulimit -v", status == 0 and 0 < stats["memory_cap_bytes"] <= 2 << 30, stats.get("memory_cap_bytes"))
        status, _, errors = count(folder, ["-t", "2", "-m", "3G", genome], limit=limit)
        check("-m beyond ulimit -v is told", status == 0 and "warning: -m 3072 MiB is more than the" in errors, errors)
        status, _, errors = count(folder, ["--dry-run", "-m", "3G", genome], limit=limit)
        check("a plan is for another machine, perhaps", status in (0, 2) and "is more than" not in errors, errors)
        status, stats, _ = count(folder, ["-t", "2", genome], {"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, limit=limit)
        check("a ulimit is each process's own", status == 0 and stats["memory_cap_bytes"] > 1 << 29, stats.get("memory_cap_bytes"))
        status, _, errors = count(folder, ["-m", "300M", genome], {"SLURM_MEM_PER_NODE": "200"})
        check("-m beyond Slurm's grant is told", status == 0 and errors.count("warning: -m 300 MiB is more than the 200 MiB") == 1, errors)
        status, _, errors = count(folder, ["-m", "300M", genome], {"SLURM_MEM_PER_NODE": "300"})
        check("-m within it is not", status == 0 and "warning" not in errors, errors)
        beyond = ["--strict", "-m", "300M", genome], {"SLURM_MEM_PER_NODE": "200"}
        status, _, errors = count(folder, *beyond)
        check("--strict makes it an error", status == 3 and errors.count("\n") == 1 and "--strict makes" in errors, (status, errors))
        status, _, errors = count(folder, ["--min-count", "3", "--max-count", "2", *beyond[0]], beyond[1])
        check("which hides no other", status == 2 and "--min-count 3 is larger" in errors, (status, errors))
        status, _, errors = count(folder, ["--dry-run", *beyond[0]], beyond[1])
        check("and is none of a plan", "is more than" not in errors, (status, errors))
        status, stats, _ = count(folder, ["-m", "300M", genome])
        check("-m is the cap", status == 0 and stats["memory_cap_bytes"] == 300 << 20, stats.get("memory_cap_bytes"))
        status, _, errors = count(folder, ["-m", "5M", genome])
        check("a cap that cannot do", status == 4 and "-m" in errors and errors.count("\n") == 1, errors)

        reads = Path(folder) / "reads.fa"
        make_reads(reads)
        status, _, errors = count(folder, ["-t", "2", "-m", "400M", str(reads)])
        check("an index for what follows", status == 0, errors)
        check_other_caps(Path(folder))
        check_watch_cap(Path(folder))
        check_merqury_cap(Path(folder))
        check_profile_cap(Path(folder))
        check_caps_of_several_indexes(Path(folder))
        check_long_records(Path(folder))
        check_long_headers(Path(folder))
        check_large_slices(Path(folder))
        check_lists(Path(folder))
        check_many_indexes(Path(folder))
        check_many_pairs(Path(folder))
        check_foreign_headers(Path(folder))


def peak(arguments, stdin=None):
    """Runs a command and returns (exit status, its peak resident set or this process's, standard error)."""
    process = subprocess.Popen([WARPMER, *map(str, arguments)], stdin=stdin, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024, errors


def check_other_caps(folder):
    """Commands that sort or copy an index: a cap that is too little is refused, and the one that they name will do."""
    index = folder / "out.wmi"
    for name, *command in (
        ("sorted.tsv", "dump", "--sort", index),
        ("out.jf", "convert", "--to", "jellyfish", index),
        ("out.kff", "convert", "--to", "kff", index),
        ("copy.tsv", "convert", "--to", "tsv", folder / "out.kff"),
    ):
        output = folder / name
        status, _, errors = peak([*command, "-t", "2", "-m", "9M", "-o", output])
        needed = re.fullmatch(r"warpmer: error: -m 9 MiB is too little for 2 threads: .* need (\d+) MiB; .*\n", errors)
        check(f"{name}: 9M cannot do", status == 4 and needed and not output.exists(), errors)
        if not needed:
            continue
        peak([*command, "-t", "2", "-o", folder / "wanted"])
        cap = int(needed[1])
        status, bytes_taken, errors = peak([*command, "-t", "2", "-m", f"{cap}M", "-o", output])
        check(f"{name}: {cap}M, as it says, will do", status == 0, errors)
        check(f"{name}: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)
        check(f"{name}: the same with little memory", filecmp.cmp(output, folder / "wanted", shallow=False))


def check_watch_cap(folder):
    """A table that grows while files are read stays below the cap with all that it has freed."""
    watched = folder / "watched"
    watched.mkdir()
    chance = random.Random(9)
    genome = chance.randbytes(5_000_000).translate(BASES)
    for part in range(4):  # each has much that the one before had
        with gzip.open(watched / f"{part}.fa.gz", "wb", compresslevel=1) as out:
            for number in range(100_000):
                at = chance.randrange(len(genome) - 150)
                out.write(b">%d\n%s\n" % (number, genome[at:at + 150]))
    cap = 320
    status, bytes_taken, errors = peak(["watch", "-t", "2", "-m", f"{cap}M", "--settle", "0", "--until", "time=1", "-o", folder / "watch.wmi", watched])
    check(f"watch: {cap}M will do", status == 0, errors)
    check("watch: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)


def check_merqury_cap(folder):
    """An assembly that reads have nothing of: it has a line for every k-mer, and they are not kept."""
    (folder / "few.fa").write_text(">few\n" + "ACGTTGCA" * 10 + "\n")
    peak(["count", "-t", "2", "-o", folder / "few.wmi", folder / "few.fa"])
    (folder / "asm.fa").write_bytes(b">asm\n" + random.Random(10).randbytes(12_000_000).translate(BASES) + b"\n")
    cap = 130
    status, bytes_taken, errors = peak(["merqury", "-t", "2", "-m", f"{cap}M", "--solid-count", "1", folder / "few.wmi", folder / "asm.fa", "-o", folder / "merqury", "--no-plots"])
    check(f"merqury: {cap}M will do", status == 0, errors)
    check("merqury: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)


def check_profile_cap(folder):
    """Profiles of a long sequence, which as a whole take more than the cap."""
    (folder / "long.fa").write_bytes(b">long\n" + random.Random(11).randbytes(16_000_000).translate(BASES) + b"\n")
    cap = 160
    os.environ.update(WARPMER_MEMORY=f"{cap}M", WARPMER_DEVICE="cpu")
    status, bytes_taken, errors = peak(["FastK", "-k21", "-T2", "-p", "-c", f"-P{folder}", f"-N{folder / 'long'}", folder / "long.fa"])
    del os.environ["WARPMER_MEMORY"], os.environ["WARPMER_DEVICE"]
    check(f"FastK: {cap}M will do", status == 0, errors)
    check("FastK: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)


def check_caps_of_several_indexes(folder):
    """Whatever cap is refused, at once or at a shard that is too large for it: the one that is named will do. (What
    `convert` names is for the k-mers that it has seen: of a file that does not say how many it has, the last will do.)"""
    one, two, imported = folder / "one.wmi", folder / "two.wmi", folder / "imported.wmi"
    chance = random.Random(6)
    for index in (one, two):  # with one shard that is much larger than the others
        with (folder / "hot.fa").open("w") as out:
            out.write(hot(chance, 300_000, 31, 15))
        peak(["count", "-t", "2", "-o", index, folder / "hot.fa"])
    peak(["convert", "--to", "kff", "-o", folder / "one.kff", one])
    for name, *command in (
        ("union.wmi", "union", one, two),
        ("intersection.wmi", "intersect", one, two),
        ("difference.wmi", "subtract", one, two),
        ("symmetric.wmi", "symmetric-difference", one, two),
        ("pairs.tsv", "compare", one, two),
        ("matrix.tsv", "matrix", one, two),
        ("imported.wmi", "convert", folder / "one.kff"),
    ):
        output, wanted = folder / name, folder / f"wanted.{name}"
        peak([*command, "-t", "2", "-o", wanted])
        named = []
        for too_little in range(9, 200, 10):
            status, bytes_taken, errors = peak([*command, "-t", "2", "-m", f"{too_little}M", "-o", output])
            if status == 0:
                break
            told = re.fullmatch(r"warpmer: error: -m .* (\d+) MiB(?: would do)?; raise -m.*\n", errors)
            check(f"{name}: {too_little}M is refused with a number", status == 4 and told and not output.exists(), errors)
            named += [int(told[1])] if told else []
        check(f"{name}: peak resident set below {too_little}M", status == 0 and bytes_taken <= too_little << 20, bytes_taken)
        check(f"{name}: 9M cannot do", named)
        for cap in {named[-1] + 1, *(named[-1:] if command[0] == "convert" else named)}:
            status, bytes_taken, errors = peak([*command, "-t", "2", "-m", f"{cap}M", "-o", output])
            check(f"{name}: {cap}M, as it says, will do", status == 0, errors)
            check(f"{name}: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)
            check(f"{name}: the same with little memory", same(output, wanted))


def same(one, other):
    """Whether two outputs are: of indexes what they have, for they also have the command line."""
    if one.suffix != ".wmi":
        return filecmp.cmp(one, other, shallow=False)
    checksums = [json.loads(subprocess.run([WARPMER, "info", "--json", index], capture_output=True).stdout)["content_checksum"]
                 for index in (one, other)]
    return checksums[0] == checksums[1]


def check_lists(folder):
    """A list is refused at its first wrong line, before more of it is in memory; and so is one of too many names."""
    reads, listed = folder / "short.fa", folder / "list"
    reads.write_text(">a\n" + "ACGTTGCAAC" * 10 + "\n")
    line = b"ACGTTGCATGCAAGTC" * 4 + b"\n"
    for name, content, told in (
        ("no names", line, "(line 1 of"),
        ("one line", line[:-1], "line 1: this line is too long for the name of a file"),
        ("bytes", b"\0\1\2\3" * 16, "line 1: "),
        ("some names", None, "(line 3 of"),
    ):
        with listed.open("wb") as out:
            out.write(f"{reads}\n{reads}\n".encode() if content is None else b"")
            for _ in range(3000):
                out.write((content or line) * 1000)
        status, bytes_taken, errors = peak(["count", "-m", "100M", "-o", folder / "x.wmi", f"@{listed}"])
        check(f"list, {name}: refused", status == 3 and told in errors and errors.count("\n") == 1, errors)
        check(f"list, {name}: peak resident set", bytes_taken <= 100 << 20, bytes_taken)
    for endless in ("/dev/zero", "/dev/urandom"):
        for command in (["count", "-m", "100M", "-o", folder / "x.wmi", f"@{endless}"],
                        ["merge", "-m", "100M", "-o", folder / "x.wmi", f"@{endless}"]):
            status, bytes_taken, errors = peak(command)
            # Lines that are blank or comments may come first.
            check(f"list, {endless}: refused", status in (2, 3) and re.search(r"line \d", errors), errors)
            check(f"list, {endless}: peak resident set", bytes_taken <= 100 << 20, bytes_taken)
    with listed.open("w") as out:
        for _ in range(1000):  # in parts, as below
            out.write(f"{reads}\n" * 1000)
    status, bytes_taken, errors = peak(["count", "-m", "100M", "-o", folder / "x.wmi", f"@{listed}"])
    check("list of a million: refused", status == 4 and "are all that fit into memory; raise -m" in errors, errors)
    check("list of a million: peak resident set", bytes_taken <= 100 << 20, bytes_taken)
    listed.unlink()


def check_many_indexes(folder):
    """What is kept of each open index counts, too: too many are refused before they are open."""
    (folder / "tiny.fa").write_text(">a\n" + "ACGTTGCAACTTGACCAGTAGGC" * 5 + "\n")
    peak(["count", "-o", folder / "tiny.wmi", folder / "tiny.fa"])
    for command, output in (("merge", "many.wmi"), ("matrix", "many.tsv"), ("compare", "many.pairs")):
        many = [command, "-q", "-t", "1", "-o", folder / output, *[folder / "tiny.wmi"] * 300]
        status, bytes_taken, errors = peak([*many, "-m", "60M"])
        told = re.fullmatch(r"warpmer: error: -m 60 MiB is too little for 1 thread and 300 inputs, .* (\d+) MiB would do; raise -m\n", errors)
        check(f"{command} of 300: refused", status == 4 and told, errors)
        check(f"{command} of 300: peak resident set", bytes_taken <= 60 << 20, bytes_taken)
        if told:
            status, bytes_taken, errors = peak([*many, "-m", f"{told[1]}M"])
            check(f"{command} of 300: {told[1]}M, as it says, will do", status == 0, errors)
            check(f"{command} of 300: peak resident set below it", bytes_taken <= int(told[1]) << 20, bytes_taken)


def check_many_pairs(folder):
    """Tables of all pairs are too large: said when one index is open, and the others are junk."""
    (folder / "junk").write_text("junk")
    peak(["count", "-k", "5", "-o", folder / "small.wmi", folder / "tiny.fa"])
    compare = ["compare", "-q", "-t", "1", "-o", folder / "many.pairs", "-m"]
    status, _, errors = peak([*compare, "40M", folder / "small.wmi", *[folder / "junk"] * 1500])
    told = re.fullmatch(r"warpmer: error: -m 40 MiB is too little for 1 thread and 1501 inputs, .* whose tables take 35 MiB: (\d+) MiB would do; raise -m\n", errors)
    check("compare of 1501: refused", status == 4 and told, errors)
    if told:
        status, bytes_taken, errors = peak([*compare, f"{told[1]}M", *[folder / "small.wmi"] * 1501])
        check(f"compare of 1501: {told[1]}M, as it says, will do", status == 0, errors)
        check("compare of 1501: peak resident set below it", bytes_taken <= int(told[1]) << 20, bytes_taken)


def check_foreign_headers(folder):
    """The header of a database of another program is bounded, and lists in it are not kept."""
    fields = '{"format":"binary/sorted","key_len":42,"counter_len":4,"canonical":true,"reprobes":['
    for size, wanted in ((10_000_000, 3), (4_000_000, 0)):
        database = folder / "header.jf"
        with database.open("w") as out:
            out.write(f"{size:09}{fields}")
            for _ in range(size // 1000 - 1):
                out.write("7," * 500)
            out.write("7]}".rjust(size - len(fields) - (size // 1000 - 1) * 1000))
            out.write("ABCDEFGHIJ")
        status, bytes_taken, errors = peak(["convert", "-t", "1", "-m", "100M", "-o", folder / "header.wmi", database])
        check(f"Jellyfish header of {size}: exit status", status == wanted or "no canonical 21-mer" in errors, errors)
        check(f"Jellyfish header of {size}: peak resident set", bytes_taken <= 100 << 20, bytes_taken)
    variables = folder / "variables.kff"
    with variables.open("wb") as out:
        out.write(b"KFF\1\0\x1b\1\1\0\0\0\0v" + (10_000_000).to_bytes(8, "big"))
        for _ in range(10_000):
            out.write((b"a\0" + b"\0" * 8) * 1000)
        out.write(b"KFF")
    status, bytes_taken, errors = peak(["convert", "-t", "1", "-m", "60M", "-o", folder / "x.wmi", variables])
    check("KFF of many variables: refused", status == 3 and "variables in a section" in errors, errors)
    check("KFF of many variables: peak resident set", bytes_taken <= 60 << 20, bytes_taken)


def check_long_records(folder):
    """A record of FASTQ or SAM is there as a whole, or is refused before it takes more than the cap."""
    sequence, quality = "ACGTTGCAAC" * 1000, "I" * 10_000  # in parts, because a child's peak is its parent's at least
    between = "\t4\t*\t0\t0\t*\t*\t0\t0\t"
    for name, head, *parts in (("long.fq", "", "@long\n", "\n+\n", "\n"),
                               ("long.sam", "@HD\tVN:1.6\n", "long" + between, "\t", "\n")):
        for bases, records, wanted in ((1_900_000, 12, 0), (7_000_000, 12, 4), (60_000_000, 1, 4)):
            reads = folder / name
            with reads.open("w") as out:
                out.write(head)
                for _ in range(records):
                    out.write(parts[0])
                    out.writelines([sequence] * (bases // 10_000))
                    out.write(parts[1])
                    out.writelines([quality] * (bases // 10_000))
                    out.write(parts[2])
            status, bytes_taken, errors = peak(["count", "-t", "2", "-m", "130M", "-o", folder / "long.wmi", reads])
            check(f"{name}, {bases} bases: exit status", status == wanted, errors)
            check(f"{name}, {bases} bases: peak resident set", bytes_taken <= 130 << 20, bytes_taken)
            told = "record '@long'" if name == "long.fq" else "long.sam, record 1: it"
            told += " does not end within 4 MiB, which is as much as -m allows for one; raise -m"
            check(f"{name}: says what may be done", wanted == 0 or told in errors, errors)


def check_long_headers(folder):
    """The contigs of an assembly of metagenomes take more than the cap. A count does not need them, but of CRAM they
    are in memory, or refused."""
    sam, bam, cram = (folder / f"contigs.{form}" for form in ("sam", "bam", "cram"))
    with sam.open("w") as out:
        out.write("@HD\tVN:1.6\n")
        for number in range(700_000):
            out.write(f"@SQ\tSN:{'contig' * 16}_{number}\tLN:1000\n")
        out.write(f"read\t4\t*\t0\t0\t*\t*\t0\t0\t{'ACGTTGCAAC' * 10}\t*\n")
    for form in (bam, cram):
        subprocess.run(["samtools", "view", *WITHOUT_REFERENCE, "-o", form, sam], check=True)
    for reads in (sam, bam):
        status, bytes_taken, errors = peak(["count", "-t", "2", "-m", "130M", "-o", folder / "contigs.wmi", reads])
        check(f"{reads.name}: counts", status == 0, errors)
        check(f"{reads.name}: peak resident set", bytes_taken <= 130 << 20, bytes_taken)
    check_cram(folder, cram, "a header of 8")


def check_large_slices(folder):
    """Slices of CRAM are in memory as a whole, and those of archives are large."""
    chance = random.Random(7)
    sam, cram = folder / "slices.sam", folder / "slices.cram"
    with sam.open("w") as out:
        out.write("@HD\tVN:1.6\n")
        for number in range(110_000):
            bases, quality = (chance.randbytes(150).translate(letters).decode() for letters in (BASES, QUALITIES))
            out.write(f"machine:{number % 96}:{number}\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{quality}\n")
    subprocess.run(["samtools", "view", *WITHOUT_REFERENCE, "--output-fmt-option", "seqs_per_slice=100000", "-o", cram, sam],
                   check=True)
    check_cram(folder, cram, "slices of 21.4 million bases")


def check_cram(folder, cram, why):
    """What is refused of a file is named at once, and of a pipe before it is decoded; what is counted stays below."""
    output = folder / "cram.wmi"
    status, bytes_taken, errors = peak(["count", "-t", "2", "-m", "130M", "-o", output, cram])
    told = re.fullmatch(r"warpmer: error: -m 130 MiB is too little .*: (\d+) MiB would do; .*\n", errors)
    check(f"{cram.name}: 130M cannot do", status == 4 and told, errors)
    check(f"{cram.name}: peak resident set of a refusal", bytes_taken <= 130 << 20, bytes_taken)
    if told:
        cap = int(told[1])
        status, bytes_taken, errors = peak(["count", "-t", "2", "-m", f"{cap}M", "-o", output, cram])
        check(f"{cram.name}: {cap}M, as it says, will do", status == 0, errors)
        check(f"{cram.name}: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)
        with cram.open() as standard_input:
            status, bytes_taken, errors = peak(["count", "-t", "2", "-m", f"{cap}M", "-o", output, "-"], standard_input)
        check(f"{cram.name}, standard input: {cap}M, as it says, will do", status == 0, errors)
        check(f"{cram.name}, standard input: peak resident set below it", bytes_taken <= cap << 20, bytes_taken)
    for cap, wanted in ((130, 4), (600, 4), (12_000, 0)):
        with subprocess.Popen(["cat", cram], stdout=subprocess.PIPE) as cat:
            status, bytes_taken, errors = peak(["count", "-t", "2", "-m", f"{cap}M", "-o", output, "-"], cat.stdout)
            cat.stdout.close()
        check(f"{cram.name}, a pipe, {cap}M: exit status", status == wanted, errors)
        check(f"{cram.name}, a pipe, {cap}M: says why", wanted == 0 or (why in errors and "-m allows" in errors), errors)
        check(f"{cram.name}, a pipe, {cap}M: peak resident set", bytes_taken <= cap << 20, bytes_taken)


def make_reads(path):
    """36 million k-mers of 1 million distinct, from both strands."""
    chance = random.Random(5)
    genome = random_bases(chance, 1_000_000)
    other = genome.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    with path.open("w") as out:
        for number in range(300_000):
            at = chance.randrange(len(genome) - 150)
            out.write(f">{number}\n{(genome, other)[number % 2][at:at + 150]}\n")


main()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
