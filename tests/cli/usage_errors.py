#!/usr/bin/env python3
"""Command lines that make no sense: exit 2, one line that says why, nothing written.

ctest: one thread
"""

from common_cli import DATA, USAGE, CliTest, main

READS = DATA / "forty.fa"


class UsageErrors(CliTest):
    def check(self, cases):
        for pattern, *arguments in cases:
            with self.subTest(arguments):
                self.refused(USAGE, pattern, *arguments)

    def test_commands(self):
        self.check(
            [
                ("no command 'frobnicate' \\('warpmer --help' lists all\\)", "frobnicate"),
                ("unknown option '--frobnicate'", "--frobnicate"),
                ("no command 'frobnicate'", "help", "frobnicate"),
                ("bash, zsh and fish", "completion", "tcsh"),
            ]
        )

    def test_unknown_options_of_every_command(self):
        for command in ("count", "update", "histo", "dump", "query", "merqury", "hetmers", "stats", "report", "info", "devices", "help", "completion"):
            self.check(
                [
                    ("unknown option '--frobnicate'.*warpmer " + command + " --help", command, "--frobnicate"),
                    ("unknown option '-Z'", command, "-Z", "x"),
                    ("unknown option '--frobnicate=3'", command, "--frobnicate=3"),
                ]
            )

    def test_count(self):
        out = ("-o", "out.wmi")
        self.check(
            [
                ("missing INPUT", "count", "-k", "31", *out),
                ("-o FILE", "count", "-k", "31", READS),
                ("one of the inputs has an empty name", "count", *out, READS, ""),
                ("--only is empty; give a value, or leave it out", "count", *out, READS, "--only", ""),
                ("--output is empty", "count", "--output", "", READS),
                (r"the value of --output is '=x.wmi'; leave the '=' out; .* as './=x.wmi'\n", "count", READS, "-o=x.wmi"),
                (r"the value of --device is '=cpu'; leave the '=' out\n", "count", *out, READS, "--device", "=cpu"),
                (r"--device needs a value, and '-t' looks like an option\n", "count", *out, READS, "--device", "-t"),
                ("--tmp-dir is empty", "count", *out, "--tmp-dir", "", READS),
                ("--output is empty", "filter", "x.wmi", READS, "-o", ""),
                ("-k .* from 1 to 64, not '65'", "count", "-k", "65", *out, READS),
                ("-k .* from 1 to 64, not '0'", "count", "-k", "0", *out, READS),
                ("not '31x'", "count", "-k", "31x", *out, READS),
                ("not '3.5'", "count", "-k3.5", *out, READS),
                ("-k", "count", "-k", "-1", *out, READS),
                ("not '18446744073709551647'", "count", "-k", "18446744073709551647", *out, READS),
                ("-k needs a value", "count", READS, "-k"),
                ("-k is given more than once", "count", "-k", "21", "-k", "31", *out, READS),
                ("--output needs a value", "count", READS, "-o", "-t", "1"),
                ("-t must be", "count", "-t", "many", *out, READS),
                ("-t must be", "count", "-t", "0", *out, READS),
                ("-m must be a size", "count", "-m", "lots", *out, READS),
                ("-m must be a size", "count", "-m", "16X", *out, READS),
                ("16G", "count", "-m", "16", *out, READS),
                ("-m 0 means 0 bytes; give a larger size, for example 512M", "count", "-m", "0", *out, READS),
                ("-m 1K means 1024 bytes; give a larger size", "count", "-m", "1K", *out, READS),
                ("--min-count must be", "count", "--min-count", "0", *out, READS),
                ("--max-count must be", "count", "--max-count", "x", *out, READS),
                ("nothing would be kept", "count", "--min-count", "5", "--max-count", "4", *out, READS),
                ("--min-base-quality must be", "count", "--min-base-quality", "94", *out, READS),
                ("--device", "count", "--device", "abacus", *out, READS),
                ("--device .* auto, cpu, cpu:N .*cuda:N", "count", "--device", "cpu:0", *out, READS),
                ("--device cuda:x: choose auto", "count", "--device", "cuda:x", *out, READS),
                ("GPU 0 is named twice", "count", "--device", "cuda:0,0", *out, READS),
                ("--device-memory must be a size", "count", "--device-memory", "lots", *out, READS),
                ("40G", "count", "--device-memory", "40", *out, READS),
                ("cannot be the same", "count", *out, "--stats", "out.wmi", READS),
                ("cannot be the same", "count", *out, "--stats", "./out.wmi", READS),
            ]
        )

    def test_an_output_never_replaces_an_input(self):
        reads = self.file("reads.fa", ">r\nACGT\n")
        index = self.count(reads, k=3)
        content = reads.read_bytes()
        self.check(
            [
                ("one of the inputs", "count", "-k", "3", "-o", "reads.fa", "reads.fa"),
                ("one of the inputs", "count", "-k", "3", "-o", self.folder / "reads.fa", "reads.fa"),
                ("one of the inputs", "count", "-k", "3", "-o", "x.wmi", "--stats", "reads.fa", "reads.fa"),
                ("one of the inputs", "count", "--dry-run", "-k", "3", "-o", "reads.fa", "reads.fa"),
                ("one of the inputs", "plan", "-k", "3", "-o", "reads.fa", "reads.fa"),
                ("one of the inputs", "dump", "-o", index, index),
                ("one of the inputs", "histo", "-o", index, index),
                ("one of the inputs", "query", "-o", "reads.fa", index, "--reads", "reads.fa"),
            ]
        )
        self.assertEqual(reads.read_bytes(), content)

    def test_standard_input_is_read_once(self):
        index = self.count(READS, k=5)
        for arguments in (
            ("count", "-o", "x.wmi", "-", "@-"),
            ("count", "-o", "x.wmi", "-", "/dev/stdin"),
            ("query", "-", "--kmers", "-"),
            ("query", "-", "--reads", READS, "-"),
            ("filter", "-", "-"),
            ("filter", index, "-1", "-", "-2", "@-"),
            ("locate", "-", "--kmers", "-"),
            ("locate", "-", "--reads", "-"),
            ("union", "-o", "x.wmi", "-", "@-"),
            ("compare", "-", "-"),
        ):
            with self.subTest(arguments=arguments):
                self.check([("standard input is named twice", *arguments)])

    def test_standard_input_is_told_by_what_it_is_named_as(self):
        index = self.count(READS, k=5)
        self.file("list.txt", "/dev/stdin\n")
        for what, *arguments in (
            ("as the index and for --reads", "query", "-", "--reads", "@list.txt"),
            ("as the index and for --kmers", "locate", "/dev/fd/0", "--kmers", "/dev/stdin"),
            ("for -1 and for -2", "filter", index, "-1", "@list.txt", "-2", "-"),
            ("as the index and as reads", "filter", "-", "@list.txt"),
            ("as the index and for --add", "update", "-o", "x.wmi", "/dev/stdin", "--add", "-"),
            ("for --add and for --remove", "update", "-o", "x.wmi", index, "--add", "@list.txt", "--remove", "-"),
            ("as the index and as an assembly", "qv", "/dev/stdin", "-"),
            ("as the index and as an assembly", "qv", "-", "@list.txt"),
            ("for --append and as an index", "matrix", "--append", "/dev/stdin", "-"),
            ("for --append and as an index", "matrix", "--append", "-", "@-"),
            ("for --append and as an index", "matrix", "--append", "-", "@list.txt"),
        ):
            with self.subTest(arguments=arguments):
                self.check([(f"standard input is named twice, {what}, but can be read only once", *arguments)])

    def test_query(self):
        index = self.count(READS, k=5)
        self.check(
            [
                ("missing INDEX", "query"),
                ("nothing to look up", "query", index),
                ("exclude each other", "query", index, "ACGTA", "--reads", READS),
                ("exclude each other", "query", index, "ACGTA", "--kmers", READS),
                ("is a file, and no k-mer; add --reads", "query", index, READS),
                ("--profile needs --reads", "query", index, "ACGTA", "--profile"),
                ("--min-base-quality needs --reads", "query", index, "ACGTA", "--min-base-quality", "20"),
                ("--reference needs --reads", "query", index, "ACGTA", "--reference", "out.wmi"),
                ("looks like an option", "query", index, "--reads", "--profile"),
                ("--device gpu: choose auto", "query", index, "--device", "gpu", "--reads", READS),
                ("--device gpu: choose auto", "query", index, "--device", "gpu", "ACGTA"),
                ("--table", "query", index, "--table", "index", "--reads", READS),
                ("ACG", "query", index, "ACG"),
                ("ACGTAC", "query", index, "ACGTA", "ACGTAC"),
                ("ACGNA", "query", index, "ACGNA"),
                (r"'\\x1bACGT' is no k-mer: the unprintable character 0x1b is not one of", "query", index, "\x1bACGT"),
                (r"'A{80}\.\.\.' has 99 bases", "query", index, "A" * 99),
            ]
        )

    def test_readers(self):
        index = self.count(READS, k=5)
        self.check(
            [
                ("missing INPUT", "histo"),
                ("missing DIR; 'run' was taken as one of --until: name DIR first", "watch", "--until", "time=0", "run", "-o", "x.wmi"),
                (f"{index} is an index, which has its histogram; -k is for reads", "histo", "-k", "21", index),
                (f"{index} is an index, which has its histogram; -k is for reads", "histo", "-k", "21", index, READS),
                (f"{index} is an index, which has its histogram; --memory is for reads", "histo", "-m", "1G", index),
                (f"{index} is an index; reads are counted without one: name either indexes or reads", "histo", index, READS),
                ("missing INDEX", "dump"),
                ("missing INDEX", "stats"),
                ("missing INDEX", "info"),
                ("unexpected argument 'b'", "dump", "a", "b"),
                ("unexpected argument 'b'", "devices", "b"),
                ("tsv, fasta, npz, arrow or parquet", "dump", "--format", "xml", index),
                ("nothing would be kept", "dump", "--min-count", "2", "--max-count", "1", index),
                ("-m needs --sort", "dump", "-m", "1G", index),
                ("--solid-count needs --assembly", "report", "--solid-count", "3", index, "-o", "x.html"),
            ]
        )


if __name__ == "__main__":
    main()
