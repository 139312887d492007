#!/usr/bin/env python3
"""`warpmer serve` and its clients: answers are those of an index, for every form of them; what is saved is the index of
the reads that are in; and neither clients nor servers that are killed leave anything behind but what they were told.

ctest: long"""

import contextlib
import fcntl
import json
import os
import random
import re
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

from common_cli import DATA, INPUT, NOTHING_FOUND, RESOURCE, USAGE, WARPMER, CliTest, fasta, main, resident_bytes
from common_reads import random_reads
from common_tier import FULL, by_tier, some, without_sanitizers

READS_1, READS_2 = DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"
SOCKET = "s.sock"
HELLO = struct.pack("<II8sIIII", 1, 24, b"warpmer\n", 3, 2, 0, 1)


class Serve(CliTest):
    def serve(self, *options, path=SOCKET):
        """A server that is ready."""
        server = subprocess.Popen(
            [WARPMER, "serve", "--socket", path, *map(str, options)], cwd=self.folder, stderr=subprocess.PIPE
        )
        self.addCleanup(self.end, server)
        line = server.stderr.readline().decode()
        self.assertRegex(line, rf"\Awarpmer: serves \d+-mers at {path} with ", (options, line))
        return server

    @staticmethod
    def end(server):
        if server.poll() is None:
            server.kill()
        server.wait()
        server.stderr.close()

    def stop(self, server, how=signal.SIGTERM, status=0, seconds=20):
        """What it says when it is stopped."""
        server.send_signal(how)
        said = server.stderr.read().decode()
        self.assertEqual(server.wait(timeout=seconds), status, said)
        self.assertFalse((self.folder / SOCKET).exists())
        return said

    def client(self, command, *arguments, **options):
        return self.warpmer(command, "--server", SOCKET, *arguments, **options)

    def connected(self, hello=True):
        """A connection by hand."""
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.connect(str(self.folder / SOCKET))
        if hello:
            connection.sendall(HELLO)
            self.assertEqual(connection.recv(32, socket.MSG_WAITALL)[:20], HELLO[:20])
        return connection

    @staticmethod
    def threads_of(server):
        return len(os.listdir(f"/proc/{server.pid}/task"))

    def ask_and_take_no_answer(self):
        """Many questions, of which the answers stay where they are."""
        stuck = self.connected()
        stuck.settimeout(0.2)
        with contextlib.suppress(TimeoutError, socket.timeout):
            for _ in range(2000):
                stuck.sendall(struct.pack("<II", 4, 8 + 5 * 1 + 20000) + struct.pack("<IIIB", 0, 1, 20000, 3) + b"ACGT" * 5000)


