#!/usr/bin/env python3
"""Standard input and output, pipes, lists, links, odd file names; being interrupted."""

import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import threading
import time
import types

from common_cli import DATA, INPUT, RESOURCE, USAGE, WARPMER, CliTest, has_files_without_names, main
from common_tier import FULL, UNDER_TSAN, by_tier, some

READS = DATA / "forty.fa"
LARGE_BASES = by_tier(20_000_000, 2_000_000)


def read_until(descriptor, pattern, seconds=60):
    """What comes from a pipe or a terminal until that matches (None: until it ends), for so many seconds at most."""
    seen, deadline = b"", time.monotonic() + seconds
    while not (pattern and re.search(pattern, seen)) and select.select([descriptor], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # what a terminal says when its last user has gone
            break
        if not chunk:
            break
        seen += chunk
    return seen


class Inputs(CliTest):
    def setUp(self):
        super().setUp()
        self.expected = self.dump(self.count(READS, k=15, output="expected.wmi"))

    def same(self, *inputs, **options):
        self.assertEqual(self.dump(self.count(*inputs, k=15, **options)), self.expected)

    def keeps_input(self, output, inputs, **options):
        """Sequences are refused before a list is read; that they are an input is found then, whatever is forced."""
        before = (self.folder / output).read_bytes()
        self.refused(USAGE, "is one of the inputs|is there already and is sequence data", "count", "-o", output, inputs, **options)
        self.refused(USAGE, "is one of the inputs", "count", "--force", "-o", output, inputs, **options)
        self.assertEqual((self.folder / output).read_bytes(), before)

    def test_standard_input(self):
        content = READS.read_bytes()
        self.same("-", stdin=content)
        self.same("-", stdin=gzip.compress(content))
        self.same("/dev/stdin", stdin=content)

    def test_lists_from_pipes(self):
        """Twice: where there is an output already, that is compared with the inputs."""
        names = f"{READS}\n"
        os.mkfifo(self.folder / "list")
        for _ in range(2):
            self.same("@-", stdin=names)
            threading.Thread(target=(self.folder / "list").write_text, args=[names], daemon=True).start()
            self.same("@list")

    def test_lists_from_pipes_are_lists_of_files(self):
        """Whatever a list comes through, a job knows its files, and may read them more than once."""
        names = f"{READS}\n"
        self.file("list", names)
        for inputs in ("@list", "@-"):
            self.warpmer("count", "-k", 15, "-o", "out.wmi", "--stats", "s.json", inputs, stdin=names)
            stats = json.loads((self.folder / "s.json").read_text())
            self.assertEqual((stats["inputs"], stats["device_choice"]),
                             ([str(READS)], "the input is too small for a GPU to be worth starting"))
            self.assertIn("all of the input", self.warpmer("plan", "-k", 15, inputs, stdin=names))
        self.file("precious.fa", READS.read_bytes())
        names = "precious.fa\n"
        self.file("list", names)
        self.refused(USAGE, "is one of the inputs", "count", "-o", "list", "@list")
        for inputs in ("@list", "@-"):
            self.keeps_input("precious.fa", inputs, stdin=names)

    def test_sequences_are_no_list(self):
        """A slip: the '@' of a list before reads."""
        self.file("in.fa", ">a\nACGT\n")
        self.file("in.fq", "@a\nACGT\n+\nIIII\n")
        for name in ("in.fa", "in.fq"):
            self.refused(INPUT, rf"\(line 1 of {name}; a file of sequences is named without '@'\)\n", "count", "-o", "x.wmi", f"@{name}")

    def test_what_a_list_names_is_no_list(self):
        self.file("@x", READS.read_bytes())
        self.file("x", b"in the way")
        self.file("list", "@x\n")
        self.keeps_input("@x", "@list")
        self.warpmer("count", "-k", 15, "-o", "x", "@list")
        self.assertEqual(self.dump("x"), self.expected)

    def test_lists(self):
        first, second = self.file("1.fa", b""), self.file("2.fa", READS.read_bytes())
        self.same("@" + str(self.file("a.list", f"{first}\n{second}\n")))
        self.same("@" + str(self.file("b.list", f"\r\n{second}\r\n\r\n")))

    def test_names_that_look_like_something_else(self):
        for name in some(("-", "a,b", "-k", "with space", "it's", "two\nlines", "größe", "x=y", "%s%n", "histo", "[x,y]"), 4):
            self.file(name, READS.read_bytes())
            with self.subTest(name):
                self.same("./" + name)
                if name != "-":
                    self.warpmer("count", "-k", "15", "-o", "out.wmi", "--", name)
                    self.assertEqual(self.dump("out.wmi"), self.expected)

    def test_process_substitution(self):
        bash = shutil.which("bash")
        script = f"'{WARPMER}' count -k 15 -o out.wmi <(cat '{READS}') <(printf '') && '{WARPMER}' info out.wmi"
        process = subprocess.run([bash, "-c", script], cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.dump("out.wmi"), self.expected)

    def test_closed_stdin(self):
        process = subprocess.run(
            ["bash", "-c", f"'{WARPMER}' count -k 15 -o out.wmi - <&-"], cwd=self.folder, capture_output=True, check=False
        )
        self.assertEqual(process.returncode, INPUT, process.stderr)
        self.assertNotIn("out.wmi", self.files())


class Outputs(CliTest):
    def test_an_index_through_a_pipe(self):
        self.count(READS, k=15, output="a.wmi")
        process = self.run_process("count", "-k", "15", "-o", "-", READS)
        self.done(process)
        self.assertEqual(self.warpmer("dump", "--sort", "-", stdin=process.stdout), self.warpmer("dump", "--sort", "a.wmi"))
        self.assertEqual(self.warpmer("histo", "/dev/stdin", stdin=process.stdout), self.warpmer("histo", "a.wmi"))
        self.assertEqual(self.files(), ["a.wmi"])

    def test_text_into_a_file(self):
        index = self.count(READS, k=15)
        kmer = self.warpmer("dump", index).split("\t")[0]
        for command in (["histo"], ["dump"], ["stats"], ["info", "--json"], ["query", "--reads", READS]):
            text = self.warpmer(*command, index) if command[0] != "query" else self.warpmer("query", index, *command[1:])
            arguments = [*command, index] if command[0] != "query" else ["query", index, *command[1:]]
            self.assertEqual(self.warpmer(*arguments, "-o", "text"), "")
            self.assertEqual((self.folder / "text").read_text(), text)
        self.warpmer("query", "-o", "text", index, kmer)
        self.assertTrue((self.folder / "text").read_text().startswith(kmer + "\t"))
        self.assertEqual(self.files(), ["out.wmi", "text"])

    def test_rights_follow_the_umask(self):
        self.warpmer("count", "-k", "15", "-o", "out.wmi", READS)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.folder / "out.wmi").stat().st_mode & 0o777, 0o666 & ~mask)

    def test_a_reader_that_stops_early(self):
        index = self.count(DATA / "genome.fa", k=31)
        # More text than a pipe holds, so that the writer does notice.
        for command in (f"dump {index}", f"dump --sort {index}", f"query {index} --reads {DATA / 'genome.fa'} --profile"):
            process = subprocess.run(
                ["bash", "-c", f"'{WARPMER}' {command} -q | head -c 10; echo ${{PIPESTATUS[0]}}"],
                cwd=self.folder,
                capture_output=True,
                check=False,
            )
            self.assertEqual(process.stderr, b"", command)
            self.assertIn(process.stdout[10:].strip(), (b"141", b"0"), command)

    def test_closed_stdout(self):
        index = self.count(READS, k=15)
        process = subprocess.run(
            ["bash", "-c", f"'{WARPMER}' dump {index} >&-"], cwd=self.folder, capture_output=True, check=False
        )
        self.assertEqual(process.returncode, RESOURCE)
        self.assertIn(b"standard output", process.stderr)
        self.assertEqual(self.files(), ["out.wmi"])

    def test_progress_never_reaches_stdout(self):
        process = self.run_process("count", "-k", "15", "--progress", "-o", "-", READS)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(process.stderr.decode(), r"(?m)^warpmer: [\d,]+ k-mers, [\d,]+ distinct, .*peak memory")
        self.assertEqual(self.warpmer("stats", "-", stdin=process.stdout).splitlines()[0].split(), ["k", "15"])

    def test_progress_of_a_slow_input(self):
        """It ends when the progress has been told."""
        command = [WARPMER, "count", "-k", "15", "--progress", "-o", "out.wmi", "-"]
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write(READS.read_bytes())
        process.stdin.flush()
        seen = read_until(process.stderr.fileno(), rb"(?m)^warpmer: reading .* k-mers$")
        _, rest = process.communicate()
        self.assertEqual(process.returncode, 0, seen + rest)
        self.assertRegex(seen.decode(), r"(?m)^warpmer: reading .* k-mers$")


