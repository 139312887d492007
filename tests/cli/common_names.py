"""What the tests of other programs' names share: a command line is run by the original and by warpmer."""

import os
import shutil
import subprocess

from common_cli import WARPMER, CliTest

THEIRS, OURS = "theirs", "ours"


def originals(*programs):
    """Whether all are there; ours are never on the path of a test."""
    return all(map(shutil.which, programs))


class NamesTest(CliTest):
    """`{}` in a command line stands for the names of the outputs, which are those of two runs."""

    @staticmethod
    def run_in(folder, *command, environment=None):
        return subprocess.run([str(word) for word in command], cwd=folder, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})

    def run_named(self, *words, original=False, environment=None):
        command = words if original else (WARPMER, *words)
        return self.run_in(self.folder, *command, environment=environment)

    def run_both(self, *words, status=0):
        """What both printed on standard output. Both must end with `status`, and ours say nothing but warnings."""
        printed = []
        for name, is_original in ((THEIRS, True), (OURS, False)):
            process = self.run_named(*(str(word).replace("{}", name) for word in words), original=is_original)
            self.assertEqual(process.returncode, status, (words, name, process.stderr))
            printed.append(process.stdout.decode())
        if status == 0:
            self.assertRegex(process.stderr, rb"\A(warpmer: warning: [^\n]+\n)*\Z", words)
        return printed

    def both_texts(self, suffix=""):
        """The outputs of both, their lines sorted: threads write in any order."""
        return [sorted((self.folder / (name + suffix)).read_text().splitlines()) for name in (THEIRS, OURS)]

    def assert_alike(self, ours, theirs, *about):
        """Of long lists, a few differences are enough, and all take difflib hours."""
        if ours != theirs:
            alone = lambda some, others: [line for line in some if line not in others][:3]
            other = alone(ours, set(theirs)), alone(theirs, set(ours))
            self.fail(f"{about}: {len(ours)} and {len(theirs)} lines, ours and theirs alone {other}")

    def run_shell(self, script, *arguments):
        return self.run_in(self.folder, "sh", "-c", script, "sh", *arguments)

    def refused_named(self, pattern, *words, status=2):
        """It must end with `status` and one line on stderr that matches, and leave nothing."""
        self.refused(status, pattern, *words)
