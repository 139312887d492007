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

from common_hot_kmers import BASES, apart, hot, random_bases

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
    stats = folder / "stats.json"
    stats.unlink(missing_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")} | (environment or {})
    done = subprocess.run(
        [WARPMER, "count", "-o", folder / "out.wmi", "--stats", stats, *arguments],
        env=environment, capture_output=True, text=True, timeout=600,
        preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else (lambda: resource.setrlimit(*limit)) if limit else None)
    return done.returncode, json.loads(stats.read_text()) if stats.exists() else {}, done.stderr


def check_threads(folder):
    genome = DATA / "genome.fa"
    usable = sorted(os.sched_getaffinity(0))
    is_bound = 1 if "WARPMER_PORTABLE" not in os.environ else len(usable)  # POSIX knows no affinity
    for name, is_right, arguments, *how in (
        ("one core by affinity", lambda threads: threads == is_bound, [genome], None, usable[:1]),
        ("one core by Slurm", lambda threads: threads == 1, [genome], {"SLURM_CPUS_PER_TASK": "1"}),
        ("no more cores than there are", lambda threads: threads <= len(usable), [genome], {"SLURM_CPUS_PER_TASK": "4096"}),
        ("-t is obeyed", lambda threads: threads == 3, ["-t", "3", genome], {"SLURM_CPUS_PER_TASK": "1"}),
    ):
        status, stats, _ = count(folder, arguments, *how)
        check(name, status == 0 and is_right(stats["threads"]), stats.get("threads"))


def check_memory(folder):
    genome = DATA / "genome.fa"
    limit = [resource.RLIMIT_AS, (2 << 30, 2 << 30)]
    for name, least, most, arguments, *how in (
        ("memory of the node by Slurm", 1, 1000 << 20, [genome], {"SLURM_MEM_PER_NODE": "1000"}),
        ("memory per core by Slurm", 1, 1000 << 20, [genome], {"SLURM_MEM_PER_CPU": "500", "SLURM_CPUS_PER_TASK": "2"}),
        ("memory by ulimit -v", 1, 2 << 30, ["-t", "2", genome], None, None, limit),  # stacks of more threads take it all
        ("a ulimit is each process's own", (1 << 29) + 1, 2 << 30, ["-t", "2", genome],
         {"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, None, limit),
        ("-m is the cap", 300 << 20, 300 << 20, ["-m", "300M", genome]),
    ):
        status, stats, _ = count(folder, arguments, *how)
        check(name, status == 0 and least <= stats["memory_cap_bytes"] <= most, stats.get("memory_cap_bytes"))

    grant = {"SLURM_MEM_PER_NODE": "200"}
    beyond = ["-m", "300M", genome]
    not_given = "(-m was not given: "
    for name, is_right, arguments, *how in (
        ("-m beyond ulimit -v is told", lambda status, errors: status == 0 and "warning: -m 3072 MiB is more than the" in errors,
         ["-t", "2", "-m", "3G", genome], None, None, limit),
        ("a plan is for another machine, perhaps", lambda status, errors: status in (0, 2) and "is more than" not in errors,
         ["--dry-run", "-m", "3G", genome], None, None, limit),
        ("-m beyond Slurm's grant is told",
         lambda status, errors: status == 0 and errors.count("warning: -m 300 MiB is more than the 200 MiB") == 1, beyond, grant),
        ("-m within it is not", lambda status, errors: status == 0 and "warning" not in errors, beyond, {"SLURM_MEM_PER_NODE": "300"}),
        ("--strict makes it an error", lambda status, errors: status == 3 and errors.count("\n") == 1 and "--strict makes" in errors,
         ["--strict", *beyond], grant),
        ("which hides no other", lambda status, errors: status == 2 and "--min-count 3 is larger" in errors,
         ["--min-count", "3", "--max-count", "2", "--strict", *beyond], grant),
        ("and is none of a plan", lambda status, errors: "is more than" not in errors, ["--dry-run", "--strict", *beyond], grant),
        ("a cap that cannot do", lambda status, errors: status == 4 and "-m" in errors and errors.count("\n") == 1 and not_given not in errors,
         ["-m", "5M", genome]),
        ("one that nobody gave", lambda status, errors: status == 4 and f"; raise -m {not_given}" in errors,
         ["-t", "1", genome], None, None, [resource.RLIMIT_DATA, (50 << 20, 50 << 20)]),
    ):
        status, _, errors = count(folder, arguments, *how)
        check(name, is_right(status, errors), (status, errors))


def main():
    with tempfile.TemporaryDirectory(prefix="warpmer_limits.") as name:
        folder = Path(name)
        check_threads(folder)
        check_memory(folder)
        reads = folder / "reads.fa"
        make_reads(reads)
        status, _, errors = count(folder, ["-t", "2", "-m", "400M", reads])
        check("an index for what follows", status == 0, errors)
        for check_caps in (
            check_other_caps, check_sorting_caps, check_watch_cap, check_merqury_cap, check_profile_cap, check_caps_of_several_indexes,
            check_caps_of_strings, check_long_records,
            check_long_headers, check_large_slices, check_lists, check_many_indexes, check_many_pairs,
            check_foreign_headers,
        ):
            check_caps(folder)


def peak(arguments, stdin=None):
    """Runs a command and returns (exit status, its peak resident set or this process's, standard error)."""
    process = subprocess.Popen([WARPMER, *map(str, arguments)], stdin=stdin, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024, errors


def check_peak(name, mebibytes, arguments, is_right, stdin=None):
    """Runs a command that has `mebibytes` and stays below; `is_right(status, errors)` is true. Returns standard error."""
    status, bytes_taken, errors = peak(arguments, stdin)
    check(f"{name}: with {mebibytes} MiB", is_right(status, errors), (status, errors))
    check(f"{name}: peak resident set below {mebibytes} MiB", bytes_taken <= mebibytes << 20, bytes_taken)
    return errors


def check_cap(name, mebibytes, arguments, stdin=None):
    """Runs a command for which so much memory will do."""
    check_peak(name, mebibytes, [*arguments, "-m", f"{mebibytes}M"], lambda status, _: status == 0, stdin)


def check_refused_cap(name, mebibytes, arguments, refusal):
    """Runs a command for which so much is too little: what it says will do, does. Returns that, in MiB; None: it says nothing."""
    errors = check_peak(f"{name}: refused", mebibytes, [*arguments, "-m", f"{mebibytes}M"],
                        lambda status, errors: status == 4 and re.fullmatch(refusal, errors))
    told = re.fullmatch(refusal, errors)
    if told:
        check_cap(name, int(told[1]), arguments)
    return told and int(told[1])


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
        check_cap(name, int(needed[1]), [*command, "-t", "2", "-o", output])
        check(f"{name}: the same with little memory", filecmp.cmp(output, folder / "wanted", shallow=False))


def check_sorting_caps(folder):
    """K-mers of one minimizer, which are one shard, are sorted and copied within any cap that is accepted."""
    index = folder / "one_shard.wmi"
    (folder / "one_shard.fa").write_text(hot(random.Random(12), 2_500_000, 31, 15))
    peak(["count", "-t", "2", "-o", index, folder / "one_shard.fa"])
    for cap, command, ending in (
        (70, "dump --sort", "txt"), (70, "convert --to kff", "kff"), (70, "convert --to fastk", "ktab"), (60, "convert --to tsv", "tsv"),
    ):
        check_cap(f"{command} of one shard", cap, [*command.split(), "-q", "-t", "2", index, "-o", folder / f"one_shard.{ending}"])
    peak(["convert", "-q", "-o", folder / "back.wmi", folder / "one_shard.tsv"])
    check("convert --to tsv of one shard: all k-mers", same(folder / "back.wmi", index))


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
    check_cap("watch", 320, ["watch", "-t", "2", "--settle", "0", "--until", "time=1", "-o", folder / "watch.wmi", watched])


def check_merqury_cap(folder):
    """An assembly that reads have nothing of: it has a line for every k-mer, and they are not kept."""
    (folder / "few.fa").write_text(">few\n" + "ACGTTGCA" * 10 + "\n")
    peak(["count", "-t", "2", "-o", folder / "few.wmi", folder / "few.fa"])
    (folder / "asm.fa").write_bytes(b">asm\n" + random.Random(10).randbytes(12_000_000).translate(BASES) + b"\n")
    check_cap("merqury", 130, ["merqury", "-t", "2", "--solid-count", "1", folder / "few.wmi", folder / "asm.fa",
                               "-o", folder / "merqury", "--no-plots"])


def check_profile_cap(folder):
    """Profiles of a long sequence, which as a whole take more than the cap; and by an index that takes most of it."""
    for bases, cap, options in ((16_000_000, 160, ["-k21", "-c"]), (90_000_000, 120, ["-k31"])):
        source = random.Random(11)
        with (folder / "long.fa").open("wb") as out:  # in parts: what this process takes counts, too
            out.write(b">long\n")
            for _ in range(bases // 1_000_000):
                out.write(source.randbytes(1_000_000).translate(BASES))
        os.environ.update(WARPMER_MEMORY=f"{cap}M", WARPMER_DEVICE="cpu")
        check_peak(f"FastK of {bases}", cap, ["FastK", *options, "-T2", "-p", f"-P{folder}", f"-N{folder / 'long'}", folder / "long.fa"],
                   lambda status, _: status == 0)
        del os.environ["WARPMER_MEMORY"], os.environ["WARPMER_DEVICE"]


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
            check_cap(name, cap, [*command, "-t", "2", "-o", output])
            check(f"{name}: the same with little memory", same(output, wanted))


def check_caps_of_strings(folder):
    """A group of more than a million strings takes more than the cap: that is done within it, or refused before."""
    indexes = one, two = folder / "one.wmi", folder / "two.wmi"
    for number, index in enumerate(indexes):
        with (folder / "apart.fa").open("w") as out:
            out.writelines(apart(random.Random(number), 1_500_000, 31, 15))
        peak(["count", "-q", "-t", "2", "-o", index, folder / "apart.fa"])
    for caps, output, *command in (
        ((60, 200), "union.wmi", "union", one, two),
        ((60, 160, 310), "difference.wmi", "subtract", one, two),
        ((60, 160), "intersection.wmi", "intersect", one, two),
        ((60,), "pairs.tsv", "compare", one, two),
        ((60,), "matrix.tsv", "matrix", one, two),
        ((60,), "hetmers.tsv", "hetmers", one),
        ((60,), "sorted.tsv", "dump", "--sort", one),
        ((230,), "updated.wmi", "update", one, "--add", DATA / "genome.fa"),
    ):
        for cap in caps:
            check_peak(f"{command[0]} of many strings", cap, [*command, "-q", "--force", "-t", "2", "-m", f"{cap}M", "-o", folder / output],
                       lambda status, _: status in (0, 4))


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
        check_peak(f"list, {name}: refused", 100, ["count", "-m", "100M", "-o", folder / "x.wmi", f"@{listed}"],
                   lambda status, errors: status == 3 and told in errors and errors.count("\n") == 1)
    for endless in ("/dev/zero", "/dev/urandom"):
        for command in ("count", "merge"):
            # Lines that are blank or comments may come first.
            check_peak(f"{command}, list {endless}: refused", 100, [command, "-m", "100M", "-o", folder / "x.wmi", f"@{endless}"],
                       lambda status, errors: status in (2, 3) and re.search(r"line \d", errors))
    with listed.open("w") as out:
        for _ in range(1000):  # in parts, as below
            out.write(f"{reads}\n" * 1000)
    check_peak("list of a million: refused", 100, ["count", "-m", "100M", "-o", folder / "x.wmi", f"@{listed}"],
               lambda status, errors: status == 4 and "are all that fit into memory; raise -m" in errors)
    listed.unlink()


def check_many_indexes(folder):
    """What is kept of each open index counts, too: too many are refused before they are open."""
    (folder / "tiny.fa").write_text(">a\n" + "ACGTTGCAACTTGACCAGTAGGC" * 5 + "\n")
    peak(["count", "-o", folder / "tiny.wmi", folder / "tiny.fa"])
    for command, output in (("merge", "many.wmi"), ("matrix", "many.tsv"), ("compare", "many.pairs")):
        many = [command, "-q", "-t", "1", "-o", folder / output, *[folder / "tiny.wmi"] * 300]
        refusal = r"warpmer: error: -m 60 MiB is too little for 1 thread and 300 inputs, .* (\d+) MiB would do; raise -m\n"
        check_refused_cap(f"{command} of 300", 60, many, refusal)


def check_many_pairs(folder):
    """Tables of all pairs are too large: said when one index is open, and the others are junk."""
    (folder / "junk").write_text("junk")
    peak(["count", "-k", "5", "-o", folder / "small.wmi", folder / "tiny.fa"])
    compare = ["compare", "-q", "-t", "1", "-o", folder / "many.pairs", "-m"]
    status, _, errors = peak([*compare, "40M", folder / "small.wmi", *[folder / "junk"] * 1500])
    told = re.fullmatch(r"warpmer: error: -m 40 MiB is too little for 1 thread and 1501 inputs, for which \d+ MiB are kept: (\d+) MiB would do; raise -m\n", errors)
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
        check_peak(f"Jellyfish header of {size}", 100, ["convert", "-t", "1", "-m", "100M", "-o", folder / "header.wmi", database],
                   lambda status, errors: status == wanted or "no canonical 21-mer" in errors)
    variables = folder / "variables.kff"
    with variables.open("wb") as out:
        out.write(b"KFF\1\0\x1b\1\1\0\0\0\0v" + (10_000_000).to_bytes(8, "big"))
        for _ in range(10_000):
            out.write((b"a\0" + b"\0" * 8) * 1000)
        out.write(b"KFF")
    check_peak("KFF of many variables: refused", 60, ["convert", "-t", "1", "-m", "60M", "-o", folder / "x.wmi", variables],
               lambda status, errors: status == 3 and "variables in a section" in errors)


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
            errors = check_peak(f"{name}, {bases} bases", 130, ["count", "-t", "2", "-m", "130M", "-o", folder / "long.wmi", reads],
                                lambda status, _: status == wanted)
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
        check_cap(reads.name, 130, ["count", "-t", "2", "-o", folder / "contigs.wmi", reads])
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
    refusal = r"warpmer: error: -m 130 MiB is too little .*: (\d+) MiB would do; .*\n"
    cap = check_refused_cap(cram.name, 130, ["count", "-t", "2", "-o", output, cram], refusal)
    if cap:
        with cram.open() as standard_input:
            check_cap(f"{cram.name}, standard input", cap, ["count", "-t", "2", "-o", output, "-"], standard_input)
    for cap, wanted in ((130, 4), (600, 4), (12_000, 0)):
        with subprocess.Popen(["cat", cram], stdout=subprocess.PIPE) as cat:
            check_peak(f"{cram.name}, a pipe", cap, ["count", "-t", "2", "-m", f"{cap}M", "-o", output, "-"],
                       lambda status, errors: status == wanted and (wanted == 0 or (why in errors and "-m allows" in errors)), cat.stdout)
            cat.stdout.close()


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
