#!/usr/bin/env python3
"""What must be refused is refused, and what is fine is not.

A refusal: exit status 3, one line on standard error that names the file (and, for malformed records, the
place), nothing on standard output, no output file, no temporary file. Made-up cases always run; those of
../shared/data run where it is. Environment: see oracle_common.py.

ctest: long; ctest: one thread (its threads are those of cli/query_reads, cli/streams and cli/update)
"""

import bz2
import gzip
import lzma
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True

import oracle_common as common
from common_cli import random_bases
from common_tier import FULL, some

PLACE = re.compile(r"(record|line|position|byte|base|offset|sequence|block|shard)s?\b[^\n]{0,60}?\d|\d[^\n]{0,20}\bbytes?\b")
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


class Bench:
    """Runs warpmer in a folder of its own, with a temporary folder of its own, and looks at what it left."""

    def __init__(self, report, folder):
        self.report, self.folder = report, pathlib.Path(folder)
        self.warpmer = common.warpmer_path()
        self.inputs = self.folder / "inputs"
        self.outputs = self.folder / "outputs"
        self.temporary = self.folder / "temporary"
        for path in (self.inputs, self.outputs, self.temporary):
            path.mkdir()
        self.environment = dict(common.os.environ, TMPDIR=str(self.temporary))

    def write(self, name, content):
        path = self.inputs / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
        return path

    def leftovers(self, expected=()):
        left = sorted(p.name for folder in (self.outputs, self.temporary) for p in folder.iterdir())
        left = [name for name in left if name not in expected]
        for name in left:
            for folder in (self.outputs, self.temporary):
                path = folder / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return left

    def refusal_faults(self, done, names, place):
        """What is wrong with this refusal, as a list of sentences."""
        error = done.stderr.decode(errors="replace")
        faults = []
        if done.returncode != 3:
            faults.append(f"exit status {done.returncode}, wanted 3")
        if error.count("\n") != 1 or not error.endswith("\n"):
            faults.append("standard error is not one line")
        if any(ord(c) < 32 for c in error.rstrip("\n")):
            faults.append("standard error holds control characters")
        faults += [f"the message does not name {name}" for name in names if name not in error]
        if place is True and not PLACE.search(error.replace("\n", "")):
            faults.append("the message names no place")
        elif isinstance(place, str) and not re.search(place, error):
            faults.append(f"the message does not match {place!r}")
        if done.stdout:
            faults.append(f"{len(done.stdout)} bytes on standard output")
        faults += [f"left behind: {name}" for name in self.leftovers()]
        return faults

    def refuses(self, case, paths, place=False, options=(), names=None, **run_options):
        """`warpmer count` of `paths` is a refusal that names the last of them."""
        paths = [paths] if isinstance(paths, (str, pathlib.Path)) else list(paths)
        names = [pathlib.Path(paths[-1]).name] if names is None else names
        command = [self.warpmer, "count", "-k", "31", *options, "-o", self.outputs / "out.wmi", *paths]
        done = self.run(command, **run_options)
        faults = self.refusal_faults(done, names, place)
        self.verdict(case, command, done, faults)

    def accepts(self, case, paths, options=(), lines=None, **run_options):
        """`warpmer count` of `paths` succeeds without a word; the index holds `lines` k-mers."""
        paths = [paths] if isinstance(paths, (str, pathlib.Path)) else list(paths)
        index = self.outputs / "out.wmi"
        command = [self.warpmer, "count", "-q", "-k", "31", *options, "-o", index, *paths]
        done = self.run(command, **run_options)
        faults = []
        if done.returncode != 0:
            faults.append(f"exit status {done.returncode}, wanted 0")
        elif FULL and lines is not None:  # right answers are not what sanitizers look for
            dumped = common.run([self.warpmer, "dump", index]).stdout.count(b"\n")
            if dumped != lines:
                faults.append(f"{dumped} distinct k-mers, wanted {lines}")
        if done.stderr or done.stdout:
            faults.append("it is not silent")
        index.unlink(missing_ok=True)
        faults += [f"left behind: {name}" for name in self.leftovers()]
        self.verdict(case, command, done, faults)

    def dump_of(self, path, options=()):
        """The sorted dump of a file's index; None when `count` fails."""
        index = self.folder / "dump_of.wmi"
        done = self.run([self.warpmer, "count", "-k", "31", *options, "-o", index, path])
        return self.run([self.warpmer, "dump", "--sort", index]).stdout if done.returncode == 0 else None

    def run(self, command, **options):
        try:
            return common.run(command, env=self.environment, timeout=120, **options)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, "none (hangs)", b"", b"")

    def verdict(self, case, command, done, faults):
        error = done.stderr[:600].decode(errors="replace").rstrip()
        self.report.check(
            case, not faults, lambda: f"{common.quoted(command)}\n" + "\n".join(faults) + f"\nstderr: {error!r}"
        )


