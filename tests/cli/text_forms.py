#!/usr/bin/env python3
"""Odd forms of FASTA, FASTQ and SAM that are fine, and those that must be named: by every way of reading.

ctest: one thread
"""

import gzip
import itertools
import os
import random
import struct
import subprocess
import zlib

from common_cli import INPUT, USAGE, WARPMER, CliTest, main, naive_count
from common_tier import FULL

BASES = "ACGTTGCATGCAAGGCTTACGATCGGATC"
EXPECTED = naive_count([BASES], 7)
WAYS = (["-t", "1"], ["-t", "4"], ["--lenient"])


class Forms(CliTest):
    ways = itertools.cycle(WAYS)

    def some_ways(self):
        """All; in the sample tier the next one."""
        return WAYS if FULL else (next(self.ways),)

    def counts(self, text, k=7, options=()):
        """By each way: a file, gzip of it, and standard input."""
        self.file("in", text)
        self.file("in.gz", gzip.compress(text))
        found = [self.dump(self.count("in", k=k, options=options)), self.dump(self.count("in.gz", k=k, options=options))]
        found.append(self.dump(self.count("-", k=k, options=options, stdin=text)))
        self.assertEqual(found[1:], found[:1] * 2)
        return found[0]

    def check(self, text):
        for options in self.some_ways():
            with self.subTest(text, options=options):
                self.assertEqual(self.counts(text, options=options), EXPECTED)

    def test_plus_line_that_says_something_else(self):
        for plus in ("old.1 renamed", "b", "merged_150_15"):
            self.check(f"@a x\n{BASES}\n+{plus}\n{'I' * 29}\n".encode())

    def test_white_space_is_no_base(self):
        a, b = BASES[:16], BASES[16:]
        self.check(f">a\n{a} \n{b}\t\n".encode())
        self.check(f" \n\t\n>a\n{a[:8]} {a[8:]}  \r\n   \r\n{b}\r\n \r\n".encode())
        self.check(f">a\n        1 {a[:10]} {a[10:]}\n       17 {b[:10]} {b[10:]}\n".encode())
        self.check(f"@a\n{BASES} \n+\n{'I' * 29}\n".encode())
        self.check(f"@a\n{BASES}\t\n+\n{'I' * 29} \n \n".encode())

    def test_a_large_file_with_white_space_in_one_place(self):
        source = random.Random(5)
        reads = ["".join(source.choice("ACGT") for _ in range(100)) for _ in range(40000)]
        for form in (lambda i, r: f">r{i}\n{r}\n", lambda i, r: f"@r{i}\n{r}\n+\n{'I' * 100}\n"):
            records = [form(i, read) for i, read in enumerate(reads)]
            self.file("plain", "".join(records))
            records[20000] = records[20000].replace(reads[20000] + "\n", reads[20000] + " \t\n")
            self.file("blank", "".join(records))
            dumps = {
                self.warpmer("dump", "--sort", self.count(name, k=9, options=options))
                for name in ("plain", "blank")
                for options in (["-t", "1"], ["-t", "4"], ["-t", "2", "--device", "cpu:2"])
            }
            self.assertEqual(len(dumps), 1)

    def test_a_blank_before_the_name(self):
        self.file("in.fa", f"> name and more\n{BASES}\n>\n{BASES}\n")
        self.count("in.fa", k=7)
        lines = self.warpmer("query", "out.wmi", "--reads", "in.fa").splitlines()[1:]
        self.assertEqual([line.split("\t")[0] for line in lines], ["name", ""])
        self.assertEqual(self.warpmer("filter", "out.wmi", "in.fa"), f">name and more\n{BASES}\n>\n{BASES}\n")

    def test_files_joined_without_a_line_end(self):
        cases = (
            f">a\n{BASES}>b\n{BASES}\n",
            f">a\n{BASES}@b\n{BASES}\n+\n{'I' * 29}\n",
            f"@a\n{BASES}\n+\n{'I' * 29}@b\n{BASES}\n+\n{'I' * 29}\n",
            f"@a\n{BASES}\n+\n{'I' * 29}>b\n{BASES}\n",
        )
        for text in cases:
            self.file("cat", text)
            for options in self.some_ways():
                error = "cat, record 1 .'a'.*two files were joined without a line end"
                said = self.refused(INPUT, error, "count", "-k", 7, *options, "-o", "out.wmi", "cat")
                self.assertNotIn("--lenient", said)

    def test_line_ends_of_old(self):
        for text in (f">a\r{BASES}\r", f"@a\r{BASES}\r+\r{'I' * 29}\r"):
            self.file("old", text)
            self.refused(INPUT, "old, record 1, line 1: .*carriage return", "count", "-k", 7, "-o", "out.wmi", "old")
            converted = text.replace("\r", "\n").encode()  # as the message says
            self.assertEqual(self.counts(converted), EXPECTED)


