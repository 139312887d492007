"""What the tests of `warpmer watch` share: a job that watches a folder, and the lines that it prints."""

import signal
import subprocess
import time

from common_cli import WARPMER, CliTest
from common_tier import by_tier

COLUMNS = "seconds files reads bases kmers distinct coverage genome_size new matched".split()
PATIENCE_SECONDS = by_tier(60, 180)


class Watcher:
    """A job that watches a folder. What it prints goes to files, so that it can be looked at while it runs."""

    def __init__(self, test, name, arguments):
        self.test = test
        self.lines_file, self.messages_file = (test.folder / f"{name}.{end}" for end in ("lines", "messages"))
        with open(self.lines_file, "wb") as lines, open(self.messages_file, "wb") as messages:
            self.process = subprocess.Popen([WARPMER, "watch", *map(str, arguments)], cwd=test.folder, stdout=lines, stderr=messages)
        test.addCleanup(self.kill)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def messages(self):
        return self.messages_file.read_text()

    def rows(self):
        """The lines so far, each as a dict of texts."""
        lines = [line for line in self.lines_file.read_text().splitlines(keepends=True) if line.endswith("\n")]
        if lines:
            self.test.assertEqual(lines[0].split(), COLUMNS)
        return [dict(zip(COLUMNS, line.rstrip("\n").split("\t"))) for line in lines[1:]]

    def wait_until(self, holds, what):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            if self.process.poll() is not None and not holds():
                self.test.fail(f"it ended before {what}: {self.messages()}")
            if time.monotonic() > deadline:
                self.test.fail(f"waited in vain for {what}: {self.lines_file.read_text()}{self.messages()}")
            time.sleep(0.02)

    def wait_for_reads(self, number):
        """Waits until so many reads are counted, and a line has told so; returns it."""

        def told():
            return next((row for row in self.rows() if int(row["reads"]) >= number), None)

        self.wait_until(told, f"{number} reads")
        return told()

    def wait_for_message(self, text):
        self.wait_until(lambda: text in self.messages(), f"'{text}'")

    def end(self, with_signal=signal.SIGTERM, status=0):
        """Ends it, or waits until it has ended by itself (no signal); returns its lines and its messages."""
        if with_signal:
            self.process.send_signal(with_signal)
        self.test.assertEqual(self.process.wait(timeout=PATIENCE_SECONDS), status, self.messages())
        return self.rows(), self.messages()


class WatchTest(CliTest):
    def start(self, *options, k=21, folder="run", name="x", output=None):
        """A job with lines every second, which writes NAME.wmi, or another output."""
        every_second = ("-o", output or f"{name}.wmi", "--every", 1, "--settle", 1)
        return Watcher(self, name, (folder, "-k", k, *every_second, *options))


def fastq(reads, first=0):
    return "".join(f"@r{first + i}\n{read}\n+\n{'I' * len(read)}\n" for i, read in enumerate(reads))
