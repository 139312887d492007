"""What must not work, and how it says so."""

import copy
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import warpmer
from common import ModuleTest, count_naively, random_sequence


class Kinds(unittest.TestCase):
    def test_hierarchy(self):
        for kind in (warpmer.UsageError, warpmer.InputError, warpmer.ResourceError, warpmer.InternalError):
            self.assertTrue(issubclass(kind, warpmer.Error))
            self.assertEqual(kind.__module__, "warpmer")
        self.assertTrue(issubclass(warpmer.UsageError, ValueError))

    def test_all_names_are_there(self):
        for name in warpmer.__all__:
            self.assertTrue(hasattr(warpmer, name), name)
        self.assertIn("__version__", warpmer.__all__)  # else type checkers do not know it
        self.assertRegex(warpmer.__version__, r"^\d+\.\d+\.\d+$")


class Files(ModuleTest):
    def test_no_index(self):
        text = self.fasta(["ACGT"])
        for path in (self.folder / "none.wmi", text, self.folder):
            with self.assertRaises(warpmer.InputError) as caught:
                warpmer.open(path)
            self.assertIn(path.name, str(caught.exception))
        with self.assertRaises(TypeError):
            warpmer.open(7)

    def test_a_damaged_index(self):
        path = self.folder / "x.wmi"
        index = warpmer.count(self.fasta([random_sequence(5000, 1)]), 7, output=path)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x10
        damaged = self.folder / "damaged.wmi"
        damaged.write_bytes(data)
        index = warpmer.open(damaged)
        other = warpmer.open(path)
        for call in (
            lambda: index["ACGTACG"],
            lambda: index.query(["ACGTACG"] * 10000),
            lambda: index.query(np.zeros(10, np.uint64)),
            lambda: index.profile("ACGTACGT"),
            lambda: list(index.chunks(threads=3)),
            lambda: index.to_numpy(),
            lambda: index | other,
        ):
            with self.assertRaises(warpmer.InputError):
                call()
        damaged.write_bytes(data[: len(data) // 2])
        with self.assertRaises(warpmer.InputError):
            warpmer.open(damaged)

    def test_inputs(self):
        text = self.folder / "text.txt"
        text.write_text("no sequences")
        with self.assertRaises(warpmer.InputError):
            warpmer.count(self.folder / "none.fa", 5, output=self.folder / "x.wmi")
        with self.assertRaises(warpmer.InputError):
            warpmer.count([self.fasta(["ACGTACGT"]), text], 5, output=self.folder / "x.wmi")
        with self.assertRaises(warpmer.InputError):
            warpmer.count(self.fasta(["ACGTA1ACGTA"]), 5, tmp_directory=self.folder)
        with self.assertRaises(warpmer.UsageError):
            warpmer.count([], 5)
        with self.assertRaises(TypeError):
            warpmer.count([7], 5)
        self.assertEqual(self.files(), ["in.fa", "text.txt"])

    def test_outputs(self):
        path = self.fasta(["ACGTACGT"])
        with self.assertRaises(warpmer.UsageError):
            warpmer.count(path, 5, output=path)
        with self.assertRaises(warpmer.ResourceError):
            warpmer.count(path, 5, output=self.folder / "no/folder.wmi")
        with self.assertRaises(warpmer.ResourceError):
            warpmer.count(path, 5, tmp_directory=self.folder / "none")
        for output in ("-", "", self.folder / "x.kff", self.folder / "x.kmc_pre", self.folder / "x.wmi.gz"):
            with self.assertRaises(warpmer.UsageError, msg=output):
                warpmer.count(path, 5, output=output)
        reads = self.folder / "other.fa"
        reads.write_text(">1\nACGT\n")
        for arguments in [{}, {"reference": reads}]:
            with self.assertRaises(warpmer.UsageError, msg=arguments):
                warpmer.count(path, 5, output=reads, **arguments)
        self.assertEqual(reads.read_text(), ">1\nACGT\n")
        self.assertEqual(path.read_text(), ">0\nACGTACGT\n")
        self.assertEqual(self.files(), ["in.fa", "other.fa"])

    def test_an_index_that_was_replaced(self):
        path = self.folder / "x.wmi"
        old = warpmer.count(self.fasta(["ACGTACGTT"]), 5, output=path)
        warpmer.count(self.fasta(["GGGGGGGGG"]), 5, output=path)
        self.assertEqual(old["ACGTA"], 2)
        with self.assertRaises(warpmer.InputError) as caught:
            old.intersect(old)
        self.assertIn("replaced", str(caught.exception))
        for again in (copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))):
            with self.assertRaisesRegex(warpmer.InputError, "was replaced since it was opened"):
                again(old)

    def test_a_folder_that_is_left(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        warpmer.count(self.fasta(["ACGTACGTT"]), 5, output="x.wmi")
        index = warpmer.open("x.wmi")
        os.chdir(here)
        other = warpmer.open(shutil.copy(self.folder / "x.wmi", self.folder / "y.wmi"))
        self.assertEqual(index.intersect(other).content_checksum, index.content_checksum)
        self.assertEqual(pickle.loads(pickle.dumps(index)).content_checksum, index.content_checksum)


class Arguments(ModuleTest):
    def test_of_count(self):
        path = self.fasta(["ACGTACGT"])
        for arguments in [
            {"k": 0}, {"k": 65}, {"k": -1}, {"k": 2**40}, {"min_count": 0}, {"min_count": 5, "max_count": 4}, {"max_count": 0},
            {"min_count": -1}, {"max_count": 2**64}, {"min_base_quality": 94}, {"min_base_quality": -1}, {"threads": -1},
            {"memory": -1}, {"device": "abacus"},
        ]:  # fmt: skip
            with self.assertRaises(warpmer.UsageError, msg=arguments):
                warpmer.count(path, **{"k": 5, **arguments})
        for arguments in [{"k": 5.0}, {"k": "5"}, {"k": None}, {"device": 1}, {"device": None}, {"threads": "2"}, {"progress": 3}]:
            with self.assertRaises(TypeError, msg=arguments) as caught:
                warpmer.count(path, **{"k": 5, **arguments})
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaises(warpmer.ResourceError):
            warpmer.count(path, 5, memory=1000)
        self.assertEqual(self.files(), ["in.fa"])

    def test_of_questions(self):
        narrow = warpmer.count(self.fasta(["ACGTACGTACGTACGTACGTACGT"]), 21)
        wide = warpmer.count(self.fasta(["ACGTACGT" * 10]), 40)
        for kmer in ("ACGT", "", "N" * 21, "ACGTACGTACGTACGTACGTAC", "ACGTACGTACGTACGTACGT\n", "\u00e4" * 21, b"\xff" * 21, "A" * 20 + "\udce9"):
            for call in (lambda: narrow[kmer], lambda: kmer in narrow, lambda: narrow.query([kmer])):
                with self.assertRaises(warpmer.UsageError, msg=kmer):
                    call()
        for kmer in (7, None, ["ACGT"], 1.5):
            for call in (lambda: narrow[kmer], lambda: kmer in narrow, lambda: narrow.query([kmer])):
                with self.assertRaises(TypeError, msg=kmer):
                    call()
        with self.assertRaises(TypeError):
            narrow.query("ACGTACGTACGTACGTACGTA")
        with self.assertRaises(TypeError):
            narrow.query(7)
        with self.assertRaises(TypeError):
            iter(narrow)
        for call in (narrow.__getitem__, narrow.__contains__, narrow.profile):
            for word in (5, None):
                with self.assertRaisesRegex(TypeError, r"\Asequences and k-mers are str or bytes\Z"):
                    call(word)

    def test_of_arrays(self):
        narrow = warpmer.count(self.fasta(["ACGTACGTACGTACGTACGTACGT"]), 21)
        wide = warpmer.count(self.fasta(["ACGTACGT" * 10]), 40)
        for dtype in (np.int64, np.uint32, np.float64, bool, ">i8"):
            with self.assertRaises(TypeError, msg=dtype):
                narrow.query(np.zeros(3, dtype))
        for index, shape in [(narrow, (3, 2)), (narrow, ()), (narrow, (3, 1)), (wide, (6,)), (wide, (2, 3)), (wide, (1, 2, 2))]:
            with self.assertRaises(warpmer.UsageError, msg=shape):
                index.query(np.zeros(shape, np.uint64))
            with self.assertRaises(warpmer.UsageError, msg=shape):
                warpmer.unpack(np.zeros(shape, np.uint64), index.k)
        for index, number in [(narrow, [1 << 42]), (wide, [[1 << 16, 0]])]:
            with self.assertRaises(warpmer.UsageError):
                index.query(np.array(number, np.uint64))
            with self.assertRaises(warpmer.UsageError):
                warpmer.unpack(np.array(number, np.uint64), index.k)
        with self.assertRaises(warpmer.UsageError):
            narrow.query(np.array([["A" * 21]]))
        for data in (b"ACGT", b"A" * 43, b"A" * 21 + b"\nACGT", b"A" * 21 + b"\n" + b"A" * 22 + b"\n", b"\n"):
            with self.assertRaises(warpmer.UsageError, msg=data):
                narrow.query(data)

    def test_of_packing(self):
        for call in (
            lambda: warpmer.pack([]),
            lambda: warpmer.pack(["ACGT", "ACG"]),
            lambda: warpmer.pack(["ACGN"]),
            lambda: warpmer.pack(["ACG\udce9"]),
            lambda: warpmer.pack(["A" * 65]),
            lambda: warpmer.pack([""]),
            lambda: warpmer.unpack(np.zeros(1, np.uint64), 0),
            lambda: warpmer.unpack(np.zeros((1, 2), np.uint64), 65),
        ):
            with self.assertRaises(warpmer.UsageError):
                call()
        for call in (lambda: warpmer.pack("ACGT"), lambda: warpmer.pack([1], 5), lambda: warpmer.unpack([1.5], 5)):
            with self.assertRaises(TypeError):
                call()

    def test_of_walks_and_profiles(self):
        index = warpmer.count(self.fasta(["ACGTACGT"]), 5)
        for arguments in [{"size": 0}, {"size": -1}, {"size": 2**41}, {"threads": -1}, {"threads": 2**17}]:
            with self.assertRaises(warpmer.UsageError, msg=arguments):
                index.chunks(**arguments)
        with self.assertRaises(warpmer.UsageError) as caught:
            index.profile("ACGT1")
        self.assertIn("position 5", str(caught.exception))
        with self.assertRaises(warpmer.UsageError):
            index.profile("ACGTA\udce9")
        with self.assertRaises(TypeError):
            index.profile(["ACGT"])


class Stop(Exception):
    pass


class LastCall(ModuleTest):
    def test_what_it_raises_leaves_what_was_there(self):
        path = self.folder / "x.wmi"
        warpmer.count(self.fasta(["ACGTACGTT"]), 7, output=path)

        def stop(status):
            if status.stage == "done":
                raise Stop

        with self.assertRaises(Stop):
            warpmer.count(self.fasta(["ACGTACGTT"]), 5, output=path, progress=stop)
        self.assertEqual(warpmer.open(path).k, 7)
        self.assertEqual(self.files(), ["in.fa", "x.wmi"])


class Callbacks(ModuleTest):
    def setUp(self):
        super().setUp()
        # Counting it takes some tenths of a second, so that progress is told.
        bases = random_sequence(1 << 16, 3)
        self.path = self.folder / "in.fa"
        with self.path.open("w") as file:
            for i in range(400):
                file.write(f">{i}\n{bases[i:]}\n")

    def test_progress(self):
        seen = []
        threads = set()

        def listen(status):
            threads.add(threading.get_ident())
            seen.append(status)

        index = warpmer.count(self.path, 31, threads=1, progress=listen)
        self.assertEqual(threads, {threading.get_ident()})
        last = seen[-1]
        self.assertEqual((last.stage, last.kmers), ("done", index.totals.counted_kmers))
        self.assertEqual(last.bytes_total, self.path.stat().st_size)
        self.assertEqual(last.parts_done, last.parts_total)
        for before, after in zip(seen, seen[1:]):
            self.assertLessEqual(before.kmers, after.kmers)

    def test_what_it_raises_ends_the_job(self):
        for error in (Stop("enough"), KeyboardInterrupt(), SystemExit(3)):

            def listen(status):
                raise error

            with self.assertRaises(type(error)) as caught:
                warpmer.count(self.path, 31, output=self.folder / "x.wmi", threads=1, progress=listen)
            self.assertIs(caught.exception, error)
            with self.assertRaises(type(error)):
                warpmer.count(self.path, 31, tmp_directory=self.folder, threads=1, progress=listen)
        self.assertEqual(self.files(), ["in.fa"])
        self.assertGreater(len(warpmer.count(self.path, 31)), 0)

    def test_a_signal_ends_a_job(self):
        program = (
            "import warpmer, sys, signal, os, threading, time\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job ignores it
            "try:\n"
            "  threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "  while True: warpmer.count(sys.argv[1], 31, threads=1)\n"
            "except KeyboardInterrupt: print('interrupted')\n"
        )
        done = subprocess.run([sys.executable, "-c", program, str(self.path)], capture_output=True, text=True, timeout=180)
        self.assertEqual((done.stdout, done.returncode), ("interrupted\n", 0), done.stderr)


    def test_a_signal_ends_a_job_that_waits_for_input(self):
        program = (
            "import warpmer, signal, os, threading\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "try:\n"
            "  threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "  warpmer.count('-', 31)\n"
            "except KeyboardInterrupt: print('interrupted')\n"
        )
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(b">1\nACGT")
            process.stdin.flush()  # and it stays open
            try:
                process.wait(60)
                self.assertEqual(process.stdout.read(), b"interrupted\n", process.stderr)
            finally:
                process.kill()

    def test_no_job_within_a_count(self):
        def listen(status):
            warpmer.count(self.path, 31)

        with self.assertRaisesRegex(warpmer.UsageError, "a listener of a count cannot count itself"):
            warpmer.count(self.path, 31, progress=listen)


class Threads(ModuleTest):
    def test_a_process_that_is_forked_off_while_another_thread_counts(self):
        """It cannot count, and ends."""
        self.fasta(["ACGTACGT"])
        program = (
            "import warpmer, os, signal, threading\n"
            "reading, writing = os.pipe()\n"
            "is_waiting = [threading.Event(), threading.Event()]\n"
            "def count(number):\n"
            "  warpmer.count(f'/dev/fd/{reading}', 5, progress=lambda _: is_waiting[number].set())\n"
            "for number in range(2):\n"
            "  threading.Thread(target=count, args=(number,)).start()\n"
            "  is_waiting[number].wait()\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "  signal.alarm(30)\n"
            "  try: warpmer.count('in.fa', 5)\n"
            "  except warpmer.UsageError as error: print(error)\n"
            "  raise SystemExit\n"
            "print(os.waitpid(child, 0)[1])\n"
            "os.write(writing, b'>1\\nACGTACGT\\n')\n"
            "os.close(writing)\n"
        )
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=self.folder, capture_output=True, text=True, timeout=180)
        said = "a process that was forked off while another thread counted cannot count; fork before\n0\n"
        self.assertEqual((done.stdout, done.returncode), (said, 0), done.stderr)

    def test_daemons_end_with_the_interpreter(self):
        """One counts, or waits for that, while the program ends: it ends well, and there is no output."""
        self.fasta([random_sequence(1 << 20, 3)])
        program = (
            "import warpmer, sys, threading, time\n"
            "has_begun = threading.Event()\n"
            "def count(number):\n"
            "  while True: warpmer.count(sys.argv[1:] * 200, 31, threads=1, tmp_directory='.', output='x.wmi' if number else None, progress=lambda _: has_begun.set())\n"
            "for number in range(2): threading.Thread(target=count, args=(number,), daemon=True).start()\n"
            "has_begun.wait()\n"
        )
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", program, "in.fa"], cwd=self.folder, capture_output=True, text=True, timeout=180)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(self.files(), ["in.fa"])

    def test_daemons_that_ask_end_with_the_interpreter(self):
        """They are in the midst of it, or hold an Index and sleep: the program ends well, and nothing is printed."""
        warpmer.count(self.fasta([random_sequence(1 << 16, 3)]), 31, output=self.folder / "out.wmi")
        program = (
            "import warpmer, sys, threading, time\n"
            "index = warpmer.open('out.wmi')\n"
            "kmers = b'ACGTT' * 31 * 1000\n"
            "def walk():\n"
            "  for _ in index.chunks(size=1000): pass\n"
            "questions = [lambda: index.query(kmers, threads=1), lambda: index.profile(kmers), walk, lambda: warpmer.open('out.wmi')]\n"
            "def ask(question):\n"
            "  mine = index\n"
            "  while True: question()\n"
            "for question in [questions[int(n)] for n in sys.argv[1:]] or [lambda: time.sleep(60)]:\n"
            "  for _ in range(3): threading.Thread(target=ask, args=(question,), daemon=True).start()\n"
            "time.sleep(0.2)\n"
        )
        for questions in [], ["0"], ["1"], ["2"], ["3"], ["0", "1", "2", "3"]:
            with self.subTest(questions):
                done = subprocess.run(
                    [sys.executable, "-c", program, *questions], cwd=self.folder, capture_output=True, text=True, timeout=180)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_gil_is_released(self):
        """While one thread is in the library, another goes on in Python."""
        path = self.fasta([random_sequence(1 << 20, 1)])
        index = warpmer.count(path, 31, output=self.folder / "x.wmi")
        text = path.read_text().split()[1] * 4
        other = warpmer.count(self.fasta([random_sequence(1 << 20, 2)], "other.fa"), 31)
        texts = [text[i : i + 31] for i in range(0, 1 << 20, 2)]
        kmers = warpmer.pack(texts)
        calls = {
            "count": lambda: warpmer.count(path, 31, threads=1),
            "profile": lambda: index.profile(text),
            "query": lambda: index.query(kmers, threads=1),
            "pack": lambda: warpmer.pack(texts),
            "unpack": lambda: warpmer.unpack(kmers, 31),
            "union": lambda: index | other,
            "chunks": lambda: sum(len(counts) for _, counts in index.chunks(threads=1)),
        }
        for name, call in calls.items():
            self.assertTrue(self.is_beside(call), name)

    def is_beside(self, call):
        """True when a thread of Python moves while `call` is under way, in one of some tries."""
        steps = 0
        is_over = threading.Event()

        def step():
            nonlocal steps
            while not is_over.is_set():
                steps += 1
                time.sleep(0)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # nobody takes the GIL from a thread that does not give it
        thread = threading.Thread(target=step)
        try:
            thread.start()
            for _ in range(20):
                first = steps
                call()
                if steps > first + 3:
                    return True
            return False
        finally:
            is_over.set()
            sys.setswitchinterval(before)
            thread.join()

    def test_several_ask_one_index(self):
        sequence = random_sequence(20000, 2)
        index = warpmer.count(self.fasta([sequence]), 21)
        expected = count_naively([sequence], 21)
        kmers = list(expected)
        wrong = []

        def ask():
            if index.query(kmers).tolist() != [expected[kmer] for kmer in kmers]:
                wrong.append("query")
            if sum(int(counts.sum()) for _, counts in index.chunks(size=1000)) != sum(expected.values()):
                wrong.append("chunks")
            if len(warpmer.count(self.folder / "in.fa", 21)) != len(expected):
                wrong.append("count")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_walk_that_is_left(self):
        index = warpmer.count(self.fasta([random_sequence(200000, 2)]), 21)
        for _ in range(20):
            for kmers, _ in index.chunks(size=100, threads=3):
                break
        walk = index.chunks(size=100)
        self.assertIs(iter(walk), walk)
        del index
        self.assertEqual(sum(len(kmers) for kmers, _ in walk), 199980)
        with self.assertRaises(StopIteration):
            next(walk)

    def test_arrays_outlive_everything(self):
        index = warpmer.count(self.fasta([random_sequence(200000, 2)]), 21)
        kept = [pair for pair in index.chunks(size=1000)]
        copies = [(kmers.copy(), counts.copy()) for kmers, counts in index.chunks(size=1000)]
        del index
        for (kmers, counts), (of_copy, counts_of_copy) in zip(kept, copies):
            self.assertTrue(np.array_equal(kmers, of_copy) and np.array_equal(counts, counts_of_copy))
            kmers += 1  # they are the caller's


class Large(ModuleTest):
    def test_a_million_kmers(self):
        sequence = random_sequence(1 << 20, 7)
        index = warpmer.count(self.fasta([sequence]), 31)
        texts = [sequence[i : i + 31] for i in range(0, len(sequence) - 30)]
        self.assertTrue((index.query(texts) == 1).all())
        self.assertTrue((index.query(warpmer.pack(texts)) == 1).all())
        self.assertTrue((index.profile(sequence) == 1).all())
        kmers, counts = index.to_numpy()
        self.assertEqual((len(kmers), int(counts.sum())), (len(texts), len(texts)))
        self.assertEqual(len(np.unique(kmers)), len(texts))


if __name__ == "__main__":
    unittest.main()