class Terminal(CliTest):
    def on_terminal(self, *arguments, stream, shows=rb"\r"):
        """(status, what the terminal saw, the other stream) of a run whose stdout or stderr is a terminal. Its input ends when
        the terminal has seen what it `shows`; None: nothing, for a while."""
        controller, terminal = pty.openpty()
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: terminal}
        process = subprocess.Popen([WARPMER, *map(str, arguments)], cwd=self.folder, stdin=subprocess.PIPE, **streams)
        os.close(terminal)
        with contextlib.suppress(BrokenPipeError):  # it may have refused already
            process.stdin.write(READS.read_bytes())
            process.stdin.flush()
        seen = read_until(controller, shows, 60 if shows else 0.6)
        stdout, stderr = process.communicate()
        seen += read_until(controller, None)
        os.close(controller)
        return process.returncode, seen.decode(), stdout if stream == "stderr" else stderr

    def test_progress_is_shown_and_taken_away(self):
        status, seen, stdout = self.on_terminal("count", "-k", "15", "-o", "out.wmi", "-", stream="stderr", shows=rb"\rreading ")
        self.assertEqual((status, stdout), (0, b""))
        self.assertRegex(seen, r"\A\rreading [^\n]*")
        self.assertRegex(seen, r"\r\x1b\[Kwarpmer: [\d,]+ k-mers[^\n]*\r\n\Z")

    def test_other_commands_show_it_too(self):
        index = self.count(READS, k=15)
        self.warpmer("positions", "-k", "15", "-o", "out.wmp", READS)
        for command in (("query", index, "--reads", "-"), ("query", index, "--reads", "-", "--format", "bed"), ("filter", index, "-"),
                        ("qv", "--solid-count", "1", index, "-"), ("locate", "out.wmp", "--reads", "-")):
            with self.subTest(command):
                status, seen, stdout = self.on_terminal(*command, stream="stderr")
                self.assertEqual(status, 0)
                self.assertRegex(seen, r"\A\r(looked up|starting)[^\n]*\r\x1b\[Kwarpmer: (looked up|kept) [^\n]*\r\n\Z")
                self.assertEqual(stdout.decode(), self.warpmer(*command, stdin=READS.read_bytes()))
                status, seen, _ = self.on_terminal(*command, "-q", stream="stderr", shows=None)
                self.assertEqual((status, seen), (0, ""))

    def test_warnings_stand_on_a_line_of_their_own(self):
        index = self.count(READS, k=15)
        self.file("none.fa", "")
        _, seen, _ = self.on_terminal("qv", index, "-", "none.fa", stream="stderr")
        self.assertRegex(seen, r"(?m)(^|\r\x1b\[K)warpmer: warning: there is no sequence in 'none.fa'")

    def test_errors_stand_on_a_line_of_their_own(self):
        status, seen, _ = self.on_terminal("count", "-k", "15", "-o", "out.wmi", "-", DATA / "bad_text.txt", stream="stderr")
        self.assertEqual(status, INPUT)
        self.assertRegex(seen, r"(\A|\r\x1b\[K)warpmer: error: [^\n]*\r\n\Z")

    def test_no_index_on_a_terminal(self):
        status, seen, stderr = self.on_terminal("count", "-k", "15", "-o", "-", READS, stream="stdout")
        self.assertEqual((status, seen), (USAGE, ""))
        self.assertIn(b"terminal", stderr)


