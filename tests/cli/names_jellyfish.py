#!/usr/bin/env python3
"""Called as `jellyfish`, warpmer does what Jellyfish 2.3.0 does: the same command lines, run by both, are compared.

ctest: release only (the jobs behind it are tested by their own scripts; here it is Jellyfish that takes the time)
"""

import gzip
import itertools
import json
import os
import select
import shutil
import subprocess
import unittest

from common_cli import DATA, DONE, USAGE, WARPMER, CliTest, main

JELLYFISH = shutil.which("jellyfish")
SMALL = ("-s", "100k")


@unittest.skipUnless(JELLYFISH, "no jellyfish")
class AgainstJellyfish(CliTest):
    def setUp(self):
        super().setUp()
        for name, reads in (("a.fq", "reads_1.fq.gz"), ("b.fq", "reads_2.fq.gz")):
            self.file(name, gzip.decompress((DATA / reads).read_bytes()))
        for name in ("genome.fa", "low_complexity.fa", "forty.fa", "multi_line.fq", "short.fa", "palindromes.fa", "lower_case.fq"):
            self.file(name, (DATA / name).read_bytes())

    def both(self, *arguments, stdin=b""):
        """What Jellyfish and warpmer make of a command line: status, standard output."""
        results = []
        for program in ((JELLYFISH,), (WARPMER, "jellyfish")):
            process = subprocess.run([*program, *map(str, arguments)], input=stdin, capture_output=True, cwd=self.folder, check=False)
            results.append((process.returncode, process.stdout.decode()))
        return results

    def same(self, *arguments, stdin=b"", is_sorted=False):
        with self.subTest(arguments):
            (status, theirs), (our_status, ours) = self.both(*arguments, stdin=stdin)
            self.assertEqual(our_status, status)
            lines = [text.splitlines() for text in (ours, theirs)]
            if is_sorted:
                lines = [sorted(each) for each in lines]
            self.assertEqual(*lines)
            return ours

    def count(self, *arguments):
        """Both databases of a command line, theirs.jf and ours.jf."""
        for program, output in (((JELLYFISH,), "theirs.jf"), ((WARPMER, "jellyfish"), "ours.jf")):
            process = subprocess.run([*program, "count", *map(str, arguments), "-o", output], capture_output=True, cwd=self.folder, check=False)
            self.assertEqual(process.returncode, DONE, (program, arguments, process.stderr))

    def dumped(self, name, program=(JELLYFISH,)):
        process = subprocess.run([*program, "dump", "-c", name], capture_output=True, cwd=self.folder, check=True)
        return sorted(process.stdout.decode().splitlines())

    def counts_alike(self, *arguments, **changes):
        with self.subTest(arguments):
            self.count(*arguments)
            theirs = self.dumped("theirs.jf")
            self.assertEqual(self.dumped("ours.jf", **changes), theirs)
            self.assertEqual(self.dumped("theirs.jf", (WARPMER, "jellyfish")), theirs)
            return theirs

    def test_count(self):
        for arguments in (
            ("-m", 21, *SMALL, "-C", "a.fq"), ("-m", 21, *SMALL, "a.fq"), ("-m21", "-s100k", "-Ct2", "a.fq", "b.fq"),
            ("--mer-len=13", "--size=1M", "--canonical", "--threads", 2, "genome.fa"), ("-m", 31, *SMALL, "-C", "-L", 3, "a.fq"),
            ("-m", 31, *SMALL, "-C", "-L", 2, "-U", 7, "a.fq"), ("-m", 5, *SMALL, "-C", "--out-counter-len", 1, "a.fq"),
            ("-m", 4, *SMALL, "palindromes.fa"), ("-m", 8, *SMALL, "-C", "palindromes.fa"), ("-m", 63, *SMALL, "-C", "a.fq"),
            ("-m", 33, *SMALL, "genome.fa", "forty.fa"), ("-m", 12, *SMALL, "-C", "low_complexity.fa"), ("-m", 15, *SMALL, "-C", "multi_line.fq"),
            ("-m", 25, *SMALL, "-C", "short.fa"), ("-m", 17, *SMALL, "-C", "lower_case.fq"), ("-m", 21, *SMALL, "-C", "-Q", "5", "a.fq"),
            ("-m", 21, *SMALL, "-C", "--min-quality", 10, "--quality-start", 33, "a.fq"), ("-m", 21, *SMALL, "-C", "-c", 3, "-p", 60, "--disk", "a.fq"),
            ("-m", 21, *SMALL, "-C", "--if", "forty.fa", "a.fq"), ("-m", 9, *SMALL, "--if", "forty.fa", "--if", "short.fa", "-L", 1, "a.fq"),
            ("-m", 21, *SMALL, "-C", "--bf-size", "10M", "a.fq"), ("-m", 21, *SMALL, "-C", "-U", 0, "--if", "forty.fa", "genome.fa"),
            ("-m", 21, *SMALL, "-C", "-U", 0, "a.fq"), ("-m", 9, *SMALL, "-L", 5, "-U", 3, "a.fq"), ("-m", 9, *SMALL, "--bf-size", "1M", "-L", 5, "-U", 3, "a.fq"),
        ):  # fmt: skip
            self.assertIsNotNone(self.counts_alike(*arguments))

    def test_text(self):
        self.counts_alike("-m", 21, *SMALL, "-C", "--text", "a.fq", program=(WARPMER, "jellyfish"))
        for name, command in itertools.product(("theirs.jf", "ours.jf"), (("stats",), ("histo",), ("dump", "-c"), ("dump", "-L", 3))):
            self.same(*command, name, is_sorted=True)

    def test_reading(self):
        """Every command on both databases."""
        self.count("-m", 21, *SMALL, "-C", "a.fq", "genome.fa")
        for name in ("theirs.jf", "ours.jf"):
            for command in (
                ("histo",), ("histo", "-h", 20), ("histo", "-l", 5, "-h", 50, "-i", 3), ("histo", "-f", "-h", 30), ("histo", "--high=7", "--full"),
                ("histo", "-l", 10, "-i", 20), ("histo", "-h", 300000000), ("histo", "-f", "-h", 70000, "-i", 3), ("histo", "-t", 2), ("stats",), ("stats", "-L", 2), ("stats", "-L", 2, "-U", 30), ("stats", "--lower-count=5"),
                ("dump",), ("dump", "-c"), ("dump", "-ct"), ("dump", "-c", "-t", "-L", 4), ("dump", "-U", 2), ("dump", "--column", "--upper-count", 9),
            ):  # fmt: skip
                self.same(*command, name)
            for command in ("histo", "stats", "dump"):
                self.assertEqual(self.same(command, "-o", "text", name), "")
                self.assertTrue((self.folder / "text").stat().st_size)
        self.assertEqual(self.same("histo", "theirs.jf"), self.same("histo", "ours.jf"))
        database = (self.folder / "ours.jf").read_bytes()
        for command in (("histo",), ("stats",), ("dump", "-c")):
            process = subprocess.run([WARPMER, "jellyfish", *command, "/dev/stdin"], input=database, cwd=self.folder, capture_output=True)
            self.assertEqual((process.returncode, process.stdout.decode()), (0, self.same(*command, "ours.jf")), process.stderr)
        for command in ("count", "histo", "dump", "query"):
            self.assertEqual(self.same(command, "--version"), "2.3.0\n")

    def test_query(self):
        sequences = [line for line in (DATA / "forty.fa").read_text().splitlines() if line and line[0] != ">"]
        words = [sequences[0][i : i + 21] for i in range(5)] + ["T" * 21, "a" * 21, "ACGT"]
        for options in (("-C",), ()):
            self.count("-m", 21, *SMALL, *options, "a.fq", "forty.fa")
            for name in ("theirs.jf", "ours.jf"):
                self.same("query", name, *words)
                self.same("query", "-s", "forty.fa", name)
                self.same("query", "-L", "-s", "low_complexity.fa", "--sequence=short.fa", name, *words)
                self.same("query", "-i", name, stdin="\n".join(words).encode() + b"\n")
                self.same("query", "-l", "-o", "text", name, *words)

    def test_query_of_any_words(self):
        """Words that are longer than a k-mer, or have other letters in it, are read as Jellyfish reads them."""
        bases = "".join(line for line in (DATA / "genome.fa").read_text().splitlines() if line[0] != ">")[:300]
        for k in (5, 21, 32, 40, 64):
            a, b, c = bases[:k], bases[5 : 5 + k], bases[90 : 90 + k]
            words = [a, a + "ACG", a + "\t12", a[:3] + "N" + a, "NNN" + a, a.lower(), "ACG", "", b, b[:2] + "-" + b, c[:35] + "N" + c, c[:8] + "n" + c,
                     c + " 3", "." + a, b, a[:33] + "x" * 64, a + "\r"]  # fmt: skip
            lines = "\n".join([*words, "", a]).encode()
            for options in (("-C",), ()):
                self.count("-m", k, *SMALL, *options, "genome.fa")
                subprocess.run([JELLYFISH, "bc", "-m", str(k), "-s", "30k", *options, "genome.fa", "-o", "x.bc"], cwd=self.folder, check=True)
                for name in ("theirs.jf", "ours.jf", "x.bc"):
                    self.same("query", name, *words)
                    self.same("query", "-i", name, stdin=lines)
                    self.same("query", "-i", name, stdin=lines + b"\n\n")
                    self.same("query", "-s", "genome.fa", name, a)

    def test_co_process(self):
        """Who waits for the answer before the next question gets it."""
        self.count("-m", 21, *SMALL, "-C", "a.fq")
        with subprocess.Popen([WARPMER, "jellyfish", "query", "-i", "ours.jf"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            for words, answers in (("T" * 21, 1), ("A" * 21 + "\n" + "C" * 22, 2)):
                process.stdin.write(words.encode() + b"\n")
                process.stdin.flush()
                for _ in range(answers):
                    self.assertTrue(select.select([process.stdout], [], [], 30)[0], "no answer")
                    self.assertRegex(process.stdout.readline(), rb"\A\d+\n\Z")
            process.stdin.close()
        self.assertEqual(process.returncode, DONE)
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        failed = subprocess.run([WARPMER, "jellyfish", "query", "-i", "ours.jf"], cwd=self.folder, stdin=folder, capture_output=True, check=False)
        self.assertEqual(failed.returncode, 1)
        self.assertIn(b"standard input cannot be read: Is a directory", failed.stderr)

    def header(self, name):
        return json.loads(subprocess.run([JELLYFISH, "info", "-j", name], cwd=self.folder, capture_output=True, check=True).stdout)

    def test_size(self):
        """The hash of a header is as large as Jellyfish's, and larger where it has to be; Jellyfish finds k-mers by it."""
        for k, options in ((5, ()), (8, ("-C",)), (13, ("-C",)), (21, ("-C",)), (31, ()), (32, ("-C",)), (33, ()), (64, ("-C",))):
            wanted = [line.split()[0] for line in self.counts_alike("-m", k, "-s", "3M", *options, "a.fq")]
            theirs, ours = self.header("theirs.jf"), self.header("ours.jf")
            for name in ("size", "max_reprobe", "reprobes", "key_len", "canonical"):
                self.assertEqual(ours[name], theirs[name], (k, name))
            for name in ("r", "c", "identity"):
                self.assertEqual(ours["matrix1"][name], theirs["matrix1"][name], (k, name))
            questions = "\n".join(wanted).encode()
            self.same("query", "-i", "ours.jf", stdin=questions)
            expected = self.same("query", "-i", "theirs.jf", stdin=questions)
            for size in ("1", "5k"):
                subprocess.run([WARPMER, "jellyfish", "count", "-m", str(k), "-s", size, *options, "a.fq", "-o", "grown.jf"], cwd=self.folder, check=True)
                size = self.header("grown.jf")["size"]
                self.assertTrue(size == 4**k or len(wanted) <= size <= max(32768, 4 * len(wanted)), (k, size))
                self.assertEqual(self.same("query", "-i", "grown.jf", stdin=questions), expected)
        self.same("merge", "-o", "m.jf", "ours.jf", "ours.jf")
        self.assertEqual(self.header("m.jf")["size"], self.header("ours.jf")["size"])

    def test_merge(self):
        for name, reads in (("a.jf", "a.fq"), ("b.jf", "b.fq"), ("c.jf", "genome.fa")):
            subprocess.run([JELLYFISH, "count", "-m", "15", "-s", "200k", "-C", reads, "-o", name], cwd=self.folder, check=True)
        for options in ((), ("-m",), ("-M",), ("-L", "3"), ("-m", "-U", "5"), ("--max", "-L", "2", "-U", "9"), ("-L", "5", "-U", "3")):
            for files in (("a.jf", "b.jf", "c.jf"), ("a.jf", "b.jf"))[: 1 + (options in ((), ("-m",)))]:
                with self.subTest(options=options, files=files):
                    self.assertEqual([status for status, _ in self.both("merge", "-o", "m.jf", *options, *files)], [DONE, DONE])
                    ours = self.dumped("m.jf")
                    subprocess.run([JELLYFISH, "merge", "-o", "m.jf", *options, *files], cwd=self.folder, check=True)
                    self.assertEqual(ours, self.dumped("m.jf"))
        texts = []
        for program in ((JELLYFISH,), (WARPMER, "jellyfish")):
            subprocess.run([*program, "merge", "-j", "-o", "j.txt", "a.jf", "b.jf"], cwd=self.folder, check=True)
            texts.append((self.folder / "j.txt").read_text())
        self.assertEqual(*texts)
        self.count("-m", 15, "-s", "200k", "-C", "a.fq")
        subprocess.run([WARPMER, "jellyfish", "count", "-m", "15", "-s", "200k", "-C", "b.fq", "-o", "d.jf"], cwd=self.folder, check=True)
        subprocess.run([JELLYFISH, "merge", "-o", "m.jf", "ours.jf", "d.jf"], cwd=self.folder, check=True)
        both = self.dumped("m.jf")
        self.count("-m", 15, "-s", "200k", "-C", "a.fq", "b.fq")
        self.assertEqual(both, self.dumped("theirs.jf"))

    def test_info(self):
        self.count("-m", 21, *SMALL, "-C", "a.fq")
        for name in ("theirs.jf", "ours.jf"):
            for option in ((), ("-c",)):
                self.same("info", *option, name)
            self.same("info", "-j", name)
        skipped = [subprocess.run([*program, "info", "-s", "ours.jf"], capture_output=True, cwd=self.folder, check=True).stdout
                   for program in ((JELLYFISH,), (WARPMER, "jellyfish"))]
        self.assertEqual(*skipped)
        text = self.same("info", "ours.jf")
        self.assertRegex(text, r"command: /\S+ count -m 21 -s 100k -C a.fq -o ours.jf\nwhere: \S+:/\S+\nwhen: \w+ \w+ +\d+ [\d:]{8} \d{4}\ncanonical: yes\n")

    def test_info_of_other_files(self):
        self.file('a "b".fa', (DATA / "genome.fa").read_bytes())
        self.count("-m", 5, *SMALL, "--text", *["a \"b\".fa"] * 9)
        subprocess.run([JELLYFISH, "bc", "-m", "21", "-s", "1k", "genome.fa", "-o", "x.bc"], cwd=self.folder, check=True)
        for name in ("theirs.jf", "ours.jf", "x.bc"):
            self.same("info", "-j", name)

    def test_info_quotes_what_jellyfish_quotes(self):
        """Names of inputs with every character that may need it."""
        names = [f"x{chr(code)}" for code in range(ord(" "), 127) if chr(code) not in "/-"] + ["é"]
        for name in names:
            self.file(name, ">a\nACGTACGTA\n")
        self.count("--mer-len=5", *SMALL, *names)
        for name in ("theirs.jf", "ours.jf"):
            self.same("info", "-c", name)

    def test_help(self):
        for command in ("count", "query", "dump", "stats", "info", "merge", "bc", "mem"):
            for words in (("-h",), ("-h", "a.fq"), ("a.fq", "-h"), ("--help",), ("-h", "--bogus"), ("--he",), *([("-m", 21, "-Ch")] if command == "count" else [])):
                for status, text in self.both(command, *words):
                    self.assertEqual(status, DONE, (command, words))
                    self.assertIn("Usage: jellyfish " + command, text)
            self.assertNotIn(DONE, [status for status, _ in self.both(command, "--bogus", "-h")])
            self.same(command, "a.fq", "--vers")
        self.assertNotEqual([status for status, _ in self.both("histo", "-h")], [DONE, DONE])

    def test_begun_names(self):
        """As many letters of an option's name as tell it from others."""
        self.counts_alike("--mer=21", "--si", "100k", "--can", "--out-c", 2, "a.fq")
        self.same("histo", "--hi", 20, "theirs.jf")
        for words in (("count", "--mer", 5, "--s", "1k", "a.fq"), ("count", "-m", 5, *SMALL, "--canon=1", "a.fq"), ("histo", "--h", 20, "theirs.jf")):
            self.assertNotIn(DONE, [status for status, _ in self.both(*words)])

    def test_no_input_and_timing(self):
        self.count("-m", 5, *SMALL, "--timing", "t.txt", "genome.fa")
        self.assertRegex((self.folder / "t.txt").read_text(), r"\AInit +\S+\nCounting \S+\nWriting +\S+\n\Z")
        self.count("-m", 5, *SMALL)
        self.same("stats", "ours.jf")
        process = subprocess.run([WARPMER, "jellyfish", "count", "-m", "5", "-s", "1", "--no-write", "genome.fa"], cwd=self.folder, check=True)
        self.assertEqual(process.returncode, DONE)
        self.assertFalse((self.folder / "mer_counts.jf").exists())

    def test_failures(self):
        """Both fail; ours with one sentence, and leaves nothing."""
        self.count("-m", 5, *SMALL, "genome.fa")
        self.file("cut.jf", (self.folder / "ours.jf").read_bytes()[:-3])
        self.file("none.jf", "ACGT\n")
        before = self.files()
        for arguments in (
            (), ("nothing",), ("count",), ("count", "-m", 5, "a.fq"), ("count", "-s", 5, "a.fq"), ("count", "-m", "x", *SMALL, "a.fq"),
            ("count", "-m", 5, *SMALL, "--no-such", "a.fq"), ("count", "-m", 5, *SMALL, "-Q", "ab", "a.fq"), ("count", "-m", 5, *SMALL, "absent.fq"),
            ("count", "-m", 5, *SMALL, "-o", "no/x.jf", "a.fq"), ("histo",), ("histo", "absent.jf"), ("histo", "none.jf"), ("histo", "-h", 1, "-l", 5, "ours.jf"),
            ("dump",), ("dump", "absent.jf"), ("stats",), ("stats", "absent.jf"), ("stats", "-L", "x", "ours.jf"), ("query",), ("query", "absent.jf", "ACGTA"),
            ("info",), ("info", "absent.jf"), ("info", "-s", "-j", "ours.jf"), ("merge",), ("merge", "ours.jf"), ("merge", "-m", "-M", "ours.jf", "theirs.jf"),
            ("count", "-m", 5, *SMALL, "--bc", "x", "a.fq"),
        ):  # fmt: skip
            with self.subTest(arguments):
                process = subprocess.run([WARPMER, "jellyfish", *map(str, arguments)], capture_output=True, cwd=self.folder, check=False)
                self.assertIn(process.returncode, (1, USAGE))
                self.assertRegex(process.stderr, rb"\Awarpmer: error: [^\n]+\n\Z")
                self.assertEqual(self.files(), before)
                theirs = subprocess.run([JELLYFISH, *map(str, arguments)], capture_output=True, cwd=self.folder, check=False, env={"LC_ALL": "C"})
                self.assertNotEqual(theirs.returncode, DONE)
                (self.folder / "mer_counts.jf").unlink(missing_ok=True)
        for command in ("histo", "dump", "stats", "query"):
            process = subprocess.run([WARPMER, "jellyfish", command, "cut.jf"], capture_output=True, cwd=self.folder, check=False)
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"is cut off", process.stderr)

    def test_what_is_not_done(self):
        for arguments in (("cite",), ("count", "-m", 5, *SMALL, "--no-merge", "a.fq")):
            process = subprocess.run([WARPMER, "jellyfish", *map(str, arguments)], capture_output=True, cwd=self.folder, check=False)
            self.assertEqual(process.returncode, USAGE)
            self.assertIn(str(arguments[-1] if arguments[0] == "none" else arguments[0]).encode(), process.stderr)


class Alone(CliTest):
    def test_merge_of_databases_that_are_not_alike(self):
        """The refusal names them, and not what they are made into."""
        self.file("a.fa", ">a\nACGTACGTTGCA\n")
        for name, options in (("a.jf", ("-m", "5", "-C")), ("b.jf", ("-m", "5")), ("c.jf", ("-m", "6", "-C"))):
            self.assertEqual(self.run_process("jellyfish", "count", *options, "-s", "1k", "a.fa", "-o", name).returncode, DONE)
        for names, said in ((("a.jf", "b.jf"), "a.jf was counted with -C, and b.jf without"),
                            (("b.jf", "b.jf", "a.jf"), "a.jf was counted with -C, and b.jf without"),
                            (("a.jf", "c.jf"), "databases of different lengths of k-mers (5, 6)")):
            process = self.run_process("jellyfish", "merge", "-o", "m.jf", *names)
            self.assertEqual((process.returncode, process.stderr), (USAGE, f"warpmer: error: jellyfish merge: {said}\n".encode()))

    def test_merge_of_a_database_that_lacks_k_mers(self):
        """The warning names it, and not what it is made into."""
        self.file("a.fa", ">a\nACGTACGTTGCA\n")
        for name, options in (("all.jf", ()), ("few.jf", ("-L", "2"))):
            self.assertEqual(self.run_process("jellyfish", "count", *options, "-m", "5", "-s", "1k", "a.fa", "-o", name).returncode, DONE)
        process = self.run_process("jellyfish", "merge", "-o", "m.jf", "all.jf", "few.jf")
        self.assertEqual(process.returncode, DONE)
        self.assertRegex(process.stderr.decode(), r"\Awarpmer: warning: 'few.jf' lacks k-mers [^\n]*\n\Z")

    def test_merged_counts_that_are_capped(self):
        self.file("a.tsv", "ACGTACGTACG\t3000000000\nCCCTACGTACG\t5\n")
        self.warpmer("convert", "-q", "a.tsv", "-o", "a.wmi")
        self.warpmer("convert", "-q", "a.wmi", "-o", "a.jf")
        process = self.run_process("jellyfish", "merge", "-o", "m.jf", "a.jf", "a.jf")
        self.assertEqual((process.returncode, process.stderr),
                         (DONE, b"warpmer: warning: 1 k-mer occurs more than 4294967295 times and stands in m.jf with that count\n"))
        self.assertEqual(sorted(self.run_process("jellyfish", "dump", "-c", "m.jf").stdout.split()),
                         sorted(b"ACGTACGTACG 4294967295 CCCTACGTACG 10".split()))

    def test_outputs_to_a_device(self):
        """Several may go there, as nothing is replaced."""
        self.file("a.fa", ">a\nACGTACGTTGCA\n")
        count = ("jellyfish", "count", "-m", "5", "-s", "1k", "a.fa", "-o")
        self.assertEqual(self.run_process(*count, "/dev/null", "--timing", "/dev/null").returncode, DONE)
        self.assertEqual(self.run_process(*count, "x", "--timing", "./x").returncode, USAGE)

    def test_names_that_are_begun(self):
        """A whole name is none of those that begin with it; one that takes no value is not another."""
        self.file("a.fa", ">a\nACGTACGTTGCA\n")
        for option, said in (("--canonical=1", "--canonical takes no value"), ("--canon=1", "--canonical takes no value"),
                             ("--out=x", "'--out' may be --output or --out-counter-len")):
            process = self.run_process("jellyfish", "count", "-m", "5", "-s", "1k", option, "a.fa")
            self.assertEqual((process.returncode, process.stderr),
                             (USAGE, f"warpmer: error: jellyfish count: {said} (see 'jellyfish --help')\n".encode()))

    def test_help(self):
        for arguments in (("--help",), ("-h",), ("count", "--help"), ("histo", "--help"), ("merge", "--help"), ("query", "--usage")):
            process = self.run_process("jellyfish", *arguments)
            self.assertEqual(process.returncode, DONE)
            self.assertTrue(process.stdout.startswith(b"Usage: jellyfish"))
        self.assertEqual(self.run_process("jellyfish", "--version").stdout, b"jellyfish 2.3.0\n")


if __name__ == "__main__":
    main()
