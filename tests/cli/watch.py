#!/usr/bin/env python3
"""`warpmer watch`: a folder in which files appear and grow, and what is counted of it.

ctest: long
"""

import bz2
import gzip
import json
import os
import random
import signal
import subprocess
import time

from common_cli import INPUT, RESOURCE, USAGE, WARPMER, main, naive_count
from common_tier import without_sanitizers
from common_watch import PATIENCE_SECONDS, WatchTest, fastq


class Watch(WatchTest):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(5)
        self.run_folder = self.folder / "run"
        self.run_folder.mkdir()
        genome = "".join(self.chance.choices("ACGT", k=3000))
        self.reads = []
        for _ in range(600):
            begin = self.chance.randrange(len(genome) - 100)
            self.reads.append(genome[begin : begin + 100])

    def write(self, name, text):
        path = self.run_folder / name
        path.parent.mkdir(exist_ok=True)
        data = text.encode()
        with open(path, "ab") as file:
            file.write(gzip.compress(data) if name.endswith(".gz") else data)

    def check_index(self, reads, k=21):
        self.assertEqual(self.dump(self.folder / "x.wmi"), naive_count(reads, k))

    def test_files_that_come_one_by_one(self):
        self.write("pass/0.fastq", fastq(self.reads[:100]))
        watcher = self.start()
        watcher.wait_for_reads(100)
        self.write("pass/1.fastq.gz", fastq(self.reads[100:200]))
        self.write("fastq_fail/2.fastq", fastq(["ACGT" * 30]))
        self.write("summary.txt", "nothing\n")
        half = fastq(self.reads[200:300])
        self.write("pass/0.fastq", half[: len(half) // 2 - 7])
        watcher.wait_for_reads(240)
        self.write("pass/0.fastq", half[len(half) // 2 - 7 :])
        self.write("pass/1.fastq.gz", fastq(self.reads[300:400]))
        watcher.wait_for_reads(400)
        lines, messages = watcher.end()
        self.assertEqual(lines[-1]["reads"], "400")
        self.assertIn("400 reads of 2 files", messages)
        self.check_index(self.reads[:400])
        (self.folder / "all.fq").write_text(fastq(self.reads[:400]))
        self.warpmer("count", "-k", "21", "-o", "all.wmi", "all.fq")
        self.assertEqual(self.content("x.wmi"), self.content("all.wmi"))
        counted, watched = self.warpmer("stats", "all.wmi"), self.warpmer("stats", "x.wmi")
        self.assertEqual(counted.splitlines()[:8], watched.splitlines()[:8])

    def test_going_on_after_a_restart_or_a_kill(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        watcher = self.start()
        watcher.wait_for_reads(100)
        watcher.process.send_signal(signal.SIGUSR1)
        watcher.wait_until((self.folder / "x.wmi").exists, "x.wmi")
        self.check_index(self.reads[:100])
        self.write("0.fastq", fastq(self.reads[100:150]))
        watcher.wait_for_reads(150)
        watcher.kill()
        self.check_index(self.reads[:100])
        self.write("1.fastq", fastq(self.reads[150:250]))
        watcher = self.start()
        watcher.wait_for_reads(250)
        watcher.end(signal.SIGINT)
        self.check_index(self.reads[:250])
        self.start("--until", "time=1s").end(None)
        self.check_index(self.reads[:250])

    def test_a_damaged_file_is_left_out_and_told(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        whole = gzip.compress(fastq(self.reads[100:500]).encode())
        (self.run_folder / "1.fastq.gz").write_bytes(whole[: len(whole) // 2])
        self.write("2.fastq", fastq(self.reads[500:550]) + "@bad\nACGT!ACGT\n+\nIIIIIIIII\n" + fastq(self.reads[:3]))
        watcher = self.start()
        for name in ("1.fastq.gz", "2.fastq"):
            watcher.wait_for_message(name)
        told = len(watcher.rows())
        watcher.wait_until(lambda: len(watcher.rows()) > told + 3, "more lines")  # between which it looks again
        _, messages = watcher.end(status=INPUT)
        for name in ("1.fastq.gz", "2.fastq"):
            self.assertEqual(sum(name in line for line in messages.splitlines()), 1, messages)
        self.check_index(self.reads[:100])
        (self.run_folder / "1.fastq.gz").write_bytes(whole)
        (self.run_folder / "2.fastq").unlink()
        self.start("--until", "time=0").end(None)
        self.check_index(self.reads[:500])

    @without_sanitizers
    def test_a_file_with_a_record_too_large_for_the_memory_is_left_out(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        with open(self.run_folder / "1.fastq", "wb") as file:
            file.write(b"@x")
            file.seek(20 << 20)
            file.write(b"\n")
        # Reads before the long record are taken back.
        (self.run_folder / "2.fastq.gz").write_bytes(gzip.compress(fastq([6000 * "ACGTT"] * 300 + [4_000_000 * "ACGTT"]).encode(), 1))
        self.write("3.fastq", fastq(self.reads[100:200]))
        _, messages = self.start("--until", "time=0", "-t", 1, "-m", "500M").end(None, INPUT)
        for name in ("1.fastq", "2.fastq.gz"):
            self.assertRegex(messages, f"run/{name}: the record .* as -m allows for one.*; nothing of it is counted unless it changes")
        self.check_index(self.reads[:200])

    def test_what_is_there_is_counted_as_a_whole(self):
        self.write("0.fastq.gz", fastq(self.reads[:100]))  # has to settle
        self.write("1.fastq", fastq(self.reads[100:200]))
        _, messages = self.start("--until", "time=0").end(None)
        self.assertIn("200 reads of 2 files", messages)
        self.assertNotIn("warning", messages)
        self.check_index(self.reads[:200])

    @without_sanitizers
    def test_what_is_there_is_counted_as_a_whole_if_it_takes_several_looks(self):
        nothing = fastq(["N" * (1 << 20)])
        with open(self.run_folder / "0.fastq", "w") as file:
            for _ in range(130):  # a part of the file is 256 MiB
                file.write(nothing)
            file.write(fastq(self.reads[:100]))
        self.start("--until", "time=0").end(None)
        self.check_index(self.reads[:100])

    def test_phred64_is_named_where_qualities_matter(self):
        self.write("0.fastq", fastq(self.reads[:100]).replace("I" * 100, "h" * 99 + "B"))
        for options, warnings in ((("--min-base-quality", 20), 1), ((), 0)):
            _, messages = self.start("--until", "time=0", *options, output=f"{warnings}.wmi").end(None)
            self.assertEqual(messages.count("warning: run/0.fastq: qualities look like Phred+64"), warnings, messages)

    def test_limits_and_matches(self):
        self.file("host.fa", ">h\n" + "".join(self.reads[0]) + "\n")
        self.warpmer("count", "-k", "21", "-o", "host.wmi", "host.fa")
        self.write("0.fastq", fastq(self.reads))
        lines, messages = self.start("--until", "new<0.5", "--until", "time=10m", "--against", "host.wmi").end(None)
        self.assertIn("are new", messages)
        host = set(naive_count([self.reads[0]], 21))
        matching = sum(any(kmer in host for kmer in naive_count([read], 21)) for read in self.reads)
        self.assertAlmostEqual(float(lines[-1]["matched"]), matching / len(self.reads), places=3)
        # 600 reads of 100 bases of a genome of 3,000: 20 times
        (self.folder / "x.wmi").unlink()
        lines, messages = self.start("--until", "coverage=15", "--until", "time=10m").end(None)
        self.assertIn("the coverage is", messages)
        self.assertAlmostEqual(float(lines[-1]["coverage"]), 20, delta=2)
        self.assertAlmostEqual(float(lines[-1]["genome_size"]), 3000, delta=150)

    def test_matches_of_sequences_longer_than_a_batch(self):
        """They come in pieces: each of their k-mers is looked up once, and counted once, whichever k is larger."""
        bases = 5000 * "".join(self.chance.choices("ACGT", k=1000))
        self.file("run/0.fa", f">long\n{bases}\n>other\n{'ACGTT' * 20}\n")
        self.file("run/1.fa", f">long\n{bases}\n>bad\nACGT!\n")  # which is taken back
        for name in ("0.fa", "1.fa"):  # finished when they are seen
            os.utime(self.run_folder / name, (0, 0))
        self.warpmer("count", "-k", 21, "-o", "counted.wmi", "run/0.fa")
        for k in (15, 21, 31):
            self.warpmer("count", "-k", k, "-o", f"{k}.wmi", self.file("against.fa", f">long\n{bases}\n"))
            for found, matched in ((len(bases) - k + 1, "0.5"), (len(bases) - k + 2, "0")):
                with self.subTest(k=k, found=found):
                    filtered = self.warpmer("filter", f"{k}.wmi", "--names-only", "--min-kmers", found, "run/0.fa")
                    self.assertEqual(filtered.split(), ["long"] if matched == "0.5" else [])
                    against = ("--against", f"{k}.wmi", "--min-kmers", found)
                    watcher = self.start("--until", "time=0", *against, name=f"x{k}.{found}")
                    lines, _ = watcher.end(None, INPUT)
                    self.assertEqual(lines[-1]["matched"], matched)
                    self.assertEqual(self.content(f"x{k}.{found}.wmi"), self.content("counted.wmi"))

    def test_a_file_that_is_replaced(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        watcher = self.start()
        watcher.wait_for_reads(100)
        os.replace(self.file("longer.fastq", fastq(self.reads[100:300])), self.run_folder / "0.fastq")
        watcher.wait_for_message("run/0.fastq has been replaced by another file")
        _, messages = watcher.end(status=INPUT)
        self.assertEqual(messages.count("replaced"), 1)
        self.check_index(self.reads[:100])

    def test_links(self):
        self.write("a.fastq", fastq(self.reads[:100]))
        os.symlink("a.fastq", self.run_folder / "latest.fastq")
        os.link(self.run_folder / "a.fastq", self.run_folder / "hard.fastq")
        (self.folder / "other").mkdir()
        os.symlink("../other", self.run_folder / "linked")
        _, messages = self.start("--until", "time=0").end(None)
        self.assertIn("warning: run/linked is a link to a folder", messages)
        self.assertRegex(messages, r"warning: 'run/\w+.fastq' and 'run/\w+.fastq' are the same file")
        self.assertEqual(messages.count("warning"), 2, messages)
        self.check_index(3 * self.reads[:100])

    def test_a_folder_that_is_away_for_a_while(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        watcher = self.start()
        watcher.wait_for_reads(100)
        self.run_folder.rename(self.folder / "away")
        watcher.wait_for_message("cannot be listed")
        (self.folder / "away").rename(self.run_folder)
        self.write("1.fastq", fastq(self.reads[100:200]))
        watcher.wait_for_reads(200)
        _, messages = watcher.end()
        self.assertEqual(messages.count("cannot be listed"), 1)
        self.check_index(self.reads[:200])

    def test_a_save_that_fails_can_be_tried_again(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        out = self.folder / "out"
        out.mkdir()
        watcher = self.start(output="out/x.wmi")
        watcher.wait_for_reads(100)
        out.rename(self.folder / "away")
        watcher.process.send_signal(signal.SIGUSR1)
        watcher.wait_for_message("nothing is saved now, and counting goes on")
        out.mkdir()
        watcher.end()
        self.assertEqual(self.dump(out / "x.wmi"), naive_count(self.reads[:100], 21))

    def test_nobody_reads_the_lines(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        read_end, write_end = os.pipe()
        os.close(read_end)
        command = [WARPMER, "watch", "run", "-k", "21", "-o", "x.wmi", "--every", "1", "--settle", "1"]
        status = subprocess.run(command, cwd=self.folder, stdout=write_end, stderr=subprocess.DEVNULL, timeout=PATIENCE_SECONDS).returncode
        os.close(write_end)
        self.assertEqual(status, RESOURCE)
        self.check_index(self.reads[:100])

    def test_two_signals_of_a_batch_system(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        watcher = self.start()
        watcher.wait_for_reads(100)
        watcher.process.send_signal(signal.SIGTERM)
        time.sleep(0.01)
        watcher.end()
        self.check_index(self.reads[:100])

    def test_limits_hold_while_many_files_wait(self):
        reads = ["".join(self.chance.choices("ACGT", k=10000)) for _ in range(100)]
        packed = bz2.compress(fastq(reads).encode())  # takes longest to read
        for i in range(100):
            (self.run_folder / f"{i}.fastq.bz2").write_bytes(packed)
        lines, _ = self.start("--until", "new<0.5", "-t", "1").end(None)
        files = int(lines[-1]["files"])
        self.assertTrue(0 < files < 100, lines)
        once = naive_count(reads, 21)
        self.assertEqual(self.dump(self.folder / "x.wmi"), {kmer: count * files for kmer, count in once.items()})

    def test_nobody_reads_the_last_line(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        self.write("1.fastq", "@bad\nACGT!ACGT\n+\nIIIIIIIII\n")  # is named when all that is there has been read
        command = [WARPMER, "watch", "run", "-k", "21", "-o", "x.wmi", "--every", "3600", "--settle", "0"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.assertIn(b"1.fastq", process.stderr.readline())
        process.stdout.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=PATIENCE_SECONDS), RESOURCE)
        self.check_index(self.reads[:100])

    def test_another_folder_s_index(self):
        self.write("0.fastq", fastq(self.reads[:100]))
        self.start("--until", "time=2s").end(None)
        os.symlink("run", self.folder / "link")
        for same in ("./run", "run//", "link", self.folder / "run"):  # the provenance has the last one
            self.assertNotIn("warning", self.start("--until", "time=0", folder=same).end(None)[1])
        self.start("--until", "time=0").end(None)
        self.run_folder.rename(self.folder / "run2")
        _, messages = self.start("--until", "time=1h", "--until", "time=1", "--until", "time=2h", folder="run2").end(None)
        self.assertIn("x.wmi is of run/: files of run2/ that have names", messages)

    @without_sanitizers
    def test_where_memory_ends_whole_files_are_saved(self):
        """What was counted of the file that has no room is taken back, out of a table that is full."""
        chance = random.Random(4)
        files = [fastq(["".join(chance.choices("ACGT", k=1000)) for _ in range(3000)], 3000 * i) for i in range(6)]
        watcher = self.start("-t", 1, "-m", "80M", k=31)
        for i, text in enumerate(files):
            self.write(".next", text)
            (self.run_folder / ".next").rename(self.run_folder / f"{i}.fastq")  # at once: what is there of a file is counted, too
            watcher.wait_until(lambda reads=3000 * (i + 1): watcher.process.poll() is not None or
                               any(int(row["reads"]) >= reads for row in watcher.rows()), f"file {i}")  # fmt: skip
        _, messages = watcher.end(None, RESOURCE)
        self.assertRegex(messages, r"error: the live table holds [^;]* has no room for more k-mers; raise -m\n\Z")
        reads = json.loads(self.warpmer("info", "--json", "x.wmi"))["totals"]["sequences"]
        self.assertIn(reads, (3000, 6000, 9000, 12000, 15000))
        self.file("whole.fq", "".join(files[: reads // 3000]))
        self.warpmer("count", "-k", 31, "-o", "whole.wmi", "whole.fq")
        self.assertEqual(self.content("x.wmi"), self.content("whole.wmi"))

    def test_what_is_refused(self):
        watch = ("watch", "run", "-k", "21")
        self.refused(USAGE, "give a file, with -o", *watch, "-o", "-")
        self.refused(USAGE, "what --against names; add it", *watch, "-o", "x.wmi", "--min-fraction", 0.5)
        for limit in ("coverage", "coverage=x", "new<2", "new=0.1", "time=3w", "reads=5"):
            self.refused(USAGE, "--until", *watch, "-o", "x.wmi", "--until", limit)
        self.refused(USAGE, "DIR is empty; name the folder", "watch", "", "-k", "21", "-o", "x.wmi")
        self.refused(INPUT, "cannot be listed", "watch", "missing", "-k", "21", "-o", "x.wmi")
        self.file("a.fa", ">a\n" + self.reads[0] + "\n")
        self.warpmer("count", "-k", "21", "-o", "x.wmi", "a.fa")
        self.refused(USAGE, "no index that 'watch' has written", *watch, "-o", "x.wmi")
        os.remove(self.folder / "x.wmi")
        self.start("--until", "time=1").end(None)
        self.refused(USAGE, "21-mers, and 31-mers", "watch", "run", "-k", "31", "-o", "x.wmi")
        self.refused(USAGE, "forward", *watch, "--forward", "-o", "x.wmi")
        quality = ("--min-base-quality", "20")
        self.refused(USAGE, "without --min-base-quality; give the same", *watch, *quality, "-o", "x.wmi")
        self.start("--until", "time=1", *quality, output="q.wmi").end(None)
        self.start("--until", "time=1", *quality, output="q.wmi").end(None)
        self.refused(USAGE, "with --min-base-quality 20; give the same", *watch, "-o", "q.wmi")


if __name__ == "__main__":
    main()
