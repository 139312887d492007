#!/usr/bin/env python3
"""What outputs may replace, what they may be called, and several of them at once: all or none.

ctest: release only (a shim cannot come before the sanitizers)
"""

import bz2
import gzip
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess
import time

from common_cli import DATA, DONE, RESOURCE, USAGE, WARPMER, CliTest, has_files_without_names, main
from common_file_systems import LackingTest

SEQUENCE = "ACGTTGCATGCAAGGCTTACGATCGGATCACGTTGCATTTGGCCAATCGATT"
FASTA = f">r\n{SEQUENCE}\n"
FASTQ = f"@r\n{SEQUENCE}\n+\n{'I' * len(SEQUENCE)}\n"
ALIGNMENT = f"r\t4\t*\t0\t0\t*\t*\t0\t0\t{SEQUENCE}\t{'I' * len(SEQUENCE)}\n"
SAM = "@HD\tVN:1.6\tSO:unsorted\n" + ALIGNMENT
SETS = ("union", "intersect", "subtract", "symmetric-difference", "merge")
OLD = "of the user's\n"
# A server and its client, and a command that goes on with an output that is there: serve.py and watch.py test them.
ELSEWHERE = {("serve", "--save"), ("save", "-o"), ("watch", "-o")}
# PNG is made where its module is.
PNGS = [("compare", "in.wmi", "in_2.wmi", "-o", "other.tsv", "--png"), ("hetmers", "in.wmi", "--any", "--min-count", 1, "-o", "other.smu", "--png")]
ELSEWHERE |= {(command[0], command[-1]) for command in PNGS}
HAS_PNG = pathlib.Path(WARPMER).with_name("warpmer_png.so").exists()


class OutputsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.file("in.fa", FASTA)
        self.file("in_2.fa", FASTA)
        self.count("in.fa", k=5, output="in.wmi")
        shutil.copy(self.folder / "in.wmi", self.folder / "in_2.wmi")
        self.warpmer("positions", "-k", 5, "-o", "in.wmp", "in.fa")
        self.warpmer("matrix", "in.wmi", "-o", "in.tsv")

    def commands(self):
        """Each command with each option that names an output, whose name comes last; other outputs are as in `others`."""
        filtered = ("filter", "in.wmi", "-1", "in.fa", "-2", "in_2.fa")
        return [
            ("count", "-k", 5, "in.fa", "-o"),
            ("count", "-k", 5, "in.fa", "-o", "other.wmi", "--stats"),
            ("update", "in.wmi", "--add", "in.fa", "-o"),
            ("update", "in.wmi", "--add", "in.fa", "-o", "other.wmi", "--stats"),
            *[(command, "in.wmi", "in_2.wmi", "-o") for command in SETS],
            *[(command, "in.wmi", "in_2.wmi", "-o", "other.wmi", "--stats") for command in SETS],
            ("compare", "in.wmi", "in_2.wmi", "-o"),
            ("compare", "in.wmi", "in_2.wmi", "-o", "other.tsv", "--svg"),
            ("matrix", "in.wmi", "-o"),
            ("histo", "in.wmi", "-o"),
            ("dump", "in.wmi", "-o"),
            ("convert", "in.wmi", "--to", "tsv", "-o"),
            ("query", "in.wmi", "ACGTT", "-o"),
            ("query", "in.wmi", "--reads", "in.fa", "-o"),
            ("qv", "in.wmi", "in.fa", "--solid-count", 1, "-o"),
            ("qv", "in.wmi", "in.fa", "--solid-count", 1, "-o", "other.tsv", "--sequences"),
            ("hetmers", "in.wmi", "--any", "--min-count", 1, "-o"),
            ("hetmers", "in.wmi", "--any", "--min-count", 1, "-o", "other.smu", "--svg"),
            ("report", "in.wmi", "-o"),
            ("filter", "in.wmi", "in.fa", "-o"),
            ("filter", "in.wmi", "in.fa", "-o", "other.fa", "--stats"),
            (*filtered, "--out2", "other.fa", "--out1"),
            (*filtered, "--out1", "other.fa", "--out2"),
            ("positions", "-k", 5, "in.fa", "-o"),
            ("locate", "in.wmp", "ACGTT", "-o"),
            ("stats", "in.wmi", "-o"),
            ("info", "in.wmi", "-o"),
            ("devices", "-o"),
            *(PNGS if HAS_PNG else []),
        ]

    def pairs(self):
        """Commands with two outputs, and their names."""
        return [
            (("count", "-k", 5, "in.fa", "-o", "a", "--stats", "b"), ("a", "b")),
            (("update", "in.wmi", "--add", "in.fa", "-o", "a", "--stats", "b"), ("a", "b")),
            (("union", "in.wmi", "in_2.wmi", "-o", "a", "--stats", "b"), ("a", "b")),
            (("compare", "in.wmi", "in_2.wmi", "-o", "a", "--svg", "b"), ("a", "b")),
            (("qv", "in.wmi", "in.fa", "--solid-count", 1, "-o", "a", "--sequences", "b"), ("a", "b")),
            (("hetmers", "in.wmi", "--any", "--min-count", 1, "-o", "a", "--svg", "b"), ("a", "b")),
            (("filter", "in.wmi", "in.fa", "-o", "a", "--stats", "b"), ("a", "b")),
            (("filter", "in.wmi", "-1", "in.fa", "-2", "in_2.fa", "--out1", "a", "--out2", "b"), ("a", "b")),
            (("convert", "in.wmi", "--to", "kmc", "-o", "a"), ("a.kmc_pre", "a.kmc_suf")),
        ]

    def content(self, name):
        return (self.folder / name).read_bytes()

    def test_every_output_is_known_here(self):
        """An option that says that it writes is in the list above: so none is forgotten."""
        known = {(command[0], command[-1]) for command in self.commands()}
        names = {"--output": "-o"}
        overview = self.warpmer("--help")
        commands = re.findall(r"^  ([a-z-]+)(?: |$)", overview.split("Commands:")[1].split("Options:")[0], re.M)
        self.assertGreater(len(commands), 15)
        for command in commands:
            text = re.sub(r"\n {6,}", " ", self.warpmer(command, "--help"))
            for long, words in re.findall(r"^  (?:-\w, )?(--[\w-]+) FILE\.* +(.*)", text, re.M):
                if re.match(r"(Write|Also draw|The (index|file) to write)", words):
                    self.assertIn((command, names.get(long, long)), known | ELSEWHERE)
                    self.assertIn("--force", text)