class Alignments(CliTest):
    def sam(self, bases, header="@HD\tVN:1.6\n"):
        return f"{header}r1\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{'I' * len(bases)}\n"

    def test_u_is_t(self):
        self.file("rna.fq", f"@r1\n{BASES.replace('T', 'U')}\n+\n{'I' * 29}\n")
        self.file("rna.sam", self.sam(BASES.replace("T", "U")))
        for k in (4, 7, 21):
            dumps = [self.dump(self.count(name, k=k)) for name in ("rna.fq", "rna.sam")]
            self.assertEqual(dumps[0], naive_count([BASES], k))
            self.assertEqual(dumps[1], dumps[0])
        self.count("rna.fq", k=4)
        self.warpmer("filter", "out.wmi", "rna.sam", "--min-fraction", 1, "-o", "kept.bam")
        self.assertEqual(self.dump(self.count("kept.bam", k=4, output="kept.wmi")), naive_count([BASES], 4))
        lines = self.warpmer("query", "out.wmi", "--reads", "rna.sam").splitlines()
        self.assertEqual(lines[1].split("\t")[:3], ["r1", "26", "26"])

    def test_names_end_at_blanks(self):
        """A tab in a name, which SAM has no place for, would be a column of tables that it is not."""
        name, bases = b"r\t1 x\0", BASES[:28]
        codes = bytes("=ACMGRSVTWYHKDBN".index(a) << 4 | "=ACMGRSVTWYHKDBN".index(b) for a, b in zip(bases[::2], bases[1::2]))
        record = struct.pack("<iiBBHHHiiii", -1, -1, len(name), 0, 4680, 0, 4, len(bases), -1, -1, 0) + name + codes + b"I" * len(bases)
        header = b"@HD\tVN:1.6\n"
        text = b"BAM\1" + struct.pack("<i", len(header)) + header + struct.pack("<ii", 0, len(record)) + record
        packed = zlib.compressobj(wbits=-15)
        body = packed.compress(text) + packed.flush()
        block = struct.pack("<4BI2BH2sHH", 31, 139, 8, 4, 0, 0, 255, 6, b"BC", 2, len(body) + 25) + body + struct.pack("<II", zlib.crc32(text), len(text))
        self.file("tab.bam", block + bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000"))
        self.file("tab.fq", f"@r\t1 x\n{bases}\n+\n{'I' * 28}\n")
        self.file("tab.fa", f">r\t1 x\n{bases}\n")
        self.count("tab.fa", k=7)
        for reads in ("tab.bam", "tab.fq", "tab.fa"):
            with self.subTest(reads=reads):
                lines = self.warpmer("query", "out.wmi", "--reads", reads).splitlines()
                self.assertEqual([line.split("\t")[:3] for line in lines], [["read", "kmers", "found"], ["r", "22", "22"]])
                for option in (("--profile",), ("--format", "bed")):
                    self.assertEqual(self.warpmer("query", "out.wmi", "--reads", reads, *option).split("\t")[0].splitlines()[-1], "r")

    def test_the_references_base(self):
        self.file("equal.sam", self.sam("ACG=" + BASES))
        for command in (("count", "-k", 7, "-o", "out.wmi", "equal.sam"),):
            self.refused(INPUT, "position 4 of the sequence is '='.*samtools calmd", *command)

    def test_without_a_header(self):
        self.file("bare.sam", "r1\t0\tchr1\t100\t60\t29M\t*\t0\t0\t" + BASES + "\t" + "I" * 29 + "\n")
        self.refused(INPUT, "SAM without its header.*samtools view -h", "count", "-k", 7, "-o", "out.wmi", "bare.sam")


class Qualities(CliTest):
    def test_phred64_is_named_where_qualities_matter(self):
        quality = "h" * 12 + "B" + "h" * 16
        self.file("q64.fq", f"@a\n{BASES}\n+\n{quality}\n")
        self.file("q33.fq", f"@a\n{BASES}\n+\n{''.join(chr(ord(q) - 31) for q in quality)}\n")
        self.count("q33.fq", k=7, output="i.wmi")
        low = ["--min-base-quality", 20]
        commands = (
            ["count", "-k", 7, *low, "-o", "out.wmi"],
            ["plan", "-k", 7, *low],
            ["query", "i.wmi", *low, "--reads"],
            ["filter", "i.wmi", *low, "--force", "-o", "kept.fq"],
            ["update", "i.wmi", *low, "-o", "more.wmi", "--add"],
        )
        for command in commands:
            with self.subTest(command):
                self.warned(r"warpmer: warning: q64.fq: qualities look like Phred\+64", *command, "q64.fq")
                self.warpmer(*command, "q33.fq")
        self.warpmer("count", "-k", 7, "-o", "out.wmi", "q64.fq")
        self.file("none.fa", f">a\n{BASES}\n")
        for command in commands:
            command = ["kept.fa" if word == "kept.fq" else word for word in command]
            with self.subTest(command):
                self.warned("warning: no input has qualities, so --min-base-quality changes nothing", *command, "none.fa")
                if command[0] != "filter":  # writes one form
                    self.warpmer(*command, "none.fa", "q33.fq")
        # Alignments, too, whose numbers a converter took from such a file as they were.
        for strand in (0, 16):
            self.file("q64.sam", f"@HD\tVN:1.6\nr\t{4 + strand}\t*\t0\t0\t*\t*\t0\t0\t{BASES}\t{quality}\n")
            self.file("none.sam", f"@HD\tVN:1.6\nr\t{4 + strand}\t*\t0\t0\t*\t*\t0\t0\t{BASES}\t*\n")
            for command in (commands[0], commands[2]):
                with self.subTest(command, strand=strand):
                    self.warned(r"warning: q64.sam: qualities look like Phred\+64.*samtools fastq", *command, "q64.sam")
                    self.warned("no input has qualities", *command, "none.sam")

    def test_so_are_solexas(self):
        quality = "h" * 12 + ";" + "h" * 10 + "<=>?@A"
        self.file("solexa.fq", f"@a\n{BASES}\n+\n{quality}\n")
        self.file("solexa.sam", f"@HD\tVN:1.6\nr\t4\t*\t0\t0\t*\t*\t0\t0\t{BASES}\t{quality}\n")
        words = "qualities look like Solexa's, as Illumina before 1.3 wrote them: none is below ';'"
        self.count("solexa.fq", k=7, output="i.wmi")
        for command in (["count", "-k", 7, "-o", "out.wmi"], ["plan", "-k", 7], ["query", "i.wmi"]):
            with self.subTest(command):
                low = [*command, "--min-base-quality", 20, *(["--reads"] if command[0] == "query" else [])]
                self.warned(rf"warning: solexa.fq: {words}.*`seqret fastq-solexa::solexa.fq fastq-sanger::OUT`", *low, "solexa.fq")
                self.warned(rf"warning: solexa.sam: {words}.*`samtools fastq solexa.sam \| seqret ", *low, "solexa.sam")
        self.warpmer("count", "-k", 7, "-o", "out.wmi", "solexa.fq")


class Pairs(CliTest):
    def test_names_and_order(self):
        self.file("1.fq", "".join(f"@p{i}:1\n{BASES}\n+\n{'I' * 29}\n" for i in range(3)))
        self.file("2.fq", "".join(f"@p{i}:2\n{'C' * 29}\n+\n{'I' * 29}\n" for i in range(3)))
        self.file("3.fq", "".join(f"@other{i}\n{'C' * 29}\n+\n{'I' * 29}\n" for i in range(3)))
        self.file("4.fq", f"@other\n{'C' * 29}\n+\n{'I' * 29}\n")
        self.count("1.fq", k=7)
        filter_pairs = ("filter", "out.wmi", "--names-only", "-1", "1.fq", "-2")
        self.assertEqual(self.warpmer(*filter_pairs, "2.fq").split(), [f"p{i}:{m}" for i in range(3) for m in (1, 2)])
        self.refused(INPUT, "its mate should be record 1 of 3.fq, .*--by-order", *filter_pairs, "3.fq")
        expected = [name for i in range(3) for name in (f"p{i}:1", f"other{i}")]
        self.assertEqual(self.warpmer(*filter_pairs, "3.fq", "--by-order").split(), expected)
        self.refused(INPUT, "record 2 .*no mate: 4.fq has fewer reads", *filter_pairs, "4.fq", "--by-order")
        self.refused(USAGE, "--by-order needs pairs", "filter", "out.wmi", "--by-order", "1.fq")


class Shrinking(CliTest):
    def test_a_file_that_is_cut_off_before_its_turn(self):
        """Standard input holds the job up, between looking at all files and opening the second."""
        for compressed in (False, True):
            text = "".join(f">r{i}\n{BASES}\n" for i in range(1000)).encode()
            self.file("late.fa", gzip.compress(text) if compressed else text)
            before = self.files()
            command = [WARPMER, "count", "-k", "7", "-t", "1", "-o", "out.wmi", "-", "late.fa"]
            process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdin.write(b">first\n" + b"ACGT" * 100000)
            process.stdin.flush()
            # All but what fits a pipe has been read: the inputs have been listed.
            os.truncate(self.folder / "late.fa", 60)
            _, error = process.communicate(b"ACGT\n")
            self.assertEqual(process.returncode, INPUT, error)
            self.assertRegex(error.decode(), r"\Awarpmer: error: late.fa has become shorter while it was read[^\n]*\n\Z")
            self.assertEqual(self.files(), before)


if __name__ == "__main__":
    main()