def fastq(rng, reads=200, length=100):
    return "".join(f"@read{i}\n{random_bases(rng, length)}\n+\n{'F' * length}\n" for i in range(1, reads + 1))


def bgzf(content, end=True, block=3000):
    """`content` (bytes) as BGZF, and the offsets of its blocks."""
    out, offsets = b"", []
    for first in range(0, len(content), block):
        part = content[first : first + block]
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        data = deflate.compress(part) + deflate.flush()
        offsets.append(len(out))
        out += bytes.fromhex("1f8b08040000000000ff0600424302 00".replace(" ", "")) + struct.pack("<H", len(data) + 25)
        out += data + struct.pack("<II", zlib.crc32(part), len(part))
    offsets.append(len(out))
    return out + (BGZF_END if end else b""), offsets


def flip(content, offset, bit=0):
    changed = bytearray(content)
    changed[offset] ^= 1 << bit
    return bytes(changed)


def malformed_records(bench, rng):
    """Text that is no FASTA and no FASTQ, or stops being one."""
    good = fastq(rng, 3)
    a, b = random_bases(rng, 80), random_bases(rng, 80)
    first = f"@fine\n{a}\n+\n{'F' * 80}\n"
    bench.accepts("fine FASTQ", bench.write("fine.fq", good))
    # A second FASTQ record, as it goes on after its name.
    odd_records = (
        ("long_quality.fq", f"{b}\n+\n{'F' * 81}\n"),
        ("short_quality.fq", f"{b}\n+\n{'F' * 79}\n"),
        ("short_quality_inside.fq", f"{b}\n+\n{'F' * 79}\n{first}"),
        ("no_quality.fq", f"{b}\n+\n"),
        ("no_plus.fq", f"{b}\n"),
        ("plus_missing_inside.fq", f"{b}\n{'F' * 80}\n{first}"),
        ("no_sequence.fq", ""),
        ("other_name_after_plus.fq", f"{b}\n+two\n{'F' * 79}\n"),
        ("space_in_quality.fq", f"{b}\n+\n{'F' * 40} {'F' * 39}\n"),
        ("del_in_quality.fq", f"{b}\n+\n{'F' * 40}\x7f{'F' * 39}\n"),
        ("space_in_sequence.fq", f"{b[:40]} {b[41:]}\n+\n{'F' * 80}\n"),
    )
    for name, text, place in (
        *((name, f"{first}@odd\n{rest}", r"record 2|odd|line") for name, rest in odd_records),
        ("bad_letter.fq", f"{first}@noise\n{b[:40]}!{b[41:]}\n+\n{'F' * 80}\n", r"(record 2|noise).*\b41\b"),
        ("bad_letter.fa", f">fine\n{a}\n>noise\n{a}\n{b[:40]}E{b[41:]}\n", r"(record 2|noise).*\b121\b"),
        ("bad_digit.fa", f">fine\n{a}\n>noise\n{b[:40]}7{b[41:]}\n", r"(record 2|noise).*\b41\b"),
        ("high_byte.fa", f">fine\n{a}\n>noise\n{b[:40]}\xe9{b[41:]}\n", r"(record 2|noise).*\b41\b"),
        ("nul.fa", f">fine\n{a}\n>noise\n{b[:40]}\0{b[41:]}\n", r"(record 2|noise).*\b41\b"),
        ("at_the_end.fa", f">fine\n{a}\n>noise\n{b}@", r"(record 2|noise).*line 4"),
        ("at_the_start.fa", f">noise\n@{b}\n", True),
        ("text_after_records.fq", f"{first}This is the end.\n", True),
        ("protein.fa", ">p\nMKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ\n", True),
        ("protein_lower.fa", ">p\nmktayiakqrqisfvkshfsrqleerlglievq\n", True),
        ("colour_space.fq", f"@c\nG2300011000031{'0' * 10}\n+\n{'F' * 24}\n", True),
        ("comment_first.fa", f"; a comment\n>fine\n{a}\n", False),
        ("hash_comment.fa", f"# a comment\n>fine\n{a}\n", False),
        ("hash_comment_inside.fa", f">fine\n{a}\n# a comment\n>more\n{b}\n", True),
        ("no_header.txt", f"{a}\n{b}\n", False),
        ("prose.txt", "This file is neither FASTA nor FASTQ.\n", False),
        ("old_macintosh.fa", f">fine\r{a}\r", False),
        ("old_macintosh.fq", f"@fine\r{a}\r+\r{'F' * 80}\r", False),
        ("json.json", '{"reads": 1}\n', False),
        ("utf16.fa", f">fine\n{a}\n".encode("utf-16"), False),
        ("noise.bin", rng.randbytes(5000), False),
        ("nul.bin", bytes(5000), False),
        ("newlines_then_prose.txt", "\n\n\n\nprose\n", False),
    ):
        path = bench.write(name, text)
        bench.refuses(f"malformed {name}", path, place)
        if isinstance(place, str) and (FULL or name == "bad_letter.fq"):
            bench.refuses(f"malformed {name}, gzip", bench.write(name + ".gz", gzip.compress(path.read_bytes())), place)
    bench.accepts("--lenient takes protein", bench.inputs / "protein.fa", ["--lenient"])
    bench.accepts("--lenient takes noise in a sequence", bench.inputs / "bad_letter.fq", ["--lenient"])
    bench.refuses("--lenient does not take a wrong quality length", bench.inputs / "long_quality.fq", options=["--lenient"])
    bench.refuses("--lenient does not take prose", bench.inputs / "prose.txt", options=["--lenient"])
    # The same for every way through the program.
    ways = (["--device", "cpu:3"], ["-k", "5"], ["-k", "12"], ["-t", "1"], ["-k", "64"], ["-t", "8"], ["--forward"],
            ["--min-base-quality", "20"])
    for options in some(ways, 2):
        options = options if options[0] != "-k" else ["-t", "2", *options]
        for name in some(("bad_letter.fq", "bad_letter.fa", "short_quality.fq"), 2):
            command = [bench.warpmer, "count", *([] if "-k" in options else ["-k", "31"]), *options]
            command += ["-o", bench.outputs / "out.wmi", bench.inputs / name]
            done = bench.run(command)
            place = r"(record 2|noise|odd)"
            bench.verdict(f"malformed {name} {' '.join(options)}", command, done, bench.refusal_faults(done, [name], place))


