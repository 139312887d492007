#!/usr/bin/env python3
"""What names of outputs promise: text that ends in .gz is BGZF, other programs' formats are written, and else refused.

ctest: one thread (the threads that compress are those of test_threads_do_not_matter)
"""

import errno
import gzip
import json
import os
import signal
import subprocess
import threading
import time

from common_cli import DATA, DONE, INPUT, RESOURCE, USAGE, WARPMER, CliTest, file_size_limit, main
from common_tier import by_tier, some

READS = DATA / "reads_1.fq.gz"
GENOME = DATA / "forty.fa"
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
OTHERS = {"kff": ("x.kff",), "jellyfish": ("x.jf",), "kmc": ("x.kmc_pre", "x.kmc_suf"), "tsv": ("x.tsv",), "fasta": ("x.fa",),
          "fastk": ("x.ktab", ".x.ktab.1", ".x.ktab.2", ".x.ktab.3", ".x.ktab.4"), "yak": ("x.yak",)}
CANONICAL = ("fastk", "yak")  # hold nothing else
SEVERAL = ("kmc", "fastk")  # of several files, named by what they have in common


class EndingsTest(CliTest):
    index = "i.wmi"
    made = {}  # the files that every test begins with, and what is in them

    def setUp(self):
        super().setUp()
        if not self.made:
            self.count(READS, k=21, output=self.index)
            self.warpmer("positions", "-k", 21, "-o", "p.wmp", GENOME)
            self.made.update((name, (self.folder / name).read_bytes()) for name in (self.index, "p.wmp"))
        for name, content in self.made.items():
            self.file(name, content)

    def bytes_of(self, *names):
        return [(self.folder / name).read_bytes() for name in names]

    def unpacked(self, name):
        """The text of a BGZF file."""
        (packed,) = self.bytes_of(name)
        self.assertEqual((packed[:4], packed[12:16]), (bytes.fromhex("1f8b0804"), b"BC\x02\x00"), name)
        self.assertTrue(packed.endswith(BGZF_END), name)
        self.assertFalse(packed[: -len(BGZF_END)].endswith(BGZF_END), name)
        return gzip.decompress(packed).decode()


