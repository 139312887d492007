#!/usr/bin/env python3
"""Text and KMC databases to indexes and back: nothing is lost, and what is wrong is refused.

ctest: one thread (what the threads do is tested in unit/import_session)
"""

import gzip
import itertools
import json
import os
import struct
import threading

from common_cli import DATA, INPUT, RESOURCE, USAGE, file_size_limit, main
from common_convert import READS, ConvertTest, random_counts, tsv
from common_tier import by_tier, some


class Text(ConvertTest):
    def test_there_and_back(self):
        for k, options in some(((31, ()), (33, ("--forward",)), (9, ()), (64, ())), 2):
            with self.subTest(k=k, options=options):
                index = self.count(READS, k=k, options=options)
                wanted = self.entries(index)
                for name, back in (("out.tsv", "tsv.wmi"), ("out.fa", "fa.wmi")):
                    self.convert(index, name, "--force")  # the FASTA of the k before is sequence data
                    self.assertEqual(self.entries(self.convert(name, back, *options)), wanted)
                    self.assertEqual(self.info(back)["content_checksum"], self.info(index)["content_checksum"])
                self.assertEqual(self.lines("out.tsv"), self.dump(index))

    def test_what_text_may_look_like(self):
        counts = {"ACGTTGCATTGACC": 3, "AAAAAAAAAAAAAC": 18446744073709500000}
        plain = tsv(counts)
        other = "".join(f"{kmer.lower().replace('t', 'u')} {count}\r\n" for kmer, count in counts.items())
        records = "".join(f">{count}\n{kmer}\n" for kmer, count in counts.items())
        for name, text in (("a", plain), ("b", plain[:-1]), ("c", other), ("d", records), ("e", records[:-1])):
            with self.subTest(name):
                self.file(name, text)
                self.assertEqual(self.dump(self.convert(name, "x.wmi")), counts)
                if name in ("b", "d"):
                    self.file(name + ".gz", gzip.compress(text.encode()))
                    self.assertEqual(self.dump(self.convert(name + ".gz", "x.wmi")), counts)
        self.assertEqual(self.dump(self.convert("-", "x.wmi", stdin=plain)), counts)

    def test_strands(self):
        both = {"AAAAAAAAAAAAAAC": 1, "GTTTTTTTTTTTTTT": 2, "ACGTACGTAAAAAAA": 5}
        self.file("both.tsv", tsv(both))
        self.assertEqual(self.dump(self.convert("both.tsv", "x.wmi", "--forward")), both)
        self.refused(INPUT, r"both\.tsv: the k-mer AAAAAAAAAAAAAAC comes more than once, as it is or from the other",
                     "convert", "both.tsv", "-o", "y.wmi")
        added = {"AAAAAAAAAAAAAAC": 3, "ACGTACGTAAAAAAA": 5}
        self.assertEqual(self.dump(self.convert("both.tsv", "x.wmi", "--sum-duplicates")), added)
        self.file("small.tsv", "AAC\t1\nGTT\t2\n")
        self.refused(INPUT, "the k-mer AAC comes more than once", "convert", "small.tsv", "-o", "y.wmi")
        self.assertEqual(self.dump(self.convert("small.tsv", "x.wmi", "--sum-duplicates")), {"AAC": 3})

    def test_counts_that_add_up(self):
        large = 1 << 63
        for k in some((5, 14, 32, 40), 2):
            kmer = "A" * k
            self.file("parts.tsv", f"{kmer}\t{large}\n{'AC' * 32:.{k}}\t7\n{kmer}\t{large - 9}\n")
            index = self.convert("parts.tsv", "x.wmi", "--sum-duplicates")
            self.assertEqual(self.dump(index), {kmer: 2 * large - 9, f"{'AC' * 32:.{k}}": 7})
            self.file("over.tsv", f"{kmer}\t{large}\n{kmer}\t{large}\n")
            self.refused(INPUT, "add up to more than 2.64 - 1", "convert", "--sum-duplicates", "over.tsv", "-o", "y.wmi")

    def test_pipes(self):
        index = self.count(READS, k=21)
        content = (self.folder / index).read_bytes()
        self.assertEqual(self.warpmer("convert", "--to", "fasta", "-o", "-", "-", stdin=content),
                         self.warpmer("dump", "--format", "fasta", index))
        text = self.warpmer("dump", index)
        process = self.run_process("convert", "--to", "wmi", "-o", "-", "-", stdin=text)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.file("piped.wmi", process.stdout)
        self.assertEqual(self.entries("piped.wmi"), self.entries(index))
        for content, output, dump in ((text.encode(), "fifo.wmi", "dump"), (content, "fifo.tsv", "convert")):
            with self.subTest(output):  # nothing of a pipe is lost
                os.mkfifo(self.folder / "fifo")
                writer = threading.Thread(target=(self.folder / "fifo").write_bytes, args=(content,))
                writer.start()
                self.convert("fifo", output)
                writer.join()
                os.remove(self.folder / "fifo")
        self.assertEqual(self.entries("fifo.wmi"), self.entries(index))
        self.assertEqual((self.folder / "fifo.tsv").read_text(), text)

    def test_lines_of_any_kind(self):
        """All ends of lines, a byte order mark, blanks around, comments: the same k-mers."""
        counts = random_counts(15, 300, 1000)
        forms, ends = ("{}\t{}", ">{1}\n{0}", "  {}  {} \t"), ("\n", "\r\n", "\r")
        for form, end in by_tier(itertools.product(forms, ends), zip(forms, ends)):
            lines = "\n".join(form.format(*item) for item in counts.items()).split("\n")
            with self.subTest(form=form, end=end):
                for text in (end.join(lines), "\ufeff# k-mers" + end + end + (end + " ").join(lines) + end + end):
                    self.file("table", text)
                    self.assertEqual(self.dump(self.convert("table", "out.wmi", "--forward")), counts)

    def test_what_a_database_does_not_say_is_unknown(self):
        """Not 0: how many sequences and bases were counted, also of what is made with such an index."""
        self.file("table", "ACGTACGTACGTACC\t5\n")
        self.file("reads.fa", ">a\nACGTACGTACGTACC\n")
        converted = self.convert("table", "converted.wmi")
        counted = self.count("reads.fa", k=15, output="counted.wmi")
        self.warpmer("merge", converted, counted, "-o", "merged.wmi")
        self.warpmer("update", converted, "--add", "reads.fa", "-o", "updated.wmi")
        self.convert(self.index_of({"ACGTACGTACGTACC": 5}), "db", "--to", "kmc")
        for index, known in ((converted, False), (counted, True), ("merged.wmi", False), ("updated.wmi", False),
                             (self.convert("db", "kmc.wmi"), False)):
            with self.subTest(index):
                wanted = {"sequences": 1 if known else None, "bases": 15 if known else None}
                for totals in (json.loads(self.warpmer("stats", "--json", index)),
                               json.loads(self.warpmer("info", "--json", index))["totals"]):
                    self.assertEqual({name: totals[name] for name in wanted}, wanted)
                    self.assertIsNotNone(totals["counted_kmers"])
                text = self.warpmer("stats", index)
                self.assertRegex(text, "(?m)^sequences +1$" if known else "(?m)^sequences +unknown$")
                self.assertRegex(text, "(?m)^bases +15$" if known else "(?m)^bases +unknown$")
        # What a filtered one counted is not known either.
        few = self.count("reads.fa", "reads.fa", "reads.fa", k=15, options=("-q", "--min-count", "2"), output="few.wmi")
        self.convert(few, "few", "--to", "kmc")
        totals = json.loads(self.warpmer("stats", "--json", self.convert("few", "back.wmi")))
        self.assertEqual((totals["counted_kmers"], totals["counted_unique"], totals["stored_kmers"]), (None, None, 3))

    def test_bad_text(self):
        good = "ACGTACGTACGTACG\t3\n"
        for pattern, text in (
            ("line 2: 'ACGTACGTACGTACG' is no line of a k-mer, a tab", good + "ACGTACGTACGTACG\n"),
            ("line 5: 'CCGTACG' is no line", good + "\n# more\r\rCCGTACG\n"),
            ("line 2: '5\\\\x097' is no count", good + "ACGTACGTACGTACC\t5\t7\n"),
            ("line 2: '-5' is no count", good + "ACGTACGTACGTACC\t-5\n"),
            ("line 1: '1.5' is no count", "ACGTACGTACGTACC\t1.5\n"),
            ("line 2: 'ACGTACGTACGTACC' is no line", good + "ACGTACGTACGTACC\t"),
            ("line 2: a count of 0", good + "ACGTACGTACGTACC\t0\n"),
            ("line 2: the count '18446744073709551616' is larger than 2.64 - 1", good + f"ACGTACGTACGTACC\t{1 << 64}\n"),
            ("line 2: 'ACGTACGTACGTACN' has characters other than A C G T U", good + "ACGTACGTACGTACN\t1\n"),
            ("line 1: 'ACG-ACG' has characters", "ACG-ACG\t1\n"),
            ("line 2: a k-mer of 14 characters, and those before it have 15", good + "ACGTACGTACGTAC\t1\n"),
            ("line 1: a k-mer of 65 characters", "A" * 65 + "\t1\n"),
            ("line 1: '1' is no line of a k-mer", "\t1\n"),
            ("line 1: this is text in UTF-16", good.encode("utf-16")),
            ("line 2: this line is too long", good + "A" * (3 << 20)),
            ("there is no k-mer in it", ""),
            ("there is no k-mer in it", "# nothing\n\n"),
            ("line 1: 'chr1' is no count.*'warpmer count'", ">chr1\nACGT\n"),
            ("line 1: '@r' is no line of a k-mer, a tab and its count; for sequences there is 'warpmer count'", "@r\nACGT\n+\nIIII\n"),
            ("line 1: '@r 1:N:0' is no line .*; for sequences there is 'warpmer count'", "@r 1:N:0\nACGT\n+\nIIII\n"),
            ("line 3: 'ACGTT' is no line '>COUNT'", ">1\nACGTA\nACGTT\n"),
            ("line 3: the file ends after a count", ">1\nACGTA\n>2\n"),
            ("ACGTACGTACGTACG comes more than once", good + "CCGTACGTACGTACG\t3\n" + good),
        ):
            with self.subTest(pattern):
                self.file("bad.tsv", text)
                self.refused(INPUT, r"bad\.tsv.*" + pattern, "convert", "bad.tsv", "-o", "x.wmi")
        whole = gzip.compress(tsv(random_counts(15, 2000, 9)).encode())
        self.file("cut.tsv.gz", whole[:-2000])
        self.refused(INPUT, r"cut\.tsv\.gz", "convert", "cut.tsv.gz", "-o", "x.wmi")
        self.refused(INPUT, "no_such", "convert", "no_such", "-o", "x.wmi")
        self.refused(INPUT, "reads_1", "convert", READS, "-o", "x.wmi")

    def test_what_is_no_text(self):
        index = self.count(READS, k=21)
        self.warpmer("positions", "-k", 21, "-o", "places.wmp", READS)
        self.refused(INPUT, "places.wmp: an index of positions, such as 'warpmer positions' makes", "convert", "places.wmp", "-o", "x.wmi")
        self.convert(index, "db.jf")
        for name in (index, "db.jf", "places.wmp"):
            self.refused(INPUT, "standard input, line 1: this is no text .* as which a pipe is read; an index or a database has to be a file",
                         "convert", "-", "-o", "x.wmi", stdin=(self.folder / name).read_bytes())
        self.refused(INPUT, "standard input, line 1: '@r' .*'warpmer count'", "convert", "-", "-o", "x.wmi", stdin="@r\nACGT\n+\nIIII\n")

    def test_memory(self):
        counts = random_counts(31, 40000, 9)
        self.file("many.tsv", tsv(counts))
        self.refused(RESOURCE, r"-m 2 MiB is too little", "convert", "many.tsv", "-m", "2M", "-o", "x.wmi")
        self.file("k12.tsv", "ACGTACGTACGT\t1\n")
        self.refused(RESOURCE, r"they need 5\d\d MiB.* raise -m", "convert", "k12.tsv", "-m", "300M", "-o", "x.wmi")

    def test_command_lines_that_make_no_sense(self):
        index = self.count(READS, k=5)
        self.file("a.tsv", "ACGTC\t1\n")
        for pattern, *arguments in (
            ("Add -o FILE", index),
            ("convert to what", index, "-o", "x"),
            ("--to must be one of wmi", index, "-o", "x", "--to", "bam"),
            ("is an index already", index, "-o", "x.wmi"),
            ("goes by way of an index", "a.tsv", "-o", "x.fa", "--to", "fasta"),
            ("goes by way of an index", "a.tsv", "-o", "x", "--to", "kmc"),
            ("--forward is for text", index, "-o", "x.tsv", "--forward"),
            ("--sum-duplicates is for making an index", index, "-o", "x.tsv", "--sum-duplicates"),
            ("tsv has no counters of limited width", index, "-o", "x.tsv", "--saturate"),
            ("wmi has no counters of limited width", "a.tsv", "-o", "x.wmi", "--counter-bytes", 2),
            ("--counter-bytes must be from 1 to 4 for kmc", index, "-o", "x", "--to", "kmc", "--counter-bytes", 5),
            ("kmc cannot be written to standard output", index, "-o", "-", "--to", "kmc"),
            ("would replace it", "a.tsv", "-o", "a.tsv"),
        ):
            with self.subTest(arguments):
                self.refused(USAGE, pattern, "convert", *arguments)