def fine_oddities(bench, rng):
    """Odd, but fine: must be accepted."""
    a, b = random_bases(rng, 80), random_bases(rng, 80)
    record = f"@r\n{a}\n+\n{'F' * 80}\n"
    for name, text, lines in (
        ("empty.fa", "", 0),
        ("blank.fa", "\n\r\n\n", 0),
        ("empty.fq.gz", gzip.compress(b""), 0),
        ("only_a_header.fa", ">nothing\n", 0),
        ("header_without_newline.fa", ">nothing", 0),
        ("nameless.fa", f">\n{a}\n", 50),
        ("leading_blank_lines.fa", f"\n\n>a\n{a}\n", 50),
        ("leading_blank_lines.fq", f"\n\n{record}", 50),
        ("trailing_blank_lines.fq", f"{record}\n\n\n", 50),
        ("no_newline.fq", record[:-1], 50),
        ("no_newline.fa", f">a\n{a}", 50),
        ("crlf.fq", record.replace("\n", "\r\n"), 50),
        ("crlf_no_newline.fq", record.replace("\n", "\r\n")[:-1], 50),
        ("empty_records.fq", f"@none\n\n+\n\n{record}@none\n\n+\n\n", 50),
        ("name_after_plus.fq", record.replace("+", "+r"), 50),
        ("other_name_after_plus.fq", record.replace("+", "+two"), 50),
        ("blanks.fa", f" \n>a\n{a[:33]} {a[33:]}\t \n  \n", 50),
        ("at_quality.fq", f"@r\n{a}\n+\n@{'F' * 79}\n{record}", 50),
        ("plus_quality.fq", f"@r\n{a}\n+\n+{'F' * 79}\n{record}", 50),
        ("greater_quality.fq", f"@r\n{a}\n+\n>{'F' * 79}\n{record}", 50),
        ("wrapped.fq", f"@r\n{a[:33]}\n{a[33:]}\n+\n{'@' * 33}\n{'+' * 47}\n{record}", 50),
        ("all_codes.fa", f">c\n{a}RYSWKMBDHVNXryswkmbdhvnx-.*{b}\n", 100),
        ("long_name.fq", f"@{'n' * 100000}\n{a}\n+\n{'F' * 80}\n", 50),
        ("long_name.fa", f">{'n' * 5000000} x\n{a}\n", 50),
        ("odd_name.fa", f">\xe9\t\x01>@+ ;\n{a}\n", 50),
        ("stored.fq.gz", gzip.compress(record.encode(), 0), 50),
        ("no_suffix", gzip.compress(record.encode()), 50),
        ("wrong_suffix.bam", record, 50),
        ("members.fq.gz", b"".join(gzip.compress(c.encode()) for c in (record[:50], "", record[50:], "")), 50),
        ("bytes.fq.gz", b"".join(gzip.compress(bytes([c])) for c in record.encode()), 50),
        ("bgzf.fq.gz", bgzf(record.encode())[0], 50),
        ("bgzf_of_bytes.fq.gz", bgzf(record.encode(), block=1)[0], 50),
        ("bgzf_twice.fq.gz", bgzf(record.encode())[0] * 2, 50),
        ("bgzf_empty.fq.gz", BGZF_END, 0),
    ):
        path = bench.write(name, text)
        bench.accepts(f"fine {name}", path, lines=lines)
        if not FULL and name not in ("crlf.fq", "bgzf.fq.gz"):
            continue
        with open(path, "rb") as stdin:
            bench.accepts(f"fine {name} as standard input", "-", lines=lines, stdin=stdin)
    listing = bench.write("files.list", f"{bench.inputs / 'no_newline.fa'}\n\n{bench.inputs / 'no_newline.fq'}")
    bench.accepts("fine list", f"@{listing}", lines=50)
    bench.write("dos.list", listing.read_bytes().replace(b"\n", b"\r\n"))
    bench.accepts("fine list with CRLF", f"@{bench.inputs / 'dos.list'}", lines=50)
    spaced = bench.write("a name, with blanks; and 'quotes'.fa", f">a\n{a}\n")
    bench.accepts("fine name of a file", spaced, lines=50)
    dash = bench.write("-", f">a\n{b}\n")
    bench.accepts("fine file named -", dash, lines=50)
    fifo = bench.folder / "pipe"
    common.os.mkfifo(fifo)
    with subprocess.Popen(["dd", "status=none", f"if={bench.inputs / 'no_newline.fa'}", f"of={fifo}"]) as writer:
        bench.accepts("fine pipe", fifo, lines=50)
        writer.kill()