class Compressed(EndingsTest):
    def test_every_text(self):
        reads = ("--reads", READS)
        for ending, command in some((
            ("tsv", ("dump", self.index)), ("tsv", ("dump", "--sort", self.index)),
            ("fa", ("dump", "--format", "fasta", self.index)),
            ("txt", ("histo", self.index)), ("", ("histo", "--format", "kat", self.index)),
            ("txt", ("info", self.index)), ("json", ("info", "--json", self.index)), ("txt", ("info", "p.wmp")),
            ("txt", ("stats", self.index)), ("json", ("stats", "--json", self.index)), ("json", ("devices", "--json")),
            ("tsv", ("query", self.index, *reads)), ("tsv", ("query", self.index, "--profile", *reads)),
            ("bed", ("query", self.index, *reads, "--format", "bed")),
            ("bedgraph", ("query", self.index, *reads, "--format", "bedgraph")),
            ("tsv", ("query", self.index, "ACGTACGTACGTACGTACGTA")),
            ("tsv", ("locate", "p.wmp", *reads)), ("tsv", ("locate", "p.wmp", *reads, "--summary")),
            ("tsv", ("compare", self.index, self.index)), ("phy", ("compare", "--format", "phylip", self.index, self.index)),
            ("tsv", ("matrix", self.index)),
            ("tsv", ("qv", self.index, GENOME, "--solid-count", 2)),
            ("json", ("qv", self.index, GENOME, "--solid-count", 2, "--json")),
            ("fq", ("filter", self.index, READS)), ("txt", ("filter", self.index, READS, "--names-only")),
        ), 12):  # fmt: skip
            with self.subTest(command):
                if command[0] == "devices":  # what memory is free changes
                    self.run_process(*command, "-o", "x.json.gz")
                    self.assertIn("cpu", json.loads(self.unpacked("x.json.gz")))
                    continue
                plain = self.run_process(*command).stdout.decode()
                name = "x" + "." * bool(ending) + ending + ".gz"
                self.assertEqual(self.run_process(*command, "-o", name).returncode, 0)
                self.assertEqual(self.unpacked(name), plain)
                self.assertTrue(plain)

    def test_other_outputs(self):
        self.count(READS, k=21, options=("--stats", "s.json.gz"))
        self.assertEqual(json.loads(self.unpacked("s.json.gz"))["k"], 21)
        self.warpmer("qv", self.index, GENOME, "--solid-count", 2, "--sequences", "q.tsv.gz", "-o", "q.tsv")
        self.assertTrue(self.unpacked("q.tsv.gz").count("\n") > 1)
        self.warpmer("compare", "-q", self.index, self.index, "--svg", "x.svg.gz", "-o", "c.tsv")
        self.assertTrue(self.unpacked("x.svg.gz").startswith("<svg"))
        for name in ("x.tsv.gz", "x.fa.gz", "X.FASTA.GZ", "x.txt.bgz"):
            self.warpmer("convert", self.index, "-o", name)
            options = ("--format", "fasta") if "f" in name.lower() else ()
            self.assertEqual(self.unpacked(name), self.warpmer("dump", *options, self.index))
            self.warpmer("convert", name, "-o", "back.wmi")
            self.assertEqual(self.dump("back.wmi"), self.dump(self.index))

    def test_an_empty_text(self):
        self.file("none.fa", ">a\nAC\n")
        self.warpmer("dump", self.count("none.fa", k=21, options=("-q",), output="none.wmi"), "-o", "none.tsv.gz")
        self.assertEqual(self.unpacked("none.tsv.gz"), "")

    def test_threads_do_not_matter(self):
        """Several blocks for each of the threads, and pieces of text that end anywhere."""
        for ending, command in (
            ("tsv", ("dump", self.index)), ("tsv", ("query", self.index, "--profile", "--reads", READS)),
            ("tsv", ("locate", "p.wmp", "--reads", READS)),
            ("fa", ("convert", "--to", "fasta", self.index)),
        ):  # fmt: skip
            results = set()
            for threads in by_tier((1, 2, 5), (1, 5)):
                self.warpmer(*command, "-t", threads, "--force", "-o", f"x.{ending}.gz")
                results.update(self.bytes_of(f"x.{ending}.gz"))
            self.assertEqual(len(results), 1, command)
        self.assertTrue(len(self.unpacked("x.fa.gz")) > 5 * 0xFF00)

    def test_streams_have_no_ending(self):
        plain = self.warpmer("dump", self.index)
        for name in ("-", "/dev/stdout"):
            self.assertEqual(self.warpmer("dump", self.index, "-o", name), plain)
        os.mkfifo(self.folder / "pipe.gz")
        read = []
        reader = threading.Thread(target=lambda: read.append((self.folder / "pipe.gz").read_text()))
        reader.start()
        self.warpmer("dump", self.index, "-o", "pipe.gz")
        reader.join()
        self.assertEqual(read, [plain])

    def test_a_full_disk(self):
        process = self.run_process("dump", self.index, "-o", "x.tsv.gz", preexec_fn=file_size_limit)
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertNotIn("x.tsv.gz", self.files())