class Answers(Serve):
    def asked(self):
        """Questions, without what they ask."""
        chance = random.Random(5)
        kmers = [line.split("\t")[0] for line in self.warpmer("dump", "x.wmi").splitlines()[:2000]]
        kmers += ["".join(chance.choices("ACGT", k=31)) for _ in range(300)]
        self.file("kmers.txt", "# some\n" + "".join(f"{kmer} more\n" for kmer in kmers))
        self.file("long.fa", fasta([("long", "".join(chance.choices("ACGT", k=9000))), ("empty", ""), ("short", "ACGT")]))
        self.file("many.fa", fasta([("twice", "N".join(kmers[:50])), ("none", "NNNN" * 20)]))
        reads = ("--reads", READS_1, READS_2, "long.fa", "many.fa")
        yield "query", kmers[:3]
        yield "query", ("--kmers", "kmers.txt")
        yield "query", ("--kmers", "kmers.txt", "-t", 1, "--exit-status")
        yield "query", reads
        yield "query", (*reads, "--no-header", "--min-base-quality", 20)
        yield "query", (*reads, "--profile")
        yield "query", (*reads, "--format", "bedgraph")
        yield "query", (*reads, "--format", "bed", "--min-count", 2)
        for extra in ((), ("--invert",), ("--min-fraction", 0.3, "--trim", "--min-length", 40), ("--mask", "--min-count", 2)):
            yield "filter", (READS_1, "long.fa", "many.fa", *extra)
        yield "filter", ("-1", READS_1, "-2", READS_2, "--pairs", "both", "--names-only")
        yield "filter", (DATA / "aligned.bam", "--max-kmers", 300, "--names-only")
        yield "histo", ()
        yield "histo", ("--format", "genomescope")
        yield "histo", ("--dense", "--max-count", 9)

    def test_are_those_of_the_index(self):
        self.count(READS_1, output="x.wmi")
        self.serve("--load", "x.wmi", "-t", 3)
        for command, arguments in some(self.asked(), 10):
            with self.subTest(command=command, arguments=arguments):
                expected = self.run_process(command, "x.wmi", *arguments)
                got = self.run_process(command, "--server", SOCKET, *arguments)
                self.assertEqual((got.returncode, expected.returncode), (0, 0), (got.stderr, expected.stderr))
                self.assertEqual(got.stdout, expected.stdout)

    def test_that_are_errors(self):
        self.count(READS_1, output="x.wmi")
        self.serve("--load", "x.wmi")
        bad = DATA / "bad_character.fq"
        truncated = DATA / "bad_truncated.bam"
        for command, arguments, status in (
            ("query", ["ACGT"], USAGE),
            ("query", ["ACGTTGCAACGTTGCAACGTTGCAACGTTGN"], USAGE),
            ("query", ["--reads", bad], INPUT),
            ("query", ["--reads", bad, "--profile"], INPUT),
            ("query", ["--reads", READS_2, truncated], INPUT),
            ("query", ["--reads", "not_there.fq"], INPUT),
            ("filter", [bad], INPUT),
            ("filter", [READS_1, bad], INPUT),
            ("query", [], USAGE),
            ("query", ["--exit-status", "ACGTTGCAACGTTGCAACGTTGCAACGTTGC"], NOTHING_FOUND),
        ):
            with self.subTest(command=command, arguments=arguments):
                expected = self.run_process(command, "x.wmi", *arguments)
                got = self.run_process(command, "--server", SOCKET, *arguments)
                self.assertEqual(expected.returncode, status, expected.stderr)
                self.assertEqual((got.returncode, got.stderr), (status, expected.stderr))
                # How much of what is in front of an error comes out depends on which thread is faster.
                shorter, longer = sorted((got.stdout, expected.stdout), key=len)
                self.assertTrue(longer.startswith(shorter))
        lenient = ("--reads", bad, "--lenient")
        self.assertEqual(self.client("query", *lenient), self.warpmer("query", "x.wmi", *lenient))

    def test_of_reports(self):
        self.count(READS_1, output="x.wmi")
        self.serve("--load", "x.wmi")
        index, server = (json.loads(self.warpmer("stats", *what, "--json")) for what in (["x.wmi"], ["--server", SOCKET]))
        for name in ("file_bytes", "bytes_per_kmer", "bytes_per_kmer_parts"):
            del index[name]
        self.assertGreater(server.pop("memory_bytes"), 0)
        self.assertGreater(len(server.pop("table")), 0)
        self.assertEqual(server, index)
        info = json.loads(self.client("info", "--json"))
        self.assertEqual(info["params"], self.info("x.wmi")["params"])
        self.assertEqual(info["totals"]["sequences"], index["sequences"])
        self.assertEqual(info["totals"]["bases"], index["bases"])
        self.assertRegex(self.client("info"), r"\Aserver +s\.sock\nk +31\nstrand +canonical\n")
        if not FULL:
            return  # the same model, again and again
        lines = self.client("stats").splitlines()
        expected = self.warpmer("stats", "x.wmi").splitlines()
        self.assertEqual(lines[: expected.index("counts kept         at least 1")], expected[: expected.index("counts kept         at least 1")])
        self.assertEqual(len(self.client("stats", "--tsv").splitlines()), 2)