class Replacing(LackingTest, OutputsTest):
    def refuses(self, name, what, *command):
        before = self.content(name)
        self.refused(USAGE, rf"the output '{name}' is there already and is sequence data \({what}[^)]*\); .*--force", *command, name)
        self.assertEqual(self.content(name), before)

    def test_no_output_replaces_sequences(self):
        for name in ("reads.fq", "reads"):
            self.file(name, FASTQ)
            for command in self.commands():
                with self.subTest(command, name=name):
                    self.refuses(name, "FASTQ", *command)

    def test_force(self):
        """Under a name that fits whatever is written: what an ending promises, is promised with --force, too."""
        for command in self.commands():
            with self.subTest(command):
                self.file("reads", FASTQ)
                self.warpmer(*command, "reads", "--force")
                self.assertNotEqual(self.content("reads"), FASTQ.encode())
        self.file("reads.fq", FASTQ)
        self.refused(USAGE, "'reads.fq' ends as FASTQ does", "count", "-k", 5, "in.fa", "--force", "-o", "reads.fq")
        self.assertEqual(self.content("reads.fq"), FASTQ.encode())

    def test_kinds_of_sequences(self):
        self.file("reads.sam", SAM)
        bam = self.run_process("filter", "in.wmi", "reads.sam").stdout
        self.assertTrue(bam.startswith(b"\x1f\x8b"))
        bgzf = self.run_process("filter", "in.wmi", "--bgzf", "in.fa").stdout
        kinds = [
            ("FASTA", FASTA), ("FASTA", "\n\n" + FASTA), ("FASTA", FASTA.replace("\n", "\r\n")), ("FASTA", FASTA.replace("\n", "\r")),
            ("FASTA", "\ufeff" + FASTA), ("FASTA", ">only a name\n"), ("FASTA", f">long\n{SEQUENCE * 5000}"), ("FASTA", ">protein\nMKVLEEF\n"),
            ("FASTQ", FASTQ), ("FASTQ", f"@long\n{SEQUENCE * 5000}\n+\n"), ("FASTQ", FASTQ.replace("T", "U")),
            ("FASTQ", f"@r\n{SEQUENCE}\n{SEQUENCE}\n+\n"), ("SAM", SAM), ("SAM", "@RG\tID:a\n" + ALIGNMENT), ("SAM", ALIGNMENT), ("BAM", bam),
            ("FASTA, compressed", bgzf), ("FASTQ, compressed", gzip.compress(FASTQ.encode())),
            ("FASTQ, compressed", gzip.compress(FASTQ.encode() * 100_000)), ("FASTA, compressed", gzip.compress(b"") + gzip.compress(FASTA.encode())),
            ("SAM, compressed", gzip.compress(SAM.encode())), ("CRAM", b"CRAM\3\0" + bytes(100)),
            ("FASTQ, compressed with bzip2", bz2.compress(FASTQ.encode())), ("FASTA, compressed with xz", lzma.compress(FASTA.encode())),
            ("compressed with lz4", b"\x04\x22\x4d\x18" + bytes(20)), ("an SRA archive", b"NCBI.sra" + bytes(100)),
        ]
        for what, content in kinds:
            with self.subTest(what, content=content[:30]):
                self.refuses(self.file("reads", content).name, what, "count", "-k", 5, "in.fa", "-o")

    def test_what_is_none_is_replaced(self):
        first = self.content("in.wmi")
        for content in ("", OLD, "@ARTICLE{x,\n title = y }\n", ">> a diary\n12:30\n", "kmer\tcount\n", first, gzip.compress(OLD.encode()),
                        b"\x1f\x8b", b"\0" * 1000, "r\t" + "1\t" * 20 + "\n", '{"a": 1}\n'):
            with self.subTest(content[:30]):
                self.file("out.wmi", content)
                self.count("in.fa", k=5)
                self.assertEqual(self.dump("out.wmi"), self.dump("in.wmi"))
        # Their own outputs, when a pipeline runs again.
        for command in self.commands():
            if command[0] != "filter" or command[-1] == "--stats":
                self.warpmer(*command, "again", *(["--force"] if command[0] == "filter" else []))
                self.warpmer(*command, "again", *(["--force"] if command[0] == "filter" else []))

    def test_a_database_of_kmc(self):
        self.file("db.kmc_suf", FASTQ)
        self.refused(USAGE, "the output 'db.kmc_suf' is there already", "convert", "in.wmi", "--to", "kmc", "-o", "db")
        self.refused(USAGE, "the output 'db.kmc_suf' is there already", "convert", "in.wmi", "-o", "db.kmc_pre")
        self.warpmer("convert", "in.wmi", "--to", "kmc", "--force", "-o", "db")

    def test_a_pattern_in_place_of_a_name(self):
        for name in ("a.fq", "b.fq", "c.fq"):
            self.file(name, FASTQ)
        self.refused(USAGE, "'a.fq' .*--force", "count", "-k", 5, "-o", "a.fq", "b.fq", "c.fq")
        self.assertEqual(self.content("a.fq"), FASTQ.encode())

    def test_the_mode_is_kept(self):
        for mode in (0o600, 0o640, 0o664, 0o444):
            for command in (("count", "-k", 5, "in.fa", "-o", "x"), ("dump", "in.wmi", "-o", "x")):
                with self.subTest(mode=oct(mode), command=command):
                    self.file("x", OLD).chmod(mode)
                    self.warpmer(*command)
                    self.assertNotEqual(self.content("x"), OLD.encode())
                    self.assertEqual(stat.S_IMODE((self.folder / "x").stat().st_mode), mode)
                    (self.folder / "x").unlink()

    def test_what_is_kept_from_others_is_so_from_the_beginning(self):
        self.file("x", OLD).chmod(0o600)
        count = [WARPMER, "count", "-k", "5", "-t", "1", "-", "-o", "x"]
        with subprocess.Popen(count, cwd=self.folder, env=self.lacking("open:95"), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(FASTA.encode() * 100)
            process.stdin.flush()
            deadline = time.monotonic() + 60
            modes = []
            while time.monotonic() < deadline and not modes:
                modes = [stat.S_IMODE((self.folder / name).stat().st_mode) for name in self.files() if name.endswith(".tmp")]
            process.communicate()
            self.assertEqual(process.returncode, DONE)
        self.assertEqual(modes, [0o600])
        self.assertEqual(stat.S_IMODE((self.folder / "x").stat().st_mode), 0o600)

    def test_the_owner_is_kept(self):
        if os.geteuid() != 0:
            self.skipTest("only root gives files away")
        os.chown(self.file("x", OLD), 12345, 23456)
        (self.folder / "x").chmod(0o640)
        self.count("in.fa", k=5, output="x")
        status = (self.folder / "x").stat()
        self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (12345, 23456, 0o640))

    def test_links_are_followed(self):
        (self.folder / "there").mkdir()
        for target in ("there/file", str(self.folder / "there" / "file"), "second"):
            for exists in (False, True):
                with self.subTest(target=target, exists=exists):
                    (self.folder / "second").symlink_to("there/../there/file")
                    (self.folder / "link").symlink_to(target)
                    if exists:
                        self.file("there/file", OLD)
                    self.count("in.fa", k=5, output="link")
                    self.assertTrue((self.folder / "link").is_symlink())
                    self.assertEqual(os.listdir(self.folder / "there"), ["file"])
                    self.assertEqual(self.dump("there/file"), self.dump("in.wmi"))
                    for name in ("link", "second", "there/file"):
                        (self.folder / name).unlink()
        (self.folder / "link").symlink_to("no/file")
        self.refused(RESOURCE, "'link': the directory 'no' does not exist", "count", "-k", 5, "-o", "link", "in.fa")
        (self.folder / "circle").symlink_to("circle")
        self.refused(RESOURCE, "'circle': .*circle", "count", "-k", 5, "-o", "circle", "in.fa")
        (self.folder / "reads").symlink_to("in_2.fa")
        self.refused(USAGE, "'reads' is there already", "count", "-k", 5, "-o", "reads", "in.fa")