def compressed(bench, rng):
    """Damaged and foreign compression."""
    text = fastq(rng).encode()
    whole = gzip.compress(text)
    bench.accepts("whole gzip", bench.write("whole.fq.gz", whole))
    bench.refuses("gzip, wrong CRC", bench.write("crc.fq.gz", flip(whole, len(whole) - 6, 4)))
    bench.refuses("gzip, wrong length", bench.write("isize.fq.gz", flip(whole, len(whole) - 2)))
    cuts = (3, 9, 10, 11, 100, len(whole) // 2, len(whole) - 9, len(whole) - 8, len(whole) - 4, len(whole) - 1)
    for cut in some(cuts, 3):
        bench.refuses(f"gzip cut after {cut} bytes", bench.write("cut.fq.gz", whole[:cut]))
        with open(bench.inputs / "cut.fq.gz", "rb") as stdin:
            bench.refuses(f"gzip cut after {cut} bytes, standard input", "-", names=["standard input"], stdin=stdin)
    for i in some(range(20), 3):
        offset = rng.randrange(10, len(whole) - 8)
        bench.refuses(f"gzip, bit flipped in byte {offset}", bench.write("flipped.fq.gz", flip(whole, offset, i % 8)))
    second = whole + whole
    for cut in some((len(whole) + 2, len(whole) + 10, len(whole) + 1000, len(second) - 1), 2):
        bench.refuses(f"gzip cut in its second member, {cut} bytes", bench.write("cut2.fq.gz", second[:cut]))
    bench.refuses("gzip, garbage between members", bench.write("garbage.fq.gz", whole + b"garbage!" + whole))

    # The same, large enough for every buffer to have been filled some times.
    large = gzip.compress(fastq(rng, 30000).encode(), 1)
    bench.accepts("large gzip", bench.write("large.fq.gz", large))
    bench.refuses("large gzip, wrong CRC", bench.write("large_crc.fq.gz", flip(large, len(large) - 6)))
    bench.refuses("large gzip, cut", bench.write("large_cut.fq.gz", large[:-1000]))
    bench.refuses("large gzip, cut, behind a good file",
                  [bench.inputs / "whole.fq.gz", bench.inputs / "large_cut.fq.gz"])

    blocks, offsets = bgzf(text)
    bench.accepts("whole BGZF", bench.write("whole.bgzf.gz", blocks))
    bench.refuses("BGZF without its end", bench.write("no_end.bgzf.gz", blocks[: -len(BGZF_END)]))
    bench.refuses("BGZF cut between blocks", bench.write("blocks.bgzf.gz", blocks[: offsets[3]]))
    bench.refuses("BGZF cut in a block", bench.write("block.bgzf.gz", blocks[: offsets[3] + 500]))
    bench.refuses("BGZF cut in a block's header", bench.write("header.bgzf.gz", blocks[: offsets[3] + 7]))
    bench.refuses("BGZF cut in its end", bench.write("end.bgzf.gz", blocks[:-5]))
    bench.refuses("BGZF, wrong CRC", bench.write("crc.bgzf.gz", flip(blocks, offsets[4] - 7, 3)))
    bench.refuses("BGZF, wrong length", bench.write("isize.bgzf.gz", flip(blocks, offsets[4] - 3, 0)))
    bench.refuses("BGZF, wrong block size", bench.write("bsize.bgzf.gz", flip(blocks, offsets[3] + 16, 2)))
    for i in some(range(20), 3):
        offset = rng.randrange(18, offsets[1] - 8)
        bench.refuses(f"BGZF, bit flipped in byte {offset}", bench.write("flipped.bgzf.gz", flip(blocks, offset, i % 8)))

    for name, packed in (("bzip2", bz2.compress(text)), ("xz", lzma.compress(text))):
        bench.accepts(f"whole {name}", bench.write("whole", packed))
        for cut in some((10, 11, 100, len(packed) // 2, len(packed) - 9, len(packed) - 1), 3):
            bench.refuses(f"{name} cut after {cut} bytes", bench.write("cut", packed[:cut]))
        for i in some(range(20), 3):
            offset = rng.randrange(len(packed))
            bench.refuses(f"{name}, bit flipped in byte {offset}", bench.write("flipped", flip(packed, offset, i % 8)))
    bench.refuses("zstd", bench.write("reads.fq.zst", bytes.fromhex("28b52ffd") + text[:1000]))
    bench.refuses("zip", bench.write("reads.zip", b"PK\x03\x04" + bytes(26) + text))
    bench.refuses("gzip of gzip", bench.write("twice.fq.gz", gzip.compress(whole)))
    bench.refuses("gzip of prose", bench.write("prose.gz", gzip.compress(b"Prose, compressed.\n")))


def alignments(bench, data):
    """BAM and CRAM, whole and damaged; from the project's own data/."""
    bam, cram = data / "aligned.bam", data / "aligned.cram"
    if not bam.exists() or not cram.exists():
        bench.report.skip("BAM and CRAM", f"none in {data}")
        return
    outside = bench.environment
    if common.os.environ.get("WARPMER_SANITIZE"):  # htslib leaks some bytes when it meets damage
        options = outside.get("ASAN_OPTIONS", "")
        bench.environment = dict(outside, ASAN_OPTIONS=f"{options}:detect_leaks=0".lstrip(":"))
    bench.accepts("whole BAM", bam)
    bench.accepts("whole CRAM", cram, ["--reference", data / "genome.fa"])
    content = bam.read_bytes()
    end = len(content) - len(BGZF_END)
    for cut in (3, 20, 200, len(content) // 2, end - 1, end, end + 1, len(content) - 3):
        path = bench.write("cut.bam", content[:cut])
        # htslib's threads once waited for each other forever, now and then.
        for threads in some((1, 2, 3, 3, 3, 4, 8), 3) if cut > end else some((4, 1)):
            bench.refuses(f"BAM cut after {cut} of {len(content)} bytes, -t {threads}", path, options=["-t", threads])
    for offset in some(range(100, len(content) - len(BGZF_END), max(1, len(content) // 12)), 4):
        bench.refuses(f"BAM, bit flipped in byte {offset}", bench.write("flipped.bam", flip(content, offset, 5)))
    reference = ["--reference", data / "genome.fa"]
    content = cram.read_bytes()
    for cut in some((6, 26, 100, len(content) // 2, len(content) - 77, len(content) - 37, len(content) - 3), 4):
        bench.refuses(f"CRAM cut after {cut} of {len(content)} bytes", bench.write("cut.cram", content[:cut]), options=reference)
    intact = bench.dump_of(cram, reference)
    for offset in some(range(300, len(content) - 76, max(1, len(content) // 12)), 4):
        path = bench.write("flipped.cram", flip(content, offset, 5))
        # What is not needed is not decoded: damage to names or tags may go unnoticed, damage to bases not.
        if intact and bench.dump_of(path, reference) == intact:
            bench.report.ok()
        else:
            bench.refuses(f"CRAM, bit flipped in byte {offset}", path, options=reference)
    bench.environment = dict(bench.environment, REF_PATH="/nonexistent/%s", REF_CACHE="/nonexistent/%s")
    bench.refuses("CRAM without its reference", cram)
    bench.refuses("CRAM with a missing reference", cram, options=["--reference", bench.inputs / "missing.fa"], names=["missing.fa"])
    wrong = bench.write("wrong.fa", ">chr9\nACGT\n")
    bench.refuses("CRAM with another genome as reference", cram, options=["--reference", wrong])
    bench.environment = outside
    (bench.inputs / "wrong.fa.fai").unlink(missing_ok=True)


def no_such_input(bench):
    good = bench.write("good.fa", ">good\nACGTACGTACGTACGTACGTACGTACGTACGTACGTACGT\n")
    bench.refuses("missing file", bench.inputs / "missing.fq")
    bench.refuses("missing file behind a good one", [good, bench.inputs / "missing.fq"])
    bench.refuses("directory", bench.inputs)
    bench.refuses("missing list", f"@{bench.inputs / 'missing.list'}", names=["missing.list"])
    listing = bench.write("some.list", f"{good}\n{bench.inputs / 'missing.fq'}\n")
    bench.refuses("list that names a missing file", f"@{listing}", names=["missing.fq"])
    bench.refuses("name that goes through a file", good / "x.fa")
    bench.refuses("bad file behind a good one", [good, bench.inputs / "protein.fa"], True)
    bench.refuses("bad file in front of a good one", [bench.inputs / "protein.fa", good], True, names=["protein.fa"])


def deep_inside(bench, rng):
    """One bad character far inside a large file, at a known place."""
    lines = [random_bases(rng, 100) for _ in range(1000)]
    for name, record, position in some((("deep.fa", 37, 154321), ("deep_first.fa", 1, 199999), ("deep_last.fa", 41, 1))):
        path = bench.inputs / name
        with open(path, "w", encoding="ascii") as out:
            for number in range(1, 42):
                out.write(f">chromosome_{number}\n")
                for line in range(2000):
                    text = lines[(line * 7 + number) % 1000]
                    if number == record and line == (position - 1) // 100:
                        text = text[: (position - 1) % 100] + "!" + text[(position - 1) % 100 + 1 :]
                    out.write(text + "\n")
        place = rf"(record {record}\b|chromosome_{record}\b).*\b{position}\b"
        for options in some((["--device", "cpu:3", "-t", "3"], ["-t", "4"], ["-t", "1"])):
            bench.refuses(f"{name} {' '.join(options)}", path, place, options)
        path.unlink()
    path = bench.inputs / "deep.fq"
    reads = fastq(rng, 25000, 100).split("\n")
    reads[4 * 23210 + 1] = reads[4 * 23210 + 1][:77] + "J" + reads[4 * 23210 + 1][78:]
    path.write_text("\n".join(reads), encoding="ascii")
    for options in some((["-t", "4"], ["-t", "1"])):
        bench.refuses(f"deep.fq {' '.join(options)}", path, r"(record 23211|read23211)\b.*\b78\b", options)


def damaged_indexes(bench, rng):
    """Every reading command refuses an index that is not what was written, or is not touched by the damage."""
    source = bench.write("source.fa", f">s\n{random_bases(rng, 3000)}\n")
    intact = bench.folder / "intact.wmi"
    done = bench.run([bench.warpmer, "count", "-k", "21", "-o", intact, source])
    if not bench.report.check("index for damage", done.returncode == 0, done.stderr.decode(errors="replace")):
        return
    content = intact.read_bytes()
    kmer = common.run([bench.warpmer, "dump", intact]).stdout.split(b"\t")[0].decode()
    path = bench.inputs / "index.wmi"
    commands = {
        "dump": ["dump", path],
        "dump --sort": ["dump", "--sort", path],
        "histo": ["histo", path],
        "query": ["query", path, kmer],
        "query --reads": ["query", path, "--reads", source],
        "stats": ["stats", path],
        "stats --json": ["stats", "--json", path],
        "info": ["info", path],
        "info --json": ["info", "--json", path],
    }
    commands = {name: commands[name] for name in some(commands, 4)}
    path.write_bytes(content)
    wanted = {}
    for name, arguments in commands.items():
        done = bench.run([bench.warpmer, *arguments])
        wanted[name] = done.stdout
        bench.report.check(f"intact index, {name}", done.returncode == 0 and done.stdout, done.stderr.decode(errors="replace"))

    def check(case, damaged, only=None, harmless=False):
        """`harmless`: commands that do not look at the damaged bytes may answer, and then rightly."""
        path.write_bytes(damaged)
        for name, arguments in commands.items():
            if only and name not in only:
                continue
            done = bench.run([bench.warpmer, *arguments])
            if harmless and not name.startswith("dump") and done.returncode == 0 and done.stdout == wanted[name]:
                bench.report.ok()
                continue
            faults = bench.refusal_faults(done, [path.name], False)
            bench.verdict(f"index {case}, {name}", [bench.warpmer, *arguments], done, faults)

    check("of no bytes", b"")
    check("of one byte", content[:1])
    check("that is FASTA", source.read_bytes(), [name for name in commands if name != "histo"])  # which counts it
    few = ("dump", "query")
    all_or_few = None if FULL else few
    check("with another magic", b"KMCS" + content[4:], all_or_few)
    check("of zeros", bytes(len(content)), all_or_few)
    check("of noise", rng.randbytes(len(content)), all_or_few)
    check("with a byte more", content + b"\0", all_or_few)
    check("with a kilobyte more", content + bytes(1024), all_or_few)
    check("with a byte less in front", content[1:], all_or_few)
    check("twice", content + content, all_or_few)
    check("with the second half twice", content[: len(content) // 2] + content[len(content) // 2 :] * 2, all_or_few)
    cuts = (7, 8, 63, 64, 65, len(content) // 3, len(content) // 2, len(content) - 137, len(content) - 8, len(content) - 1)
    for cut in some(cuts, 3):
        check(f"cut after {cut} of {len(content)} bytes", content[:cut], only=None if cut == len(content) // 2 else few)
    for first in (len(content) // 4 // 8 * 8, len(content) // 2 // 8 * 8):
        check(f"with a hole of zeros at {first}", content[:first] + bytes(64) + content[first + 64 :], harmless=True)
    # What opens an index reads these, the same for all commands.
    offsets = list(range(0, 64)) + list(range(len(content) - 136, len(content)))
    offsets += [rng.randrange(64, len(content) - 136) for _ in range(60)]
    for number, offset in enumerate(some(offsets, 12)):
        bit = rng.randrange(8)
        is_payload = 64 <= offset < len(content) - 136
        check(f"with bit {bit} of byte {offset} of {len(content)} flipped", flip(content, offset, bit),
              only=None if number % 10 == 0 else few if is_payload else ("dump",), harmless=True)
    path.unlink()
    missing = ["dump", bench.inputs / "missing.wmi"]
    for arguments in (missing, ["histo", bench.inputs / "missing.wmi"], ["info", bench.inputs]):
        done = bench.run([bench.warpmer, *arguments])
        faults = bench.refusal_faults(done, [arguments[-1].name], False)
        bench.verdict(f"no such index, {arguments[0]}", [bench.warpmer, *arguments], done, faults)

    bench.refuses("index as input of count", intact)
    for name in ("protein.fa", "cut.fq.gz", "missing.fq", "short_quality.fq"):
        command = [bench.warpmer, "query", intact, "--reads", bench.inputs / name]
        done = bench.run(command)
        faults = [f for f in bench.refusal_faults(done, [name], False) if "standard output" not in f]  # it streams
        bench.verdict(f"query --reads {name}", command, done, faults)


def nothing_is_lost(bench, rng):
    """A failed or interrupted run leaves an older output alone and nothing else behind."""
    output = bench.outputs / "out.wmi"
    for name in ("protein.fa", "large_cut.fq.gz", "short_quality.fq"):
        output.write_bytes(b"older")
        done = bench.run([bench.warpmer, "count", "-k", "31", "-o", output, bench.inputs / name])
        kept = output.exists() and output.read_bytes() == b"older"
        left = bench.leftovers(expected=("out.wmi",))
        bench.report.check(f"older output survives {name}", done.returncode == 3 and kept and not left,
                           f"exit {done.returncode}, kept: {kept}, left behind: {left}")
        output.unlink(missing_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen([bench.warpmer, "count", "-k", "31", "-o", str(output), "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bench.environment) as process:
            error, status = b"", "none (hangs)"
            try:
                process.stdin.write(fastq(rng, 2000).encode())
                process.stdin.flush()
                time.sleep(0.3)
                process.send_signal(number)
                status = process.wait(timeout=20)  # its input stays open: only the signal can end it
                error = process.stderr.read()
                process.stdin.close()
            except subprocess.TimeoutExpired:
                process.kill()
            except BrokenPipeError:
                status = "none (it has ended by itself)"
        left = bench.leftovers()
        ok = isinstance(status, int) and status not in (0, 5) and not left
        bench.report.check(f"{number.name}", ok, f"exit {status}, left behind: {left}, stderr {error!r}")
    if pathlib.Path("/dev/full").exists():
        index = bench.folder / "intact.wmi"
        for arguments in (["dump", index], ["histo", index], ["stats", index], ["info", index]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([bench.warpmer, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
            bench.report.check(f"{arguments[0]} to a full disk", done.returncode == 4 and done.stderr.count(b"\n") == 1,
                               f"exit {done.returncode}, stderr {done.stderr!r}")


def shared_files(bench, folder):
    for data_file in common.manifest(folder):
        if data_file.is_medium:
            continue
        if data_file.why_refused:
            place = data_file.why_refused not in ("no sequences", "truncated gzip", "comments in FASTA")
            bench.refuses(f"{data_file.name} ({data_file.why_refused})", data_file.path, place)
        else:
            bench.accepts(data_file.name, data_file.path, data_file.warpmer_options)
    cram = folder / "small/derived/spombe_rnaseq_120k.external_ref.cram"
    saved = bench.environment
    bench.environment = dict(saved, REF_PATH="/nonexistent/%s", REF_CACHE="/nonexistent/%s")
    bench.refuses("external_ref.cram without its reference", cram)
    bench.environment = saved
    for name in ("small/derived/spombe_chrI_120k.fa.fai", "MANIFEST.tsv"):
        bench.refuses(name, folder / name)


def main():
    report = common.Report()
    rng = random.Random(20261121)
    with tempfile.TemporaryDirectory(prefix="refusals.") as folder:
        bench = Bench(report, folder)
        data = pathlib.Path(common.os.environ.get("WARPMER_DATA") or common.SOURCE / "data")
        malformed_records(bench, rng)
        fine_oddities(bench, rng)
        compressed(bench, rng)
        alignments(bench, data)
        no_such_input(bench)
        damaged_indexes(bench, rng)
        nothing_is_lost(bench, rng)
        deep_inside(bench, rng)
        shared = common.shared_data(required=False)
        if shared:
            shared_files(bench, shared)
        else:
            report.skip("specimens of ../shared/data", "it is not there")
    report.finish()


if __name__ == "__main__":
    main()