class Changes(Serve):
    def test_make_the_index_of_the_reads_that_are_in(self):
        chance = random.Random(3)
        genome = "".join(chance.choices("ACGT", k=4000))
        for k in by_tier((31, 13, 5, 64), (5, 64)):
            for forward in (False, True) if k == 31 else (False,):
                options = ["-k", k] + ["--forward"] * forward
                with self.subTest(k=k, forward=forward):
                    parts = [random_reads(chance, 200, genome, k) for _ in range(3)]
                    for i, part in enumerate(parts):
                        self.file(f"{i}.fa", fasta(part))
                    server = self.serve(*options, "--save", "saved.wmi", "-t", 2)
                    self.client("add", "0.fa", "1.fa")
                    self.client("add", "-t", 1, "-", stdin=fasta(parts[2]))
                    self.client("remove", "1.fa")
                    self.client("save", "-o", "asked.wmi")
                    expected = self.count("0.fa", "2.fa", k=k, options=["--forward"] * forward, output="counted.wmi")
                    said = self.stop(server)
                    self.assertRegex(said, r"\Awarpmer: [\d,]+ distinct k-mers, [\d.]+ s, saved\.wmi [^\n]+\n\Z")
                    for index in ("asked.wmi", "saved.wmi"):
                        self.assertEqual(self.content(index), self.content(expected))
                    inputs = self.info("asked.wmi")["provenance"]["inputs"]
                    self.assertEqual(inputs, [SOCKET])

                    # A server that goes on from there.
                    server = self.serve("--load", "saved.wmi", "--save", "more.wmi")
                    self.client("add", "1.fa")
                    self.stop(server, signal.SIGINT)
                    everything = self.count(
                        "0.fa", "1.fa", "2.fa", k=k, options=["--forward"] * forward, output="all.wmi"
                    )
                    self.assertEqual(self.content("more.wmi"), self.content(everything))

    def test_tell_what_they_did(self):
        self.serve("-k", 21)
        added = self.run_process("add", "--server", SOCKET, DATA / "forty.fq")
        self.assertRegex(added.stderr, rb"\Awarpmer: [\d,]+ k-mers \(6,000 bases\) of 40 reads added to s\.sock, ")
        removed = self.run_process("remove", "--server", SOCKET, DATA / "forty.fq")
        self.assertRegex(removed.stderr, rb"\Awarpmer: [\d,]+ k-mers \(6,000 bases\) of 40 reads removed from s\.sock, ")
        again = self.run_process("remove", "--server", SOCKET, DATA / "forty.fq")
        self.assertEqual(again.returncode, 0)
        self.assertRegex(
            again.stderr, rb"warning: 4,303 distinct k-mers that were to be removed were not there, or not so often "
            rb"\(5,137 occurrences\)\n"
        )
        self.refused(INPUT, "were not there, .*; the table is changed: removed 40 reads\n", "remove", "--strict", "--server", SOCKET, DATA / "forty.fq")
        self.assertEqual(self.client("histo"), "")
        self.assertRegex(self.client("info"), r"sequences +0\nbases +0\n")

    def test_that_take_away_what_was_not_there_leave_the_reads_unknown(self):
        self.serve("-k", 21)
        self.client("add", READS_1)
        self.file("others.fa", fasta(random_reads(random.Random(6), 100, "".join(random.Random(7).choices("ACGT", k=3000)), 21)))
        self.assertNotIn("unknown", self.client("info"))
        removed = self.run_process("remove", "--server", SOCKET, "others.fa")
        self.assertRegex(removed.stderr, rb"occurrences?\); how many sequences and bases the table has is unknown from now on\n")
        self.client("add", READS_2)
        self.assertRegex(self.client("info"), r"sequences +unknown\nbases +unknown\n")
        self.assertEqual(json.loads(self.client("info", "--json"))["totals"], {"sequences": None, "bases": None})
        stats = json.loads(self.client("stats", "--json"))
        self.assertIsNone(stats["sequences"])

    def test_of_nothing_are_no_changes(self):
        self.serve("-k", 21)
        error = self.refused(INPUT, "there is no sequence in the reads", "add", "--strict", "--server", SOCKET, self.file("empty.fa", ""))
        self.assertNotIn("the table is changed", error)

    def test_of_bad_reads_say_how_many_are_in(self):
        self.serve("-k", 21)
        self.refused(
            INPUT, r"record 2 .*; by then 40 of the reads were added\n", "add", "-t", 1, "--server", SOCKET, DATA / "forty.fq",
            self.file("bad.fa", ">x\nACGT\n>y\nAC!T\n"),
        )
        self.assertRegex(self.client("info"), r"sequences +40\nbases +6000\n")

    def test_of_a_bad_read_say_how_much_of_it_is_in(self):
        self.serve("-k", 21)
        bases = "".join(random.Random(4).choices("ACGT", k=3_000_000))
        self.file("long.fa", fasta([("short", "ACGT" * 10), ("long", bases[:2_500_000] + "!" + bases)]))
        error = self.refused(INPUT, "by then 1 of the reads were added, and [0-9]+ bases of reads that are not whole\n", "add", "-t", 1, "--server", SOCKET, "long.fa")
        added = int(re.search(r"and (\d+) bases", error)[1])
        self.assertGreater(added, 0)
        self.assertRegex(self.client("info"), rf"sequences +1\nbases +{added + 40}\n")
        # All that is in can be taken out again.
        self.file("in.fa", fasta([("short", "ACGT" * 10), ("long", bases[:added])]))
        self.assertEqual(self.run_process("remove", "--strict", "--server", SOCKET, "in.fa").returncode, 0)
        self.assertEqual(self.client("histo"), "")

    @without_sanitizers
    def test_end_where_memory_does_and_what_is_in_is_whole(self):
        chance = random.Random(2)
        reads = [(f"r{i}", "".join(chance.choices("ACGT", k=200))) for i in range(100000)]
        self.file("random.fa", fasta(reads))
        server = self.serve("-k", 31, "-t", 2, "-m", "78M", "--save", "saved.wmi")
        added = self.run_process("add", "-t", 1, "--server", SOCKET, "random.fa")
        said = re.fullmatch(
            r"warpmer: error: the live table holds [^\n]* has no room for more k-mers; [^\n]*; by then (\d+) of the reads were added\n",
            added.stderr.decode(),
        )
        self.assertEqual((added.returncode, said is not None), (RESOURCE, True), added.stderr)
        number = int(said[1])
        self.assertRegex(self.client("info"), rf"sequences +{number}\n")
        self.assertEqual(self.client("query", reads[0][1][:31]), f"{reads[0][1][:31]}\t{int(number > 0)}\n")
        self.file("in.fa", fasta(reads[:number]))
        self.client("save", "-o", "full.wmi")
        # A table that is full can be emptied and filled again, by more threads, too. Where memory ends depends on when shards
        # are folded, by a batch.
        fewer = self.file("fewer.fa", fasta(reads[: number - 6000]))
        for gone, threads in (("in.fa", 2), (fewer, 1), (fewer, 2)):
            self.assertEqual(self.client("remove", "-t", 1, gone), "")
            self.assertEqual(self.client("histo"), "")
            self.client("add", "-t", threads, fewer)
        self.stop(server)
        for saved, reads_in in (("full.wmi", "in.fa"), ("saved.wmi", fewer)):
            self.count(reads_in, output="counted.wmi")
            self.assertEqual(self.content(saved), self.content("counted.wmi"))

    def test_cannot_be_made_of_an_index_that_lacks_kmers(self):
        self.count(DATA / "forty.fq", k=21, options=["--min-count", 2], output="x.wmi")
        server = self.serve("--load", "x.wmi")
        asked = ("--reads", DATA / "forty.fq")
        self.assertEqual(self.client("query", *asked), self.warpmer("query", "x.wmi", *asked))
        self.assertEqual(self.client("histo"), self.warpmer("histo", "x.wmi"))
        stats = self.client("stats")
        self.assertIn("counts kept         at least 2\n", stats)
        for command in (["add", DATA / "forty.fq"], ["remove", DATA / "forty.fq"], ["save", "-o", "y.wmi"]):
            self.refused(INPUT, "x.wmi has no k-mers that occurred fewer than 2 times", command[0], "--server", SOCKET, *command[1:])
        self.stop(server)
        for options, output in (([], "x.wmi"), (["--only", DATA / "forty.fa"], "only.wmi")):
            self.count(DATA / "forty.fq", k=21, options=options or ["--min-count", 2], output=output)
            self.refused(INPUT, "nothing that --save could write", "serve", "--socket", SOCKET, "--load", output, "--save", "y.wmi")

    def test_are_seen_by_everybody(self):
        self.serve("-k", 21)
        chance = random.Random(8)
        kmers = ["".join(chance.choices("ACGT", k=21)) for _ in range(by_tier(12, 4))]
        for i, kmer in enumerate(kmers):
            self.client("add", "-", stdin=fasta([("x", kmer)]))
            self.assertEqual(self.client("query", *kmers), "".join(f"{other}\t{int(j <= i)}\n" for j, other in enumerate(kmers)))