class Inputs(OutputsTest):
    """No output is an input."""

    def test_every_input(self):
        shutil.copy(self.folder / "in.fa", self.folder / "genome.fa")
        self.file("kmers.txt", "ACGTT\n")
        self.file("list", "in.fa\n")
        self.file("list_of_indexes", "in.wmi\n")
        for name, *command in (
            ("genome.fa", "count", "-k", 5, "--reference", "genome.fa", "in.fa"),
            ("genome.fa", "positions", "-k", 5, "--reference", "genome.fa", "in.fa"),
            ("genome.fa", "update", "in.wmi", "--add", "in.fa", "--reference", "genome.fa"),
            ("genome.fa", "query", "in.wmi", "--reads", "in.fa", "--reference", "genome.fa"),
            ("genome.fa", "locate", "in.wmp", "--reads", "in.fa", "--reference", "genome.fa"),
            ("genome.fa", "filter", "in.wmi", "in.fa", "--reference", "genome.fa"),
            ("list", "count", "-k", 5, "@list"),
            ("in.fa", "count", "-k", 5, "@list"),
            ("in.wmi", "union", "@list_of_indexes"),
            ("list_of_indexes", "union", "@list_of_indexes"),
            ("in.wmi", "compare", "in.wmi", "in_2.wmi"),
            ("in.wmi", "matrix", "in.wmi"),
            ("in.tsv", "matrix", "--append", "in.tsv", "in.wmi"),
            ("kmers.txt", "query", "in.wmi", "--kmers", "kmers.txt"),
            ("kmers.txt", "locate", "in.wmp", "--kmers", "kmers.txt"),
            ("in.wmp", "locate", "in.wmp", "ACGTT"),
            ("in.fa", "qv", "in.wmi", "in.fa"),
            ("in.fa", "filter", "in.wmi", "in.fa"),
            ("in.wmi", "filter", "in.wmi", "in.fa"),
            ("in_2.fa", "filter", "in.wmi", "-1", "in.fa", "-2", "in_2.fa"),
            ("in.fa", "update", "in.wmi", "--add", "in.fa"),
            ("in.fa", "update", "in.wmi", "--remove", "in.fa"),
            ("in.wmi", "convert", "--to", "tsv", "in.wmi"),
            ("in.wmi", "histo", "in.wmi"), ("in.wmi", "dump", "in.wmi"), ("in.wmi", "stats", "in.wmi"), ("in.wmi", "info", "in.wmi"),
        ):
            with self.subTest(name=name, command=command):
                before = self.content(name)
                for spelling in (name, f"./{name}", self.folder / name):
                    self.refused(USAGE, "is one of the inputs and would replace it|is there already", *command, "-o", spelling)
                    self.refused(USAGE, "is one of the inputs and would replace it", *command, "-o", spelling, "--force")
                if "@list" not in command and name != "in.wmi":
                    os.link(self.folder / name, self.folder / "hard")
                    (self.folder / "soft").symlink_to(name)
                    for other in ("hard", "soft"):
                        self.refused(USAGE, "is one of the inputs", *command, "-o", other)
                        (self.folder / other).unlink()
                self.assertEqual(self.content(name), before)

    def test_second_outputs(self):
        for command in self.commands():
            if command[-1] != "-o":
                with self.subTest(command):
                    self.refused(USAGE, "is one of the inputs", *command, "in.wmi" if "in.wmi" in command else "in.fa")

    def test_a_database_of_kmc(self):
        self.warpmer("convert", "in.wmi", "--to", "kmc", "-o", "db")
        for output in ("db.kmc_pre", "db.kmc_suf"):
            self.refused(USAGE, "is one of the inputs", "convert", "db", "--to", "wmi", "-o", output)

    def standard(self, *command, stdin, **options):
        with open(self.folder / stdin, "rb") as file:
            return subprocess.run([WARPMER, *map(str, command)], cwd=self.folder, stdin=file, stderr=subprocess.PIPE, check=False, **options)

    def test_standard_input(self):
        for stdin, *command in (
            ("in.fa", "count", "-k", 5, "-"),
            ("in.fa", "filter", "in.wmi", "-"),
            ("in.fa", "filter", "in.wmi", "/dev/stdin"),
            ("in.fa", "query", "in.wmi", "--reads", "-"),
            ("in.wmi", "histo", "-"),
            ("in.tsv", "matrix", "--append", "-", "in.wmi"),
        ):
            with self.subTest(command):
                before = self.content(stdin)
                process = self.standard(*command, "-o", stdin, stdin=stdin, stdout=subprocess.PIPE)
                self.assertEqual(process.returncode, USAGE, process.stderr)
                self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: [^\n]*is one of the inputs[^\n]*\n\Z")
                self.assertEqual((process.stdout, self.content(stdin)), (b"", before))

    def test_a_pipe(self):
        """It would wait for itself."""
        os.mkfifo(self.folder / "pipe")
        for command in (("filter", "in.wmi", "pipe"), ("query", "in.wmi", "--reads", "pipe"), ("count", "-k", 5, "pipe"), ("dump", "pipe")):
            self.refused(USAGE, "the output './pipe' is one of the inputs; choose another name", *command, "-o", "./pipe")
        self.file("pipes", "in.wmi\npipe\n")
        reads = [("filter", "in.wmi"), ("query", "in.wmi", "--reads"), ("count", "-k", 5), ("update", "in.wmi", "--add"), ("positions", "-k", 5)]
        for command in (*reads, ("histo",), ("stats",), ("info",), ("union",), ("compare",), ("matrix",)):
            self.refused(USAGE, "the output './pipe' is one of the inputs; choose another name", *command, "@pipes", "-o", "./pipe")

    def test_standard_output(self):
        """>> onto what is read would never end."""
        for stdin, *command in (("in.fa", "filter", "in.wmi", "in.fa"), ("in.fa", "filter", "in.wmi", "-"), ("in.wmi", "dump", "in.wmi")):
            with self.subTest(command), open(self.folder / stdin, "ab") as output:
                before = self.content(stdin)
                process = self.standard(*command, stdin=stdin, stdout=output)
                self.assertEqual(process.returncode, USAGE, process.stderr)
                self.assertRegex(process.stderr.decode(), "standard output is the same file as the input")
                self.assertEqual(self.content(stdin), before)