class Kmc(ConvertTest):
    def header(self, name):
        """Of a database of ours: k, counter bytes, prefix bases, min, max, k-mers, strand."""
        content = (self.folder / f"{name}.kmc_pre").read_bytes()
        k, _, counter, prefix, least, most, kmers, strand = struct.unpack_from("<6IQB", content, len(content) - 72)
        return {"k": k, "counter": counter, "prefix": prefix, "min": least, "max": most, "kmers": kmers, "strand": strand}

    def test_there_and_back(self):
        reads = self.reads("reads.fa", 0, 60)
        for k, options in some([(k, ()) for k in (1, 4, 13, 32, 33, 64)] + [(31, ("--forward",))], 3):
            with self.subTest(k=k, options=options):
                index = self.count(reads, k=k, options=options)
                self.convert(index, "db", "--to", "kmc")
                self.assertEqual(self.header("db")["kmers"], self.info(index)["totals"]["stored_distinct"])
                for name in ("db", "db.kmc_pre", "db.kmc_suf")[: 3 if k == 31 else 1]:
                    self.convert(name, "back.wmi")
                self.assertEqual(self.entries("back.wmi"), self.entries(index))
                self.assertEqual(self.info("back.wmi")["params"], self.info(index)["params"])
                self.convert("db", "db.tsv", "--to", "tsv")
                self.assertEqual(self.header("db")["kmers"], len(self.lines("db.tsv")))
                self.assertEqual((self.folder / "db.tsv").read_text(), self.warpmer("dump", "--sort", index))

    def test_filters_are_kept(self):
        index = self.count(READS, k=31, options=("--min-count", 2, "--max-count", 50))
        self.convert(index, "db", "--to", "kmc")
        totals = self.info(self.convert("db", "back.wmi"))["totals"]
        self.assertEqual((totals["min_count"], totals["max_count"]), (2, 50))

    def test_counters(self):
        for size in by_tier((1, 2, 3, 4), (1, 4)):
            largest = (1 << (8 * size)) - 1
            counts = random_counts(21, 300, largest, seed=size)
            index = self.index_of(counts)
            self.convert(index, "db", "--to", "kmc")
            self.assertEqual(self.header("db")["counter"], size)
            process = self.run_process("convert", "-o", "back.wmi", "db")
            full = sum(count == largest for count in counts.values())
            self.assertIn(f"{full} k-mers of db stand at the limit of its counters, {largest},", process.stderr.decode())
            self.assertEqual(self.dump("back.wmi"), counts)
            if size not in (2, 4):
                continue
            narrow = (1 << (8 * (size - 1))) - 1
            self.refused(USAGE, f"a count of {largest}, and the output holds counts up to {narrow}",
                         "convert", index, "-o", "no", "--to", "kmc", "--counter-bytes", size - 1)
            process = self.run_process("convert", index, "-o", "few", "--to", "kmc", "--counter-bytes", size - 1, "--saturate")
            capped = sum(count > narrow for count in counts.values())
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(f"{capped} of {len(counts)} counts were larger", process.stderr.decode())
            process = self.run_process("convert", index, "-o", "all", "--to", "kmc", "--saturate")
            self.assertEqual(process.returncode, 0, process.stderr)  # nothing else to say where none is capped
            self.assertEqual(process.stderr.decode(), f"warpmer: {len(counts)} distinct k-mers, all\n")
            process = self.run_process("convert", "-o", "few.wmi", "few")
            self.assertIn(f"{capped} k-mers of few stand at the limit of its counters, {narrow},", process.stderr.decode())
            self.assertEqual(self.dump("few.wmi"), {k: min(n, narrow) for k, n in counts.items()})
        index = self.index_of({"ACGTACGTACGTA": 1 << 32})
        self.refused(USAGE, "holds counts up to 4294967295", "convert", index, "-o", "no", "--to", "kmc")

    def test_empty(self):
        index = self.count("-", k=31, options=("-q",), stdin=">a\nACGT\n")
        self.convert(index, "db", "--to", "kmc")
        self.assertEqual(self.dump(self.convert("db", "back.wmi")), {})
        self.assertLess((self.folder / "db.kmc_pre").stat().st_size, 10000)

    def test_names(self):
        counts = {"ACGTACGTAAAAAAA": 5}
        index = self.index_of(counts)
        self.convert(index, index, "--to", "kmc")
        self.convert(index, "index.tsv", "--to", "tsv")  # the index, not the database of that name
        self.assertEqual(self.lines("index.tsv"), counts)
        self.refused(USAGE, "kmc to kmc", "convert", "--to", "kmc", "-o", "x", index + ".kmc_pre")
        self.convert(index, "two", "--to", "kmc")
        self.file("two", "ACGTACGTAAAAAAC\t7\n")
        self.refused(USAGE, "two is a file, and with two.kmc_pre also a KMC database; name two.kmc_pre for the database",
                     "convert", "two", "-o", "x.wmi")
        self.assertEqual(self.dump(self.convert("two.kmc_pre", "x.wmi")), counts)

    def test_damaged(self):
        index = self.count(READS, k=31)
        self.convert(index, "db", "--to", "kmc")
        pre, suf = ((self.folder / f"db.kmc_{part}").read_bytes() for part in ("pre", "suf"))

        def refused(pattern, pre=pre, suf=suf):
            self.file("bad.kmc_pre", pre)
            self.file("bad.kmc_suf", suf)
            with self.subTest(pattern):
                self.refused(INPUT, pattern, "convert", "bad", "-o", "x.wmi")

        def patched(content, at, value):
            return content[:at] + value + content[at + len(value):] if at >= 0 else patched(content, len(content) + at, value)

        def u32(*numbers):
            return struct.pack(f"<{len(numbers)}I", *numbers)

        refused(r"bad\.kmc_pre.*does not start with KMCP", pre=b"X" + pre[1:])
        refused(r"bad\.kmc_pre.*cut off", pre=pre[:-9])
        refused(r"bad\.kmc_pre.*does not start with KMCP", pre=b"")
        refused(r"bad\.kmc_suf.*does not start with KMCS", suf=b"")
        refused(r"bad\.kmc_suf.*it is cut off, or of another database", suf=suf[: len(suf) // 2])
        refused(r"bad\.kmc_suf.*cut off", suf=suf[:-5] + b"KMCS")
        refused(r"version 0x300", pre=patched(pre, -12, u32(0x300)))
        refused(r"k-mers of 65 bases", pre=patched(pre, -72, u32(65)))
        refused(r"sums of qualities", pre=patched(pre, -68, u32(1)))
        refused(r"header does not fit", pre=patched(pre, -60, u32(4)))
        refused(r"header does not fit", pre=pre[:4] + pre[12:])
        refused(r"byte 84 its table does not go on in order", pre=patched(pre, 84, u32(1, 1)))
        at = 4 + self.header("db")["counter"] + (31 - self.header("db")["prefix"]) // 4
        refused(r"record at byte 4 has a count of 0",
                suf=patched(suf, at - self.header("db")["counter"], bytes(self.header("db")["counter"])))
        small = self.index_of({"ACG": 1}, output="small.wmi")
        self.convert(small, "small", "--to", "kmc")
        few = (self.folder / "small.kmc_pre").read_bytes()
        refused(r"no 9223372036854775808 3-mers", pre=patched(patched(few, -48, u32(0, 1 << 31)), -64, u32(0)),
                suf=b"KMCSKMCS")
        twice = r"bad: this database is damaged: the k-mer [ACGT]{31} comes more than once.*; copy it again"
        refused(twice, suf=patched(suf, at, suf[4:at]))
        self.refused(INPUT, twice, "convert", "bad", "-o", "x.wmi", "--sum-duplicates")
        os.remove(self.folder / "bad.kmc_suf")
        self.refused(INPUT, r"bad\.kmc_suf", "convert", "bad", "-o", "x.wmi")
        os.remove(self.folder / "db.kmc_pre")
        self.refused(INPUT, "a part of a KMC database", "convert", "db.kmc_suf", "-o", "x.wmi")

    def test_outputs_that_cannot_be_written(self):
        index = self.count(READS, k=15)
        self.refused(RESOURCE, "none/db", "convert", index, "--to", "kmc", "-o", "none/db")

    def test_both_files_or_none(self):
        old = self.index_of({"ACGTACGTACGTAAA": 1})
        self.convert(old, "db", "--to", "kmc")
        files = {name: (self.folder / name).read_bytes() for name in ("db.kmc_pre", "db.kmc_suf")}
        new = self.index_of({"ACGTACGTACGTAAC": 2}, output="new.wmi")
        before = self.files()
        few = {"preexec_fn": file_size_limit}  # too little for the second file
        process = self.run_process("convert", "--to", "kmc", "-o", "db", new, **few)
        self.assertEqual(process.returncode, RESOURCE, process.stderr)
        self.assertIn(b"db.kmc_pre", process.stderr)
        self.assertEqual(self.files(), before)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in files}, files)

if __name__ == "__main__":
    main()