class Refused(EndingsTest):
    def test_what_no_command_writes(self):
        reads = ("--reads", READS)
        names = ("x.zst", "x.tsv.zst", "x.bz2", "x.xz", "x.tsv.lz4", "x.orc", "X.Orc", "x.h5", "x.png", "x.csv", "x.unik")
        for name in some(names, 3):
            for command in (
                ("count", "-k", 21, READS), ("dump", self.index), ("query", self.index, *reads), ("histo", self.index),
                ("locate", "p.wmp", *reads), ("stats", self.index), ("info", self.index), ("compare", self.index, self.index),
                ("matrix", self.index), ("qv", self.index, GENOME), ("convert", self.index), ("merge", "-q", self.index, self.index),
                ("update", self.index, "--add", READS), ("positions", GENOME), ("filter", self.index, READS), ("devices",),
                ("plan", READS),
            ):  # fmt: skip
                if command[0] not in ("count", "matrix", "filter") and name not in ("x.zst", "x.orc"):
                    continue
                self.refused(USAGE, f"'{name}' ends (in|as) .*(choose another name|text can end in .gz)", *command, "-o", name)

    def test_before_any_work(self):
        """Inputs that are not there would be missed."""
        for command in (("count", "-k", 21, "no.fq"), ("dump", "no.wmi"), ("filter", "no.wmi", "no.fq"),
                        ("matrix", "no.wmi"), ("positions", "no.fa"), ("locate", "no.wmp", "ACGT"), ("qv", "no.wmi", "no.fa")):
            self.refused(USAGE, "'x.png' ends as PNG does", *command, "-o", "x.png")

    def test_what_another_command_writes(self):
        text = r"'{}' ends as {} does, and what is written is {}"
        reads = ("--reads", READS)
        for name, what, written, command in some((
            ("x.wmi", "an index", r"tab-separated text \(\.tsv\)", ("dump", self.index)),
            ("x.parquet", "Parquet", "an index ", ("count", "-k", 21, READS)),
            ("x.pq", "Parquet", "text ", ("stats", self.index)),
            ("x.feather", "Arrow", "FASTQ .*", ("filter", self.index, READS)),
            ("x.kff", "KFF", "tab-separated text .*'warpmer convert'", ("dump", self.index)),
            ("x.fa", "FASTA", "tab-separated text .*--format fasta", ("dump", self.index)),
            ("x.tsv", "tab-separated text", "FASTA", ("dump", "--format", "fasta", self.index)),
            ("x.jf", "a Jellyfish database", "text", ("histo", self.index)),
            ("x.bam", "BAM", "tab-separated text", ("query", self.index, *reads)),
            ("x.bed", "BED", "tab-separated text .*--format bed", ("query", self.index, *reads)),
            ("x.bedgraph", "bedGraph", "BED", ("query", self.index, *reads, "--format", "bed")),
            ("x.json", "JSON", "text .*add --json", ("info", self.index)),
            ("x.json", "JSON", "text .*add --json", ("stats", self.index)),
            ("x.tsv", "tab-separated text", "JSON", ("qv", "--json", self.index, GENOME)),
            ("x.svg", "SVG", "tab-separated text", ("compare", self.index, self.index)),
            ("x.tsv", "tab-separated text", "an index .*'warpmer convert'", ("update", self.index, "--add", READS)),
            ("x.wmp", "an index of positions", "an index ", ("update", self.index, "--add", READS)),
            ("x.wmi", "an index", "an index of positions", ("positions", GENOME)),
            ("x.fq.gz", "FASTQ", "text", ("filter", self.index, "--names-only", READS)),
            ("x.sam", "SAM", r"FASTQ \(\.fq\), FASTA \(\.fa\) or BAM \(\.bam\)", ("filter", self.index, READS)),
            ("x.kff", "KFF", "a Jellyfish database", ("count", "--to", "jellyfish", READS)),
            ("x.wmi", "an index", "KFF", ("convert", "--to", "kff", self.index)),
        ), 8):  # fmt: skip
            with self.subTest(name=name, command=command):
                self.refused(USAGE, text.format(name, what, written), *command, "-o", name)
        self.refused(USAGE, "'s.tsv' ends as tab-separated text does, .* JSON", "count", READS, "-o", "x.wmi", "--stats", "s.tsv")
        self.refused(USAGE, "'x.png' ends as PNG does, .* SVG", "compare", self.index, self.index, "--svg", "x.png")
        self.refused(USAGE, "'x.pdf' ends as PDF does", "qv", self.index, GENOME, "--sequences", "x.pdf")
        for name in ("x.gz", "x.wmi.gz"):
            self.refused(USAGE, "ends as compressed text does", "count", READS, "-o", name)
        for name in ("x.csv", "x.gz", "x.h5", "x.meryl", "x.kff.gz"):
            for command in (("count", READS), ("update", self.index, "--add", READS)):
                self.refused(USAGE, "'x.* ends as .*; choose another name\n", *command, "-o", name)
        for name in ("x.kff", "x.jf", "x.yak", "x.tsv", "x.fa.gz"):
            self.refused(USAGE, "; choose another name, or let 'warpmer convert' write other formats\n", "update", self.index, "--add", READS, "-o", name)
        for name in ("x.npz", "x.svg"):
            self.refused(USAGE, f"choose another name, or let 'warpmer histo -k 21 READS -o {name}' write that\n",
                         "count", "-k", 21, "--histogram-only", "-o", name, READS)
        for name, what in (("x.fa.fai", "FASTA"), ("x.gzi", "BGZF"), ("x.bam.bai", "BAM"), ("x.csi", "BAM"), ("x.CRAI", "CRAM")):
            self.refused(USAGE, text.format(name, f"an index of {what}", r"an index \(\.wmi\)"), "count", READS, "-o", name)
        self.refused(USAGE, "ends as compressed text does", "convert", self.index, "-o", "x.kff.gz")

    def test_reads_are_what_they_are(self):
        self.file("r.fa", ">a\nACGT\n")
        self.refused(USAGE, r"reads_1.fq.gz is FASTQ, .*'x\.fa' says otherwise", "filter", self.index, READS, "-o", "x.fa")
        self.refused(USAGE, r"r\.fa is FASTA, .*'x\.fq\.gz' says otherwise", "filter", self.index, "-v", "r.fa", "-o", "x.fq.gz")

    def test_other_names_are_free(self):
        for command in (("dump", self.index), ("histo", self.index), ("filter", self.index, READS), ("count", READS)):
            for name in some(("x", "x.counts", "x.1", "dir.zst/x", "x.y.z0", ".hidden"), 2):
                (self.folder / "dir.zst").mkdir(exist_ok=True)
                process = self.run_process(*command, "--force", "-o", name)
                self.assertEqual(process.returncode, DONE, process.stderr)
                self.assertTrue((self.folder / name).stat().st_size > 0, (command, name))