class Ends(Serve):
    def reads(self, number=3000, name="many.fa"):
        chance = random.Random(9)
        genome = "".join(chance.choices("ACGT", k=20000))
        self.file(name, fasta(random_reads(chance, number, genome, 20)))
        return name

    def test_of_clients_take_nothing_along(self):
        server = self.serve("-k", 31, "-t", 2)
        idle = self.threads_of(server)
        reads, chance = self.reads(), random.Random(1)
        commands = (["query", "--reads", reads], ["add", reads], ["save", "-o", "x.wmi"], ["query", "--kmers", "-"])
        for _ in range(by_tier(24, 6)):
            command = chance.choice(commands)
            client = subprocess.Popen(
                [WARPMER, command[0], "--server", SOCKET, *command[1:]], cwd=self.folder, stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.random() * 0.03)
            client.kill()
            client.wait()
            client.stdin.close()
        for size in range(0, len(HELLO) + 1, 5):
            connection = self.connected(hello=False)
            connection.sendall(HELLO[:size])
            connection.close()
        # What is in is whole batches, so whatever is in can be taken out again.
        self.client("add", reads)
        deadline = time.monotonic() + 60
        while self.threads_of(server) > idle and time.monotonic() < deadline:
            time.sleep(0.01)  # it may be at what clients asked for that are gone
        sequences = int(dict(line.split(None, 1) for line in self.client("info").splitlines())["sequences"])
        self.assertEqual(sequences % 3000, 0)
        for _ in range(sequences // 3000):
            self.client("remove", reads)
        self.assertEqual(self.client("histo"), "")

    def test_of_servers_are_told_to_clients(self):
        server = self.serve("-k", 31)
        slow = subprocess.Popen(
            [WARPMER, "add", "--server", SOCKET, "-"], cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.addCleanup(slow.stderr.close)
        slow.stdin.write(fasta([("x", "ACGT" * 30)] * 40000))
        slow.stdin.flush()
        time.sleep(0.3)
        server.kill()
        server.wait()
        with contextlib.suppress(BrokenPipeError):
            slow.stdin.write(fasta([("x", "ACGT" * 30)] * 40000))
        with contextlib.suppress(BrokenPipeError):
            slow.stdin.close()
        error = slow.stderr.read().decode()
        self.assertEqual(slow.wait(), RESOURCE, error)
        self.assertRegex(error, r"\Awarpmer: error: (the server at s\.sock is gone|no server answers at s\.sock)[^\n]*; by then \d+ of the reads were added\n\Z")
        # The socket that is left is no server.
        self.assertTrue((self.folder / SOCKET).exists())
        self.refused(RESOURCE, "no server answers at s.sock; 'warpmer serve --socket s.sock' starts one", "info", "--server", SOCKET)
        self.serve("-k", 31)
        self.assertRegex(self.client("info"), r"sequences +0\n")

    def test_of_a_killed_server_leave_no_index(self):
        self.file("old.wmi", b"")
        before = self.files()
        server = self.serve("-k", 31, "--save", "x.wmi")
        self.client("add", READS_1)
        server.kill()
        server.wait()
        self.assertEqual(self.files(), sorted([*before, SOCKET]))
        second = self.serve("-k", 31, "--save", "x.wmi")
        self.client("add", READS_1)
        self.stop(second)
        self.assertEqual(self.content("x.wmi"), self.content(self.count(READS_1, output="y.wmi")))

    def test_under_load_are_soon_and_whole(self):
        server = self.serve("-k", 31, "-t", 2, "--save", "x.wmi")
        reads = self.reads()
        self.client("add", reads)
        stopped = threading.Event()
        statuses = []

        def ask(command):
            while not stopped.is_set():
                client = self.run_process(command, "--server", SOCKET, *(["--reads"] if command == "query" else []), reads)
                statuses.append((client.returncode, client.stderr.decode()))

        threads = [threading.Thread(target=ask, args=(command,)) for command in ("query", "add", "remove", "query")]
        for thread in threads:
            thread.start()
        self.ask_and_take_no_answer()
        half = self.connected()
        half.sendall(struct.pack("<II", 6, 1000) + b"half")
        start = time.monotonic()
        said = self.stop(server)
        self.assertLess(time.monotonic() - start, by_tier(12, 60))
        stopped.set()
        for thread in threads:
            thread.join()
        self.assertRegex(said, r"\Awarpmer: [\d,]+ distinct k-mers, [\d.]+ s, x\.wmi ")
        for status, error in statuses:
            if status != 0:
                self.assertEqual(status, RESOURCE, error)
                self.assertRegex(error, r"the server has been stopped|the server at s\.sock is gone|no server answers at s\.sock")
        self.warpmer("stats", "x.wmi")

    def test_by_two_signals_of_a_batch_system_save_what_there_is(self):
        server = self.serve("-k", 31, "--save", "x.wmi")
        self.warpmer("add", "--server", "s.sock", READS_1)
        server.send_signal(signal.SIGTERM)
        time.sleep(0.01)
        self.stop(server, signal.SIGTERM)
        self.warpmer("stats", "x.wmi")

    def test_by_a_second_interrupt_are_at_once(self):
        server = self.serve("-k", 31, "--save", "x.wmi")
        self.ask_and_take_no_answer()
        server.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        while (self.folder / SOCKET).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.stop(server, signal.SIGINT, -signal.SIGINT), "")
        self.assertEqual(self.files(), [])


class Sockets(Serve):
    def test_in_a_folder_that_another_holds(self):
        """As with `flock FOLDER warpmer serve`, which waited for itself."""
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        self.stop(self.serve("-k", 31))

    def test_are_their_users_alone(self):
        before = os.umask(0)
        try:
            self.serve("-k", 31)
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE((self.folder / SOCKET).stat().st_mode), 0o600)

    def test_that_are_there(self):
        server = self.serve("-k", 31)
        self.refused(RESOURCE, "cannot serve at s.sock: a server answers there already", "serve", "--socket", SOCKET)
        self.assertRegex(self.client("info"), "s.sock")
        self.stop(server)
        self.file("mine", "mine")
        self.refused(RESOURCE, "cannot serve at mine: a file of that name is there, which is no socket", "serve", "--socket", "mine")
        self.assertEqual((self.folder / "mine").read_text(), "mine")
        self.refused(RESOURCE, "cannot serve at no/s: folder no: No such file or directory; make it, or choose another path", "serve", "--socket", "no/s")
        self.refused(RESOURCE, r"cannot serve at \.: it is a folder; choose a path in it", "serve", "--socket", ".")
        self.refused(RESOURCE, "cannot serve at /proc/s: the file system of folder /proc has no sockets .*; choose a path in another", "serve", "--socket", "/proc/s")
        self.refused(USAGE, "has 107 bytes at most, and x+ has 108; choose a shorter one", "serve", "--socket", "x" * 108)
        self.refused(USAGE, "has 107 bytes at most, and x+ has 108", "info", "--server", "x" * 108)
        self.refused(RESOURCE, "no server answers at none", "info", "--server", "none")
        self.refused(RESOURCE, "mine is no socket; --server names", "info", "--server", "mine")
        # Another's, which speaks something else.
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(self.folder / "other"))
            other.listen()

            def greet():
                with other.accept()[0] as connection:
                    connection.sendall(b"220 hello and welcome\r\n" * 3)

            thread = threading.Thread(target=greet)
            thread.start()
            self.refused(RESOURCE, "what answers at other is no warpmer of this version", "info", "--server", "other")
            thread.join()

    def test_of_other_versions_are_told_so(self):
        self.serve("-k", 31)
        connection = self.connected(hello=False)
        connection.sendall(HELLO[:16] + struct.pack("<I", 99) + HELLO[20:])
        answer = connection.recv(1000)
        self.assertEqual(struct.unpack("<I", answer[:4])[0], 2)
        self.assertEqual(answer[12:], b"the server is of another version of warpmer; use the same for both")
        self.assertRegex(self.client("info"), "s.sock")

    def test_take_many_clients_at_once(self):
        self.serve("-k", 21, "-t", 2)
        self.client("add", DATA / "forty.fq")
        asked = ("--reads", DATA / "forty.fq", "-t", 2)
        expected = self.client("query", *asked)
        clients = [
            subprocess.Popen(
                [WARPMER, "query", "-q", "--server", SOCKET, *map(str, asked)], cwd=self.folder, stdout=subprocess.PIPE
            )
            for _ in range(by_tier(64, 8))
        ]
        answers = [client.communicate()[0].decode() for client in clients]
        self.assertEqual([client.returncode for client in clients], [0] * len(clients))
        self.assertEqual(answers, [expected] * len(clients))


    @without_sanitizers
    def test_with_many_requests_wait_for_memory(self):
        server = self.serve("-k", 33, "-t", 4, "-m", "100M")
        chance = random.Random(3)
        genome = "".join(chance.choices("ACGT", k=500_000))
        names = [f"{i}.fa" for i in range(6)]
        for name in names:
            places = (chance.randrange(len(genome) - 150) for _ in range(20_000))
            self.file(name, fasta(("read", genome[at : at + 150]) for at in places))
        for asked in (["add"], ["query", "-q", "-o", "/dev/null", "--reads"]):
            clients = [
                subprocess.Popen([WARPMER, *asked, name, "-t", "4", "--server", SOCKET], cwd=self.folder, stderr=subprocess.DEVNULL)
                for name in names
            ]
            self.assertEqual([client.wait() for client in clients], [0] * len(clients))
        self.assertLess(resident_bytes(server, "VmHWM"), 100 << 20)

    @without_sanitizers
    def test_that_are_idle_hold_no_large_buffers(self):
        server = self.serve("-k", 31, "-t", 2, "-m", "120M")
        bases = 1_000_000
        request = struct.pack("<II", 4, 8 + 5 + bases) + struct.pack("<IIIB", 0, 1, bases, 3) + b"ACGT" * (bases // 4)

        def take_answer(connection):
            kind, size = struct.unpack("<II", connection.recv(8, socket.MSG_WAITALL))
            while size > 0:
                size -= len(connection.recv(min(size, 1 << 20)))

        idle = [self.connected() for _ in range(60)]
        for connection in idle:
            connection.sendall(request)
            take_answer(connection)
        self.assertLess(resident_bytes(server), 120 << 20)
        for connection in idle:  # now all of them hold a request at once
            connection.sendall(request)
        for connection in idle:
            take_answer(connection)
        self.assertLess(resident_bytes(server), 120 << 20)


class Refusals(Serve):
    def test_of_command_lines(self):
        self.count(DATA / "forty.fq", k=21, output="x.wmi")
        self.refused(USAGE, "missing --socket", "serve", "-k", 31)
        self.refused(USAGE, "-k 31 is not that of x.wmi, which has k-mers of 21", "serve", "--socket", SOCKET, "--load", "x.wmi", "-k", 31)
        self.refused(USAGE, "--forward is not how x.wmi was counted", "serve", "--socket", SOCKET, "--load", "x.wmi", "--forward")
        self.refused(USAGE, "--table must be auto, warpdrive, slab or starfish, not 'hash'", "serve", "--socket", SOCKET, "--table", "hash")
        self.refused(USAGE, "--table starfish keeps what a GPU has no room for in host memory; add --device cuda",
                     "serve", "--socket", SOCKET, "--table", "starfish", "--device", "cpu")
        self.refused(USAGE, "the table is on the CPU or on GPUs", "serve", "--socket", SOCKET, "--device", "cpu:2")
        self.refused(USAGE, "is one of the inputs", "serve", "--socket", SOCKET, "--load", "x.wmi", "--save", "x.wmi")
        self.refused(RESOURCE, "not_there", "serve", "--socket", SOCKET, "--save", "not_there/x.wmi")
        self.refused(USAGE, "--save and --socket both name", "serve", "--socket", SOCKET, "--save", "./" + SOCKET)
        self.refused(INPUT, "not_there.wmi", "serve", "--socket", SOCKET, "--load", "not_there.wmi")
        self.serve("-k", 21)
        for command in ("histo", "stats", "info"):
            self.refused(USAGE, "asks the server at s.sock, and no file; leave out x.wmi", command, "--server", SOCKET, "x.wmi")
        no_index = "asks the server at s.sock, and no index; leave out x.wmi, or --server"
        for command in (["query", "x.wmi", "A" * 21], ["query", "x.wmi", "--reads", DATA / "forty.fq"], ["filter", "x.wmi", DATA / "forty.fq"]):
            self.refused(USAGE, no_index, command[0], "--server", SOCKET, *command[1:])
        self.refused(USAGE, "-k is for reads; a server has counted its own", "histo", "--server", SOCKET, "-k", 21)
        for command in (["query", "--reads"], ["filter"]):
            self.refused(USAGE, "a server has its own device", command[0], "--server", SOCKET, "--device", "cpu", *command[1:], DATA / "forty.fq")
        self.refused(USAGE, "where to write the index", "save", "--server", SOCKET)
        self.refused(USAGE, "missing READS", "add", "--server", SOCKET)
        self.refused(USAGE, "missing --server", "add", DATA / "forty.fq")
        self.refused(USAGE, "missing INDEX", "query")
        self.refused(USAGE, "missing INPUT", "histo")

    def test_for_want_of_memory(self):
        """What is named as enough is enough."""
        for threads in (1, 2, 8):
            options = ("serve", "--socket", SOCKET, "-t", threads, "-m")
            error = self.refused(RESOURCE, r"-m 20 MiB is too little for . threads?: reading and writing alone need \d+ MiB; raise", *options, "20M")
            memory = int(re.search(r"need (\d+) MiB", error)[1])
            error = self.refused(RESOURCE, r"a live table of 31-mers takes .*; raise -m by \d+ MiB( or lower -t)?\n", *options, f"{memory}M")
            memory += int(re.search(r"by (\d+) MiB", error)[1])
            self.end(self.serve("-t", threads, "-m", f"{memory}M"))
        options = ("-k", 12, "-t", 2, "-m")
        error = self.refused(RESOURCE, "a live table of 12-mers takes .*; raise -m by", "serve", "--socket", SOCKET, *options, "200M")
        memory = 200 + int(re.search(r"by (\d+) MiB", error)[1])
        self.end(self.serve(*options, f"{memory}M"))


if __name__ == "__main__":
    main()
