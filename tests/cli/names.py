#!/usr/bin/env python3
"""Programs of other projects by their names: `warpmer names`, links, the environment, and refusals (kmc stands for all).

ctest: one thread (the jobs, and so the threads, are those of the commands)
"""

import functools
import pathlib
import random
import re
import shutil
import subprocess

from common_cli import DATA, SOURCE, WARPMER, canonical, main, naive_count, read_sequences
from common_names import NamesTest
from pages import examples

FASTQ = DATA / "reads_1.fq.gz"


class WithoutKmc(NamesTest):
    """What needs no original."""

    def kmc(self, *options, source=FASTQ, **more):
        process = self.run_named("kmc", "-hp", *options, source, "out", self.folder, **more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    @staticmethod
    @functools.cache
    def counted(k):
        return naive_count([sequence for _, sequence in read_sequences(FASTQ)], k)

    def test_counts_are_right_and_what_is_capped_is_told(self):
        wanted = {kmer: n for kmer, n in self.counted(31).items() if n > 1}
        process = self.kmc("-k31")
        many = sum(n > 255 for n in wanted.values())
        self.assertGreater(many, 0)
        self.assertRegex(process.stderr.decode(), rf"\A[^\n]*warning: {many} k-mers occur more than 255 times [^\n]*\n\Z")
        self.run_named("kmc_dump", "out", "dump.txt")
        lines = [line.split("\t") for line in (self.folder / "dump.txt").read_text().splitlines()]
        self.assertEqual({kmer: int(n) for kmer, n in lines}, {kmer: min(n, 255) for kmer, n in wanted.items()})

    def test_histogram_only(self):
        self.kmc("-k31", "-e")
        self.assertEqual(self.files(), ["out"])
        wanted = list(self.counted(31).values())
        rows = [tuple(map(int, line.split("\t"))) for line in (self.folder / "out").read_text().splitlines()]
        self.assertEqual(rows, [(n, wanted.count(n)) for n in range(1, max(wanted) + 1)])

    def test_what_vg_calls(self):
        """`vg giraffe --haplotype-sampling` reads OUTPUT.kff."""
        self.file("list", f"{FASTQ}\n")
        process = self.kmc("-k29", "-m128", "-okff", source="@list")
        self.assertIn(b"No. of unique counted k-mers", process.stdout)
        self.assertEqual(self.files(), ["list", "out.kff"])
        self.assertEqual(self.run_process("convert", "-o", "out.wmi", "out.kff").returncode, 0)
        wanted = self.counted(29)
        self.assertEqual(self.dump("out.wmi"), {kmer: min(n, 255) for kmer, n in wanted.items() if n > 1})

    def test_environment(self):
        for name, value, pattern in (("WARPMER_THREADS", "none", "WARPMER_THREADS must be"),
                                     ("WARPMER_MEMORY", "-3", "WARPMER_MEMORY must be"),
                                     ("WARPMER_MEMORY", "10", "WARPMER_MEMORY 10 means 10 bytes; give a unit, for example 10G"),
                                     ("WARPMER_MEMORY", "1K", "WARPMER_MEMORY 1K means 1024 bytes; give a larger size, for example 512M"),
                                     ("WARPMER_DEVICE", "abacus", "abacus")):
            process = self.run_named("kmc", "-k9", FASTQ, "out", self.folder, environment={name: value})
            self.assertEqual(process.returncode, 2, process.stderr)
            self.assertRegex(process.stderr.decode(), rf"\Awarpmer: error: [^\n]*{pattern}[^\n]*\n\Z")
        self.kmc("-k9", environment={"WARPMER_THREADS": "1", "WARPMER_MEMORY": "500M", "WARPMER_DEVICE": "cpu"})

    def test_too_little_memory(self):
        """What to raise is named as it is called here: -m is most often the length of the k-mers."""
        for note, *words in (("WARPMER_MEMORY here, or KMC's -m", "kmc", "-k31", "-hp", FASTQ, "out", "."), ("WARPMER_MEMORY here, or FastK's -M", "FastK", "-k31", "-Nout", FASTQ),
                             ("WARPMER_MEMORY here", "jellyfish", "count", "-m", 31, "-s", "1M", "-C", FASTQ), ("WARPMER_MEMORY here", "yak", "count", "-k31", "-o", "out", FASTQ)):  # fmt: skip
            process = self.run_named(*words, environment={"WARPMER_MEMORY": "60M", "TMPDIR": "."})
            self.assertEqual(process.returncode, 1)
            self.assertRegex(process.stderr.decode(), rf"\Awarpmer: error: -m 60 MiB is too little [^\n]* \(-m is {note}\)\n\Z")
        process = self.run_named("jellyfish", "count", "-s", "1M", FASTQ)
        self.assertNotIn(b"WARPMER_MEMORY", process.stderr)

    def test_memory_above_the_grant(self):
        """Is warned of where the environment says it, and not where the command line says less."""
        environment = {"WARPMER_MEMORY": "300M", "SLURM_MEM_PER_NODE": "200", "TMPDIR": "."}
        for words in (("jellyfish", "count", "-m", 31, "-s", "1M", "-C", FASTQ), ("yak", "count", "-k31", "-o", "out", FASTQ)):
            process = self.run_named(*words, environment=environment)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertRegex(process.stderr.decode(), r"\Awarpmer: warning: -m 300 MiB is more than the 200 MiB [^\n]* \(-m is WARPMER_MEMORY here\)\n")
            self.assertEqual(process.stderr.count(b"is more than"), 1)
        process = self.kmc("-k9", "-m1", environment={"WARPMER_MEMORY": "3G", "SLURM_MEM_PER_NODE": "2000"})
        self.assertNotIn(b"warning: -m", process.stderr)

    def test_a_full_disk(self):
        """Where temporary files go has another name, too."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no name space of mounts may be made")
        (self.folder / "full").mkdir()
        self.file("random.fa", ">a\n" + "".join(random.Random(2).choices("ACGT", k=300_000)) + "\n")
        for note, *words in (
            (r"full/\.[^\n]*another --tmp-dir \(--tmp-dir is KMC's working directory here\)", "kmc", "-k31", "-fm", "-ci1", "random.fa", "out", "full"),
            (r"full/\.[^\n]*another --tmp-dir \(--tmp-dir is FastK's -P here\)", "FastK", "-k31", "-Nout", "-Pfull", "random.fa"),
            (r"full/\.[^\n]*another --tmp-dir \(--tmp-dir is \$TMPDIR here\)", "TMPDIR=full", "jellyfish", "count", "-m", "31", "-s", "1M", "-o", "out", "random.fa"),
            ("'full/out.kmc_suf'[^\n]*another output", "kmc", "-k31", "-fm", "-ci1", "random.fa", "full/out", "."),
        ):  # fmt: skip
            environment = words.pop(0) if words[0].startswith("TMPDIR") else "TMPDIR=."
            call = f"mount -t tmpfs -o size=64k none full || exit 77; {environment} '{WARPMER}' {' '.join(words)}"
            process = subprocess.run(["unshare", "-m", "sh", "-c", call], cwd=self.folder, capture_output=True, check=False)
            if process.returncode == 77:
                self.skipTest("nothing may be mounted")
            self.assertEqual(process.returncode, 1)
            self.assertRegex(process.stderr.decode(), rf"\Awarpmer: error: cannot write [^\n]*{note}\n\Z")

    def test_refusals(self):
        end = (FASTQ, "out", ".")
        for pattern, *words in (("no option '-x'", "-x", *end),
                                ("-k needs a value", "-k", *end), ("-k must have .* from 1 to 64", "-k65", *end),
                                ("-ci must have", "-ci1e3", *end), ("-ci5 is larger than -cx2", "-ci5", "-cx2", *end),
                                ("2 are there", "-k9", FASTQ, "out"),
                                ("no option '-oxyz'", "-oxyz", *end), ("-t must have", "-t0", *end)):
            self.refused_named(pattern, "kmc", *words)
        self.refused_named("nosuch: cannot be opened: No such file", "kmc", "-k9", "nosuch", "out", ".", status=1)
        self.refused_named("nosuch: cannot be opened: No such file", "kmc", "-k9", "@nosuch", "out", ".", status=1)
        for source in (FASTQ, "nosuch", "@nosuch"):
            self.refused_named("[Nn]o such file", "kmc", "-fkmc", "-k9", source, "out", ".", status=1)
        self.refused_named("no option '-cs'|no option '-cs5'", "kmc_dump", "-cs5", "a", "b")
        self.refused_named("takes a database", "kmc_dump", "a")
        for pattern, *words in (("no command 'coutn'; did you mean 'count'\\? \\(see", "jellyfish", "coutn"), ("mean 'count'\\?", "yak", "cuont"),
                                ("no option '--canonicla'; did you mean '--canonical'\\?", "jellyfish", "count", "--canonicla", FASTQ),
                                ("/dev/stdin is a pipe .* by -N", "FastK", "-k9", "/dev/stdin"), ("by -N", "FastK", "-k9", "-")):  # fmt: skip
            self.refused_named(pattern, *words)

    def test_outputs_replace_no_input(self):
        reads = self.file("reads.fq", (DATA / "forty.fq").read_bytes())
        self.refused_named("is one of the inputs", "kmc", "-k9", "-e", "reads.fq", "reads.fq", ".")
        self.refused_named("is one of the inputs", "kmc", "-k9", "-jreads.fq", "reads.fq", "out", ".")
        self.file("others.fq", reads.read_bytes())
        self.refused_named("is sequence data", "kmc", "-k9", "-e", "reads.fq", "others.fq", ".")
        self.refused_named("cannot be the same", "kmc", "-k9", "-jout.kmc_pre", "reads.fq", "out", ".")
        self.refused_named("no/folder", "kmc", "-k9", "reads.fq", "no/folder", ".", status=1)

    def test_outputs_of_the_others_replace_no_input(self):
        reads = (DATA / "forty.fq").read_bytes()
        for name in ("r.fq", "others.fq", "r.hist"):
            self.file(name, reads)
        for words in (("jellyfish", "count", "-m", 9, "-s", 9, "-o", "w.jf", "r.fq"), ("jellyfish", "count", "-m", 9, "-s", 9, "-o", "v.jf", "r.fq"),
                      ("FastK", "-k9", "-t1", "-Na", "r.fq"), ("FastK", "-k9", "-t1", "-Nb", "r.fq")):  # fmt: skip
            self.assertEqual(self.run_named(*words).returncode, 0, words)
        count = ("jellyfish", "count", "-m", 9, "-s", 9)
        before = {name: (self.folder / name).read_bytes() for name in self.files()}
        for pattern, *words in (
            ("one of the inputs", *count, "-o", "r.fq", "r.fq"), ("one of the inputs", *count, "-o", "r.fq", "--if", "r.fq", "others.fq"),
            ("one of the inputs", *count, "--timing", "r.fq", "r.fq"), ("sequence data", *count, "-o", "others.fq", "r.fq"),
            ("one of the inputs", "jellyfish", "bc", "-m", 9, "-s", 9, "-o", "r.fq", "r.fq"), ("one of the inputs", "jellyfish", "merge", "-o", "w.jf", "w.jf", "v.jf"),
            ("one of the inputs", "jellyfish", "histo", "-o", "w.jf", "w.jf"), ("one of the inputs", "jellyfish", "stats", "-o", "w.jf", "w.jf"),
            ("one of the inputs", "jellyfish", "dump", "-o", "w.jf", "w.jf"), ("sequence data", "jellyfish", "dump", "-c", "-o", "r.fq", "w.jf"),
            ("one of the inputs", "jellyfish", "query", "-s", "r.fq", "-o", "r.fq", "w.jf"), ("one of the inputs", "yak", "count", "-k9", "-o", "r.fq", "r.fq"),
            ("one of the inputs", "FastK", "-k9", "-Nr", "r.hist"), ("sequence data", "FastK", "-k9", "-Nr", "others.fq"),
            ("one of the inputs", "Fastmerge", "-t", "a", "a", "b"), ("one of the inputs", "Fastmerge", "-h", "b", "a", "b.ktab"),
        ):  # fmt: skip
            with self.subTest(words):
                self.refused_named(pattern, *words)
                self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, before)
        for _ in range(2):  # a dump is FASTA, which the next one may replace
            self.assertEqual(self.run_named("jellyfish", "dump", "-o", "dump.fa", "w.jf").returncode, 0)

    def test_damaged_inputs_leave_nothing(self):
        for name in ("bad_truncated.fq.gz", "bad_checksum.fq.gz"):
            self.refused_named(name, "kmc", "-k9", DATA / name, "out", ".", status=1)
        self.kmc("-k9")
        suffixes = self.folder / "out.kmc_suf"
        suffixes.write_bytes(suffixes.read_bytes()[:-20])
        self.refused_named("cut off", "kmc_dump", "out", "dump.txt", status=1)

    def test_help_is_of_the_table(self):
        for program in ("kmc", "kmc_dump"):
            for words in ((), ("--version",), ("--help",)):
                process = self.run_named(program, *words)
                self.assertEqual((process.returncode, process.stderr), (0, b""))
                self.assertRegex(process.stdout.decode(), r"\AK.* ver\. 3\.2\.4 \(as done by warpmer ")


class MissingFolders(NamesTest):
    """A folder that is not there is refused, as the originals do, and neither made nor left."""

    def test_all_programs(self):
        for name in ("a", "b"):
            for command in (("kmc", "-k21", FASTQ, name, "."), ("FastK", "-k21", "-t1", f"-N{name}", FASTQ), ("yak", "count", "-k21", "-o", name + ".yak", FASTQ),
                            ("jellyfish", "count", "-m", 21, "-s", "1M", "-C", "-o", name + ".jf", FASTQ)):
                process = self.run_named(*command)
                self.assertEqual(process.returncode, 0, process.stderr)
        self.count(FASTQ, k=21, output="a.wmi")
        self.file("formula", "INPUT:\na = a\nb = b\nOUTPUT:\nno/x = a + b\n")
        before = self.files()
        for status, *words in (
            (1, "kmc", "-k21", FASTQ, "no/such/x", "."), (1, "kmc", "-k21", "-okff", FASTQ, "no/x", "."), (1, "kmc", "-k21", "nothere.fq", "no/x", "no"),
            (1, "kmc", "-k21", FASTQ, "x", "no"), (1, "kmc", "-k21", FASTQ, "x", "no/such"), (1, "kmc", "-k21", "-hc", FASTQ, "x", "no"),
            (1, "kmc_tools", "transform", "a", "sort", "no/x"), (1, "kmc_tools", "transform", "a", "dump", "no/x"), (1, "kmc_tools", "transform", "a", "histogram", "no/x"),
            (1, "kmc_tools", "simple", "a", "b", "union", "no/x"), (1, "kmc_tools", "filter", "a", FASTQ, "no/x.fq"), (1, "kmc_tools", "complex", "formula"),
            (1, "kmc_dump", "a", "no/x"), (1, "FastK", "-k21", "-t1", "-Nno/such/x", FASTQ), (1, "FastK", "-k21", "-p", "-Nno/x", FASTQ),
            (1, "FastK", "-k21", "-t1", "-Nx", "-Pno", FASTQ), (1, "FastK", "-k21", "-c", "-p", "-Nx", "-Pno/such", FASTQ), (1, "Fastmerge", "-t", "no/x", "a", "b"), (1, "yak", "count", "-k21", "-o", "no/x.yak", FASTQ),
            (1, "jellyfish", "count", "-m", 21, "-s", "1M", "-o", "no/x.jf", FASTQ), (1, "jellyfish", "merge", "-o", "no/x.jf", "a.jf", "b.jf"),
            (4, "convert", "--to", "kmc", "-o", "no/x", "a.wmi"), (4, "convert", "-o", "no/x.ktab", "a.wmi"), (4, "convert", "-o", "no/x.wmi", "a.kmc_pre"),
        ):  # fmt: skip
            with self.subTest(words=words):
                process = self.run_named(*words)
                self.assertEqual(process.returncode, status, process.stderr)
                self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: [^\n]*(directory 'no(/such)?'( does not exist)?|no directory 'no)[^\n]*\n\Z")
                self.assertEqual(self.files(), before)

    def test_of_temporary_files(self):
        """$TMPDIR: the folder of programs that are given none on their command lines. Of these, FastK alone looks at it."""
        self.run_named("kmc", "-k21", FASTQ, "a", ".")
        for name in ("a", "b"):
            self.run_named("yak", "count", "-k21", "-o", name + ".yak", FASTQ)
            self.run_named("jellyfish", "count", "-m", 21, "-s", "1M", "-C", "-o", name + ".jf", FASTQ)
        self.file("file", "no folder")
        before = self.files()
        for words in (
            ("FastK", "-k21", "-t1", "-Nx", FASTQ), ("FastK", "-k21", "-p", "-Nx", FASTQ), ("yak", "count", "-k21", "-o", "x.yak", FASTQ),
            ("yak", "qv", "a.yak", FASTQ), ("yak", "inspect", "a.yak", "b.yak"), ("kmc_tools", "filter", "a", FASTQ, "x.fq"),
            ("jellyfish", "count", "-m", 21, "-s", "1M", "-o", "x.jf", FASTQ), ("jellyfish", "merge", "-o", "x.jf", "a.jf", "b.jf"),
        ):  # fmt: skip
            for folder in ("no", "no/such", "file"):
                with self.subTest(words=words, folder=folder):
                    process = self.run_named(*words, environment={"TMPDIR": folder})
                    if words[0] != "FastK":
                        self.assertEqual(process.returncode, 0, process.stderr)
                        self.assertNotIn(b"directory", process.stderr)
                        continue
                    self.assertEqual((process.returncode, process.stdout), (1, b""), process.stderr)
                    self.assertEqual(process.stderr.decode(),
                                     f"warpmer: error: there is no directory '{folder}' for temporary files; make it, or name another\n")
                    self.assertEqual(self.files(), before)
            self.assertEqual(self.run_named(*words, environment={"TMPDIR": "."}).returncode, 0, words)
            for name in set(self.files()) - set(before):
                (self.folder / name).unlink()


class Links(NamesTest):
    """`warpmer names`, and programs by their names."""

    def test_names_on_the_path(self):
        process = self.run_named("names")
        self.assertEqual((process.returncode, process.stderr), (0, b""))
        found = re.fullmatch(r'export PATH=(.+):"\$PATH"\n', process.stdout.decode())
        folder = pathlib.Path(found.group(1).strip("'"))
        script = 'eval "$("$1" names)"; kmc -k9 -hp "$2" out . >summary && kmc_dump out dump.txt && command -v kmc'
        shell = self.run_shell(script, WARPMER, FASTQ)
        self.assertEqual(shell.stdout.decode().strip(), str(folder / "kmc"), shell.stderr)
        kmers = {line.split("\t")[0] for line in (self.folder / "dump.txt").read_text().splitlines()}
        self.assertEqual(kmers, {canonical(kmer) for kmer in kmers})

    def test_page(self):
        """docs/names.md, whose commands are of one shell."""
        shown = examples(SOURCE / "docs" / "names.md")
        self.assertGreater(len(shown), 2)
        (self.folder / "warpmer").symlink_to(pathlib.Path(WARPMER).resolve())
        (self.folder / "data").symlink_to(DATA)
        shell = self.run_shell("PATH=.:$PATH\n" + "\n".join(command for command, _ in shown))
        self.assertEqual(shell.stdout.decode().splitlines(), [line for _, lines in shown for line in lines], shell.stderr)

    def test_links_are_those_that_the_program_knows(self):
        process = self.run_named("names", "--help")
        section = re.search(r"Names:\n(.*?)\n\n", process.stdout.decode(), re.S).group(1)
        known = set(re.findall(r"\w+", section))
        folder = pathlib.Path(self.run_named("names").stdout.decode().split("=")[1].split(":")[0].strip("'"))
        self.assertEqual({path.name for path in folder.iterdir()}, known)

    def test_a_program_without_links(self):
        shutil.copy(WARPMER, self.folder / "alone")
        process = self.run_shell('./alone names')
        self.assertEqual(process.returncode, 4)
        self.assertRegex(process.stderr.decode(), r"\Awarpmer: error: there is no folder .*cmake --install")


if __name__ == "__main__":
    main()