class Names(OutputsTest):
    """What cannot be written is refused before any work is done: the input is not even opened."""

    def test_names(self):
        os.mkdir(self.folder / "folder")
        long = "x" * 251 + ".wmi"
        for pattern, name in (
            (r"'x{60}\.\.\.': its name has 256 bytes, and .* up to 255", "x" + long),
            (r"'x{60}\.\.\.': its name has 300 bytes", "x" * 300),
            (r"'\./x+\.\.\.': its name has 300 bytes", "./" + "x" * 300),
            ("its path has", "folder/" + "./" * 2500 + "x"),
            ("the directory 'none' does not exist", "none/x"),
            ("'in.fa' is not a directory", "in.fa/x"),
            ("'folder': it is a directory", "folder"),
        ):
            for command in self.commands():
                with self.subTest(command=command, name=name[:20]):
                    self.refused(RESOURCE, pattern, *command, name)
        self.warpmer("count", "-k", 5, "-o", long, "in.fa")
        self.assertIn(long, self.files())

    def test_it_is_before_any_work(self):
        reads = self.folder / "never_written_to"
        os.mkfifo(reads)
        for name in ("x" * 256, "none/x"):
            for command in (("count", "-k", 5), ("positions", "-k", 5), ("filter", "in.wmi"), ("query", "in.wmi", "--reads")):
                process = subprocess.run([WARPMER, *map(str, command), reads, "-o", name], cwd=self.folder, timeout=60,
                                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
                self.assertEqual(process.returncode, RESOURCE, process.stderr)

    def test_a_database_of_kmc(self):
        self.refused(RESOURCE, "its name has 258 bytes", "convert", "in.wmi", "--to", "kmc", "-o", "x" * 250)
        self.warpmer("convert", "in.wmi", "--to", "kmc", "-o", "x" * 247)

    def test_a_folder_that_may_not_be_written_to(self):
        if os.geteuid() == 0:
            self.skipTest("root may")
        os.mkdir(self.folder / "folder", 0o500)
        for command in self.commands():
            self.refused(RESOURCE, "the directory 'folder' is not writable", *command, "folder/x")

    def test_outputs_differ(self):
        os.mkdir(self.folder / "folder")
        (self.folder / "link").symlink_to("x")
        for command in self.commands():
            if command[-1] in ("-o", "--out1"):
                continue
            first = command[-2]
            (self.folder / "other").symlink_to(first)
            for second in (first, f"./{first}", f"folder/../{first}", "other"):
                self.refused(USAGE, "cannot be the same", *command, second)
            (self.folder / "other").unlink()


class AllOrNone(LackingTest, OutputsTest):
    LACKING = ("", "exchange:22", "open:95", "open:95,exchange:22", "link:2")

    def failing(self, command, lacks):
        process = self.run_process(*command, env=self.lacking(lacks))
        self.assertEqual(process.stdout, b"")
        return process

    def test_the_second_name_cannot_be_given(self):
        for command, outputs in self.pairs():
            for lacks in self.LACKING:
                for old in ((), outputs[:1], outputs) if lacks in ("", "open:95,exchange:22") else (outputs,):
                    with self.subTest(command=command, lacks=lacks, old=old):
                        for name in old:
                            self.file(name, OLD)
                        before = self.files()
                        process = self.failing(command, f"{lacks},name:28:2")
                        self.assertEqual(process.returncode, RESOURCE, process.stderr)
                        self.assertRegex(
                            process.stderr.decode(),
                            r"\Awarpmer: error: cannot name '[^\n']*': No space left[^\n]*; none of the outputs is written\n\Z")
                        self.assertEqual(self.files(), before)
                        for name in old:
                            self.assertEqual(self.content(name), OLD.encode())
                            (self.folder / name).unlink()

    def test_the_first_name_cannot_be_given(self):
        for command, outputs in self.pairs():
            self.file(outputs[1], OLD)
            before = self.files()
            process = self.failing(command, "name:5:1")
            self.assertEqual((process.returncode, self.files()), (RESOURCE, before), process.stderr)
            self.assertEqual(self.content(outputs[1]), OLD.encode())
            (self.folder / outputs[1]).unlink()

    def test_all_names_are_given(self):
        """Whatever the file system lacks, over older files and not; and no other names are left."""
        for command, outputs in self.pairs():
            for lacks in (*self.LACKING, "exchange:22,hardlink:1"):
                with self.subTest(command=command, lacks=lacks):
                    before = self.files()
                    for _ in range(2):
                        process = self.run_process(*command, *(["--force"] if command[0] == "filter" else []), env=self.lacking(lacks))
                        self.done(process)
                        self.assertEqual(self.files(), sorted({*before, *outputs}))
                    for name in outputs:
                        (self.folder / name).unlink()

    def test_what_cannot_be_undone_is_said(self):
        """Where files can neither swap names nor have two, a replaced one is gone."""
        self.file("a", OLD)
        process = self.failing(("count", "-k", 5, "in.fa", "-o", "a", "--stats", "b"), "exchange:22,hardlink:1,name:28:2")
        self.assertEqual(process.returncode, RESOURCE)
        self.assertRegex(process.stderr.decode(), "cannot name 'b'.*; 'a' could not be taken back, and the others are not written\n")
        self.assertEqual(self.dump("a"), self.dump("in.wmi"))
        self.assertNotIn("b", self.files())

    def test_a_later_output_that_does_not_fit(self):
        """--stats is written when the index is complete."""
        for stats in ("/dev/full",):
            self.refused(RESOURCE, "/dev/full", "count", "-k", 5, "in.fa", "-o", "a", "--stats", stats)
            self.refused(RESOURCE, "/dev/full", "compare", "in.wmi", "in_2.wmi", "-o", "a", "--svg", stats)
            self.refused(RESOURCE, "/dev/full", "qv", "in.wmi", "in.fa", "--solid-count", 1, "-o", "a", "--sequences", stats)

    def test_temporary_files_that_stay_are_named(self):
        for lacks in ("unlink:1", "unlink:1,open:95"):
            for old in (False, True):
                with self.subTest(lacks=lacks, old=old):
                    if old:
                        self.file("x.tsv", OLD)
                    before = set(self.files())
                    process = self.run_process("dump", "in.wmi", "-o", "x.tsv", env=self.lacking(lacks))
                    self.assertEqual(process.returncode, DONE, process.stderr)
                    left = sorted(set(self.files()) - before - {"x.tsv"})
                    said = re.findall(r"the temporary file '[^']*/([^']*)' \(Operation not permitted\) could not be removed", process.stderr.decode())
                    self.assertEqual(sorted(said), left)
                    self.assertEqual(len(left), 1 if has_files_without_names(self.folder) and "open" not in lacks else 0)
                    for name in (*left, "x.tsv"):
                        (self.folder / name).unlink()


if __name__ == "__main__":
    main()
