#!/usr/bin/env python3
"""`warpmer update`: an index with reads added or taken away is the index of the reads that remain."""

import collections
import json
import random
import re

from common_cli import DATA, INPUT, RESOURCE, USAGE, CliTest, canonical, fasta, main, naive_count
from common_reads import random_reads
from common_tier import by_tier, one_thread, some
from read_wmi import read_index

READS_1, READS_2 = DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"


class Update(CliTest):
    def update(self, index, *arguments, output="updated.wmi"):
        self.warpmer("update", index, *arguments, "-o", output)
        return output

    def test_against_the_oracle(self):
        chance = random.Random(11)
        genome = "".join(chance.choices("ACGT", k=3000))
        for k in some((1, 2, 5, 11, 12, 13, 31, 32, 33, 47, 64), 4):
            for forward in (False, True) if k in (1, 12, 31, 33) else (False,):
                with self.subTest(k=k, forward=forward):
                    old, new = random_reads(chance, 150, genome, k), random_reads(chance, 100, genome, k)
                    gone = chance.sample(old, 60) + chance.sample(new, 30)
                    self.file("old.fa", fasta(old))
                    self.file("new.fa", fasta(new))
                    self.file("gone.fa", fasta(gone))
                    options = ["--forward"] if forward else []
                    index = self.count("old.fa", k=k, options=options, output="old.wmi")
                    updated = self.update(index, "--add", "new.fa", "--remove", "gone.fa", "-t", 1 + k % 3)
                    left = collections.Counter(old + new)
                    left.subtract(gone)
                    left = list(left.elements())
                    counts = naive_count([sequence for _, sequence in left], k, forward)
                    self.assertEqual(self.dump(updated), dict(counts))
                    self.file("left.fa", fasta(left))
                    whole = self.count("left.fa", k=k, options=options, output="left.wmi")
                    self.assertEqual(self.content(updated), self.content(whole))

    def test_there_and_back(self):
        for k in some((9, 21, 40)):
            with self.subTest(k=k):
                one = self.count(READS_1, k=k, output="one.wmi")
                both = self.count(READS_1, READS_2, k=k, output="both.wmi")
                added = self.update(one, "--add", READS_2, output="added.wmi")
                self.assertEqual(self.content(added), self.content(both))
                back = self.update(added, "--remove", READS_2, output="back.wmi")
                self.assertEqual(self.content(back), self.content(one))
                other = self.update(one, "--add", READS_2, "--remove", READS_1, output="other.wmi")
                self.assertEqual(self.content(other), self.content(self.count(READS_2, k=k, output="two.wmi")))

    @one_thread
    def test_everything_removed(self):
        index = self.count(READS_1, k=15)
        empty = self.update(index, "--remove", READS_1)
        self.assertEqual(self.dump(empty), {})
        totals = self.totals(empty)
        self.assertEqual((totals["sequences"], totals["bases"]), (0, 0))
        again = self.update(empty, "--add", READS_1, output="again.wmi")
        self.assertEqual(self.content(again), self.content(index))

    @one_thread
    def test_several_files_each_way_to_name_them(self):
        index = self.count(READS_1, k=17, output="one.wmi")
        self.file("list.txt", f"{READS_2}\n{DATA / 'forty.fa'}\n")
        added = [
            self.update(index, "--add", READS_2, DATA / "forty.fa", output="a.wmi"),
            self.update(index, "--add", READS_2, "--add", DATA / "forty.fa", output="b.wmi"),
            self.update(index, "--add", "@list.txt", output="c.wmi"),
        ]
        self.warpmer("update", index, "--add", READS_2, "--add", "-", "-o", "d.wmi", stdin=(DATA / "forty.fa").read_bytes())
        self.warpmer("update", "-", "--add", "@list.txt", "-o", "e.wmi", stdin=(self.folder / index).read_bytes())
        for other in (*added[1:], "d.wmi", "e.wmi"):
            self.assertEqual(self.content(other), self.content(added[0]))
        piped = self.run_process("update", index, "--add", "@list.txt", "-o", "-")
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.file("f.wmi", piped.stdout)
        self.assertEqual(self.content("f.wmi"), self.content(added[0]))

    @one_thread
    def test_what_it_says_of_itself(self):
        index = self.count(READS_1, k=31, output="one.wmi")
        self.warpmer("update", index, "--add", READS_2, "-o", "both.wmi", "--stats", "stats.json")
        info = self.warpmer("info", "both.wmi")
        self.assertIn("update one.wmi --add", info)
        self.assertEqual([line.split()[-1] for line in info.splitlines() if line.startswith("input")], [index, str(READS_2)])
        stats = json.loads((self.folder / "stats.json").read_text())
        self.assertEqual(stats["removed"]["kmers"], 0)
        self.assertTrue(stats["device"].startswith("cpu ("), stats["device"])
        self.assertEqual(stats["totals"], self.totals("both.wmi"))
        kmers = self.totals(index)["stored_kmers"] + stats["added"]["kmers"]
        self.assertEqual(stats["totals"]["stored_kmers"], kmers)
        self.assertGreater(stats["cpu_seconds"], 0)
        stages = [(stage["name"], stage["bytes"] > 0) for stage in stats["stages"]]
        for stage in ("cut", "write"):
            self.assertIn((stage, True), stages)

    def test_an_index_of_chosen_kmers(self):
        self.file("a.fa", ">a\nACGTACGGTTAACC\n")
        self.file("b.fa", ">b\nTTGACCCGATAGAC\n")
        self.file("panel.txt", "ACGTA\n")
        for name in ("a", "b"):
            self.warpmer("count", "-k", 5, "-o", f"{name}.wmi", f"{name}.fa")
        self.warpmer("count", "-k", 5, "--only", "panel.txt", "-o", "only.wmi", "a.fa")
        self.warpmer("intersect", "-o", "shared.wmi", "a.wmi", "only.wmi")
        self.warpmer("subtract", "-o", "rest.wmi", "a.wmi", "only.wmi")
        self.warpmer("union", "-o", "all.wmi", "shared.wmi", "b.wmi")
        for name in ("only", "shared", "rest", "all"):
            self.refused(INPUT, f"{name}.wmi has only some of the k-mers", "update", f"{name}.wmi", "--add", "b.fa", "-o", "out.wmi")
            self.assertIn("; of chosen k-mers", self.warpmer("stats", f"{name}.wmi"))
            self.assertEqual(read_index(self.folder / f"{name}.wmi").totals[6], 1 << 63 | 1)
        self.warpmer("count", "-k", 5, "--only", "panel.txt", "--max-count", 5, "-o", "few.wmi", "a.fa")
        self.refused(INPUT, "few.wmi has only some of the k-mers", "update", "few.wmi", "--add", "b.fa", "-o", "out.wmi")
        self.warpmer("union", "-o", "both.wmi", "a.wmi", "b.wmi")
        self.assertEqual(read_index(self.folder / "both.wmi").totals[6], 1)
        self.update("both.wmi", "--remove", "b.fa")
        self.assertEqual(self.dump("updated.wmi"), self.dump("a.wmi"))

    def test_kmers_that_are_not_there(self):
        index = self.count("-", k=5, stdin=">a\nACGTACC\n>b\nACGTA\n", output="few.wmi")
        k17 = self.count("-", k=17, stdin=fasta([("a", "ACGTACCTTGACGGATC"), ("b", "ACGTACCTTGACGGATC")]), output="k17.wmi")
        for wanted, name, removed in (
            ("1 distinct k-mer \\(1 occurrence\\) that are not there at all;", index, ">x\nGGGGG\n"),
            ("2 distinct k-mers \\(3 occurrences\\) that are not there at all;", index, ">x\nGGGGGG\n>y\nTTTTT\n"),
            ("1 distinct k-mer \\(2 occurrences\\) more than are there", index, ">x\nACGTA\n" * 4),
            ("1 distinct k-mer \\(1 occ.*not there at all, and 1 distinct k-mer \\(1 occ.*more than", index,
             ">x\nACGTACC\n>y\nGTACC\n>z\nGGGGG\n"),
            ("1 distinct k-mer \\(1 occurrence\\) more than are there", k17, ">x\nACGTACCTTGACGGATC\n" * 3),
            ("1 distinct k-mer \\(3 occurrences\\) that are not there", k17, ">x\nACGTACCTTGACGGATG\n" * 3),
        ):
            with self.subTest(wanted):
                self.file("other.fa", removed)
                said = self.refused(INPUT, wanted, "update", name, "--remove", "other.fa", "-o", "out.wmi")
                self.assertIn(f"other.fa cannot be taken from {name}", said)
        # What comes with --add can go, and no more than that.
        self.file("other.fa", ">x\nGGGGG\n>x\nGGGGG\n")
        self.update(index, "--add", "other.fa", "--remove", "other.fa")
        self.file("more.fa", ">x\nGGGGG\n" * 3)
        self.refused(INPUT, r"what --add brings: --remove has 1 distinct k-mer \(1 occurrence\) more than are there",
                     "update", index, "--add", "other.fa", "--remove", "more.fa", "-o", "out.wmi")

    @one_thread
    def test_an_old_output_survives_a_failure(self):
        index = self.count(READS_1, k=15, output="one.wmi")
        self.file("out.wmi", "precious")
        self.refused(INPUT, "reads_2", "update", index, "--remove", READS_2, "-o", "out.wmi")
        self.assertEqual((self.folder / "out.wmi").read_bytes(), b"precious")

    def test_inputs_that_cannot_be_read(self):
        index = self.count(READS_1, k=21, output="one.wmi")
        out = ("-o", "out.wmi")
        self.refused(INPUT, "no_such.wmi", "update", "no_such.wmi", "--add", READS_2, *out)
        for flag in ("--add", "--remove"):
            self.refused(INPUT, "no_such.fq", "update", index, flag, "no_such.fq", *out)
            self.refused(INPUT, "bad_character.fq", "update", index, flag, DATA / "bad_character.fq", *out)
        self.refused(INPUT, "reads_1", "update", READS_1, "--add", READS_2, *out)
        content = (self.folder / index).read_bytes()
        self.file("cut.wmi", content[: len(content) // 2])
        self.refused(INPUT, "cut.wmi", "update", "cut.wmi", "--add", READS_2, *out)
        other_version = bytearray(content)
        other_version[8] += 1
        self.file("new.wmi", bytes(other_version))
        self.refused(INPUT, "new.wmi.*version", "update", "new.wmi", "--add", READS_2, *out)
        self.refused_damaged(content, 16, "update", "bad.wmi", "--add", DATA / "forty.fa", *out)

    @one_thread
    def test_filtered_indexes(self):
        for said, options in (
            ("fewer than 2 times", ("--min-count", "2")),
            ("more than 9 times", ("--max-count", "9")),
            ("fewer than 2 or more than 9 times", ("--min-count", "2", "--max-count", "9")),
        ):
            index = self.count(READS_1, k=21, options=options)
            self.refused(
                INPUT, f"no k-mers that occurred {said}, .*without --min-count and --max-count",
                "update", index, "--add", READS_2, "-o", "x.wmi")

    def test_counts_beyond_64_bits(self):
        """No count wraps, nor does their sum, which no index could hold either."""
        most = (1 << 64) - 1
        read = "ACGTTGCATGCCGATTACAGGATCCATTGCATTTACGATTTACGGACTTACAGGATTACCAGGATACCATTG"
        for k in some((5, 12, 13, 31, 33, 64), 3):
            kmer, other = canonical(read[:k]), canonical("A" * (k - 1) + "C")
            self.file("one.fa", fasta([("r", read[:k])]))
            self.file("other.fa", fasta([("r", other)]))
            self.warpmer("convert", "-o", "full.wmi", "-", stdin=f"{kmer}\t{most}\n")
            self.warpmer("convert", "-o", "nearly.wmi", "-", stdin=f"{kmer}\t{most - 2}\n{other}\t1\n")
            for options in ((), ("--device", "cpu"), ("-t", 1)):
                with self.subTest(k=k, options=options):
                    for added in ("one.fa", "other.fa"):
                        self.refused(INPUT, "full.wmi.* add up to more than 2\\^64 - 1, .*use union --counts max",
                                     "update", "full.wmi", "--add", added, *options, "-o", "out.wmi")
                    self.update("nearly.wmi", "--add", "other.fa", *options)
                    self.assertEqual(self.dump("updated.wmi"), {kmer: most - 2, other: 2})
                    self.refused(INPUT, "add up to more than", "update", "nearly.wmi", "--add", "one.fa", "other.fa", *options,
                                 "-o", "out.wmi")
            self.refused(INPUT, "remove what is to be removed first", "update", "full.wmi", "--add", "other.fa", "--remove",
                         "one.fa", "-o", "out.wmi")
            self.update("full.wmi", "--remove", "one.fa", output="first.wmi")
            self.update("first.wmi", "--add", "other.fa")
            self.assertEqual(self.dump("updated.wmi"), {kmer: most - 1, other: 1})

    @one_thread
    def test_outputs_that_cannot_be_written(self):
        index = self.count(READS_1, k=5, output="one.wmi")
        self.refused(RESOURCE, "none/out.wmi", "update", index, "--add", READS_2, "-o", "none/out.wmi")
        self.refused(RESOURCE, "/dev/full", "update", index, "--add", READS_2, "-o", "/dev/full")
        named = self.run_process("update", index, "--add", READS_2, "-m", "2M", "-o", "out.wmi").stderr.decode()
        named = re.search(r"-m 2 MiB is too little for updating one.wmi with \d+ threads?: (\d+) MiB would do", named)[1]
        self.warpmer("update", index, "--add", READS_2, "-m", f"{int(named) + by_tier(0, 100)}M", "-o", "out.wmi")

    @one_thread
    def test_command_lines_that_make_no_sense(self):
        index = self.count(READS_1, k=5, output="one.wmi")
        for pattern, *arguments in (
            ("missing INDEX", "-o", "x.wmi"),
            ("missing INDEX .see", "--add", READS_2, "-o", "x.wmi"),
            ("missing INDEX; 'one.wmi' was taken as one of --add: name INDEX first", "--add", READS_2, index, "-o", "x.wmi"),
            ("missing INDEX; 'one.wmi' was taken as one of --remove: name INDEX first", "--remove", READS_2, index, "-o", "x.wmi"),
            ("nothing to do: give --add FILE or --remove FILE", index, "-o", "x.wmi"),
            ("-o FILE", index, "--add", READS_2),
            ("would replace it", index, "--add", READS_2, "-o", index),
            ("standard input is named twice", index, "--add", "-", "--remove", "-", "-o", "x.wmi"),
            ("standard input is named twice", "-", "--add", "-", "-o", "x.wmi"),
            ("standard input is named twice", index, "--add", "@-", "--remove", "/dev/stdin", "-o", "x.wmi"),
            ("cannot be the same", index, "--add", READS_2, "-o", "x", "--stats", "x"),
            ("--add needs a value", index, "--add", "-o", "x.wmi"),
            ("update runs on one CPU or on GPUs", index, "--add", READS_2, "--device", "cpu:2", "-o", "x.wmi"),
            ("--device gpu: choose", index, "--add", READS_2, "--device", "gpu", "-o", "x.wmi"),
        ):
            with self.subTest(arguments):
                self.refused(USAGE, pattern, "update", *arguments)

    def test_an_index_from_a_pipe(self):
        """It is held in memory: what -m leaves no room for is refused before it is."""
        chance = random.Random(4)
        self.file("large.fa", fasta([("r", "".join(chance.choices("ACGT", k=by_tier(8_000_000, 800_000))))]))
        index = (self.folder / self.count("large.fa", k=31, output="large.wmi")).read_bytes()
        pattern = r"standard input has more than ([1-9]\d* MiB|\d+ KiB), .*-m.* give the name of a file, or raise -m\n"
        few = by_tier("10M", "2M")
        self.refused(RESOURCE, pattern, "update", "-", "--add", READS_1, "-t", 1, "-m", few, "-o", "out.wmi", stdin=index)
        for command in (["merge", "-o", "out.wmi", "large.wmi", "-"], ["compare", "large.wmi", "-"],
                        ["matrix", "large.wmi", "-"], ["dump", "--sort", "-"], ["convert", "--to", "tsv", "-o", "out.tsv", "-"],
                        ["hetmers", "-"]):
            self.refused(RESOURCE, pattern, *command, "-m", few, stdin=index)
        expected = self.content(self.update("large.wmi", "--add", READS_1))
        self.warpmer("update", "-", "--add", READS_1, "-t", 1, "-m", by_tier("400M", "4G"), "-o", "piped.wmi", stdin=index)
        self.assertEqual(self.content("piped.wmi"), expected)

    def test_little_memory(self):
        """Shards counted early on both sides, and tables that must fit what is left."""
        chance = random.Random(3)
        genome = "".join(chance.choices("ACGT", k=1_000_000))
        reads = [(str(i), genome[at : at + 150]) for i in range(by_tier(200_000, 2_000)) for at in [chance.randrange(999_000)]]
        self.file("a.fa", fasta(reads[::4]))
        self.file("b.fa", fasta([read for i, read in enumerate(reads) if i % 4]))
        both = self.count("a.fa", "b.fa", k=31, output="both.wmi")
        one = self.count("a.fa", k=31, output="one.wmi")
        command = ("update", one, "-q", "--add", "b.fa", "b.fa", "--remove", "b.fa", "-t", 2, "-o", "out.wmi", "--stats", "stats.json")
        error = self.run_process(*command, "-m", "2M").stderr.decode()
        named = int(re.search(r"-m 2 MiB is too little for updating one.wmi with 2 threads: (\d+) MiB would do", error)[1])
        self.refused(RESOURCE, r": \d+ MiB would do", *command, "-m", f"{named - 8}M")
        early = 0
        for cap in (named + by_tier(0, 100), named + by_tier(30, 130), 1000):  # sanitizers' own memory comes and goes
            stats = self.folder / "stats.json"
            self.warpmer(*command, "-m", f"{cap}M")
            self.assertEqual(self.content("out.wmi"), self.content(both))
            report = json.loads(stats.read_text())
            if by_tier(True, False):  # sanitizers' shadow memory is not ours to answer for
                self.assertLessEqual(report["peak_resident_bytes"], cap << 20)
            early += report["early_counts"]
        if by_tier(True, False):
            self.assertGreater(early, 0)


if __name__ == "__main__":
    main()