class Interrupts(CliTest):
    def interrupt(self, signal_number, arguments, nameless=0):
        """Sends the signal while a job waits for more input; if so many outputs are to have no name, not while one is given
        a name for a moment, to try whether that can be done."""
        process = subprocess.Popen(
            [WARPMER, *map(str, arguments)], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        process.stdin.write(READS.read_bytes())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (opened := self.unfinished_bytes(process)):
            time.sleep(0.02)
        self.assertTrue(opened, self.files())  # asked once: the file that is only to try that is gone a moment later
        while time.monotonic() < deadline and nameless and (len(self.unfinished_bytes(process)) < nameless or self.files()):
            time.sleep(0.02)
        process.send_signal(signal_number)
        # TSan holds a signal back until its thread next calls a function that TSan intercepts. A thread that computes and
        # waits on atomics may end before it does, and the signal is lost.
        deadline = time.monotonic() + 60
        while UNDER_TSAN and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
            process.send_signal(signal_number)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal_number, error)

    def test_nothing_is_left(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
                              signal.SIGXCPU, signal.SIGALRM, signal.SIGVTALRM):
            with self.subTest(signal_number):
                self.interrupt(signal_number, ["count", "-k", "15", "-o", "out.wmi", "--stats", "s.json", "-"])
                self.assertEqual(self.files(), [])

    def test_the_first_process_of_a_container(self):
        """No signal ends it by itself."""
        container = ["unshare", "--pid", "--fork", "--kill-child"]
        if UNDER_TSAN or not shutil.which("unshare") or subprocess.run([*container, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no namespace of processes here")
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [*container, WARPMER, "count", "-k", "15", "-o", "out.wmi", "-"], cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE
            )
            process.stdin.write(READS.read_bytes())
            process.stdin.flush()
            deadline = time.monotonic() + 60
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            while time.monotonic() < deadline and not (first := children.read_text().split()):
                time.sleep(0.02)
            while time.monotonic() < deadline and not self.unfinished_bytes(types.SimpleNamespace(pid=first[0])):
                time.sleep(0.02)
            os.kill(int(first[0]), signal_number)
            try:
                self.assertEqual(process.wait(timeout=60), 128 + signal_number)
            finally:
                process.kill()
                process.communicate()
            self.assertEqual(self.files(), [])

    def test_killed(self):
        """Nothing is left where files need no name."""
        if not has_files_without_names(self.folder):
            self.skipTest("this file system has no files without names")
        self.interrupt(signal.SIGKILL, ["count", "-k", "15", "-o", "out.wmi", "--stats", "s.json", "-"], nameless=2)
        self.assertEqual(self.files(), [])

    def test_while_it_writes(self):
        genome = os.urandom(LARGE_BASES).translate(bytes(b"ACGT"[i % 4] for i in range(256)))
        (self.folder / "genome.fa").write_bytes(b">g\n" + genome + b"\n")
        for _ in range(5):  # now and then the whole file is there before the signal is
            process = subprocess.Popen([WARPMER, "count", "-t", "1", "-o", "out.wmi", "genome.fa"], cwd=self.folder)
            while process.poll() is None and not any(self.unfinished_bytes(process)):
                time.sleep(0.001)
            start = time.monotonic()
            process.send_signal(signal.SIGTERM)
            status = process.wait(timeout=60)
            if status != 0:
                break
            (self.folder / "out.wmi").unlink()
        self.assertEqual(status, -signal.SIGTERM)
        self.assertLess(time.monotonic() - start, 2 if FULL else 20)
        self.assertEqual(self.files(), ["genome.fa"])

    def test_query_too(self):
        index = self.count(READS, k=15)
        self.interrupt(signal.SIGINT, ["query", index, "--reads", "-", "-o", "out.tsv"])
        self.assertEqual(self.files(), [index])

    def test_an_ignored_signal_stays_ignored(self):
        script = f"trap '' HUP; (cat '{READS}'; sleep 1) | '{WARPMER}' count -k 15 -o out.wmi - & sleep 0.5; kill -HUP 0; wait %1"
        process = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, capture_output=True, check=False, start_new_session=True
        )
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.files(), ["out.wmi"])


if __name__ == "__main__":
    main()