class OneStep(EndingsTest):
    def clean(self, files):
        for name in files:
            (self.folder / name).unlink()

    def test_as_count_and_convert(self):
        """With k-mers of both widths and dense counts; all formats, by name and by --to."""
        for k, options in ((21, ()), (40, ("--min-count", 2)), (9, ("--forward",))):
            index = self.count(READS, k=k, options=options)
            for to, files in some(OTHERS.items(), len(OTHERS) if k == 21 else 3):
                if to in CANONICAL and "--forward" in options or to == "yak" and k > 31:
                    continue
                with self.subTest(k=k, to=to):
                    self.warpmer("convert", "--to", to, index, "-o", files[0])
                    expected = self.bytes_of(*files)
                    self.clean(files)
                    before = self.files()
                    self.warpmer("count", "-q", "-k", k, *options, READS, "-o", files[0], "--stats", "s.json")
                    self.assertEqual(self.bytes_of(*files), expected)
                    self.clean((*files, "s.json"))
                    self.assertEqual(self.files(), before)
                    plain = "x" if to in SEVERAL else "y"
                    self.warpmer("count", "-q", "-k", k, *options, "-t", 2, "--to", to, READS, "-o", plain)
                    self.assertEqual(self.bytes_of(*(files if to in SEVERAL else ("y",))), expected)
                    self.clean(files if to in SEVERAL else ("y",))
        self.assertEqual(self.warpmer("count", "-k", 21, READS, "--to", "tsv", "-o", "-"), self.warpmer("dump", self.index))
        self.warpmer("count", "-k", 21, READS, "-o", "x.tsv.gz")
        self.assertEqual(self.unpacked("x.tsv.gz"), self.warpmer("dump", self.index))

    def test_set_operations(self):
        self.warpmer("merge", "-q", self.index, self.index, "-o", "m.wmi")
        for to, files in some(OTHERS.items(), 3):
            self.warpmer("convert", "--to", to, "m.wmi", "-o", files[0])
            expected = self.bytes_of(*files)
            self.clean(files)
            self.warpmer("merge", "-q", self.index, self.index, "-o", files[0])
            self.assertEqual(self.bytes_of(*files), expected)
        self.warpmer("intersect", "-q", self.index, self.index, "--to", "kff", "-o", "y")
        self.warpmer("convert", "--to", "kff", self.index, "-o", "z")
        self.assertEqual(self.bytes_of("y"), self.bytes_of("z"))

    def test_memory_and_temporary_files(self):
        self.warpmer("convert", self.index, "-o", "x.kff")
        expected = self.bytes_of("x.kff")
        before = self.files()
        for directory in ("there", "made"):
            if directory == "there":
                (self.folder / directory).mkdir()
            self.warpmer("count", "-k", 21, "-m", "256M", "-t", 2, "--tmp-dir", directory, READS, "-o", "x.kff", "--stats", "s")
            self.assertEqual(self.bytes_of("x.kff"), expected)
            (statistics,) = self.bytes_of("s")
            self.assertTrue(json.loads(statistics)["peak_resident_bytes"] <= 256 << 20)
            self.assertEqual((json.loads(statistics)["output"], json.loads(statistics)["format"]), ("x.kff", "kff"))
        self.assertEqual(os.listdir(self.folder / "there"), [])
        self.assertEqual(self.files(), sorted([*before, "s", "there"]))

    def begin(self, name):
        """Starts a job that waits for input; returns it with where to write that."""
        os.mkfifo(self.folder / f"{name}.pipe")
        command = [WARPMER, "count", "-q", "-k", "21", "--tmp-dir", "shared", "-o", f"{name}.tsv", f"{name}.pipe"]
        job = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        pipe = self.opened(f"{name}.pipe", job)
        self.addCleanup(pipe.close)
        pipe.write(b"@r\nACGTTGCATGCATGCATCATGACTGACTGCATGCAT\n+\n" + b"I" * 36 + b"\n")
        return job, pipe

    def opened(self, name, job):
        """A pipe that a job reads, to write to. To open it would wait for ever if the job has ended."""
        while True:
            try:
                return os.fdopen(os.open(self.folder / name, os.O_WRONLY | os.O_NONBLOCK), "wb", buffering=0)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            if job.poll() is not None:
                raise AssertionError(job.stderr.read())
            time.sleep(0.02)

    def test_a_directory_for_temporary_files_after_a_signal(self):
        job, _ = self.begin("x")
        self.assertTrue((self.folder / "shared").is_dir())
        job.terminate()
        _, error = job.communicate(timeout=60)
        self.assertEqual((job.returncode, error), (-signal.SIGTERM, ""))
        self.assertFalse((self.folder / "shared").exists())

    def test_a_directory_for_temporary_files_of_two_jobs(self):
        """The first makes it, and ends first: the second still has use for it."""
        jobs = []
        for name in ("first", "second"):
            jobs.append(self.begin(name))
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and len(list(self.folder.glob("shared/.*"))) < len(jobs):
                time.sleep(0.02)
        for job, pipe in jobs:
            pipe.close()
            _, error = job.communicate(timeout=60)
            self.assertEqual((job.returncode, error), (0, ""))
        self.assertEqual(self.bytes_of("first.tsv"), self.bytes_of("second.tsv"))
        self.assertEqual(os.listdir(self.folder / "shared"), [])

    def test_all_or_nothing(self):
        self.refused(RESOURCE, "gone/x.kff", "count", READS, "-o", "gone/x.kff")
        self.file("bad.fq", "@r\nACGT\n+\nII\n")
        for files in some(OTHERS.values(), 3):
            self.refused(INPUT, "bad.fq", "count", "-k", 3, "bad.fq", "-o", files[0])
        self.refused(USAGE, "is written to a file only", "count", "--to", "kff", READS, "-o", "-")
        self.refused(USAGE, "where to write the k-mers", "count", "--to", "kmc", READS)
        self.refused(USAGE, "--to must be one of wmi|kmc|kff|jellyfish|fastk|yak|tsv|fasta, not 'bam'", "count", "--to", "bam", READS, "-o", "x")
        self.refused(USAGE, "is one of the inputs", "count", READS, self.file("x.fa", ">a\nACGT\n"), "-o", "x.fa")
        self.refused(USAGE, "-o and --stats cannot be the same", "count", "--to", "kmc", READS, "-o", "x", "--stats", "x.kmc_pre")
        process = self.run_process("count", "-k", 21, READS, "-o", "x.kff", "--tmp-dir", ".", preexec_fn=file_size_limit)
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertFalse([name for name in self.files() if name.startswith((".", "x.kff"))])

    def test_converted_by_name(self):
        self.warpmer("convert", "--to", "kmc", self.index, "-o", "kmc")
        self.warpmer("convert", "kmc", "-o", "x.tsv")
        self.assertEqual(sorted((self.folder / "x.tsv").read_text().splitlines()),
                         self.warpmer("dump", "--sort", self.index).splitlines())
        self.refused(USAGE, "kff wants its k-mers sorted: convert kmc to an index", "convert", "kmc", "-o", "x.kff")


if __name__ == "__main__":
    main()
