#!/usr/bin/env python3
"""Help, manual pages and shell completion: there for every command, and the files in step with the program.

ctest: one thread
"""

import shutil
import subprocess

from common_cli import SOURCE, CliTest, main

COMMANDS = (
    "count", "plan", "update", "union", "intersect", "subtract", "symmetric-difference", "merge", "compare", "matrix", "histo",
    "dump", "convert", "query", "qv", "filter", "positions", "locate", "stats", "info", "devices", "help", "completion",
)
REFRESH = "refresh it with cli/completions/refresh.sh"


class Documentation(CliTest):
    def test_help(self):
        whole = self.warpmer("--help")
        self.assertEqual(self.warpmer("help"), whole)
        self.assertEqual(self.warpmer("-h"), whole)
        for command in COMMANDS:
            self.assertRegex(whole, f"\n  {command}[ \n]")
            text = self.warpmer(command, "--help")
            self.assertEqual(self.warpmer("help", command), text)
            self.assertTrue(text.startswith(f"Usage: warpmer {command} "))
            self.assertIn("\nExamples:\n  ", text)

    def test_version(self):
        self.assertRegex(self.warpmer("--version"), r"\Awarpmer \d+\.\d+\.\d+\n\Z")

    def test_manual_pages_are_current(self):
        for command in ("", *COMMANDS):
            page = "warpmer" + ("-" + command if command else "") + ".1"
            text = self.warpmer("help", "--man", *([command] if command else []))
            self.assertEqual((SOURCE / "docs" / "man" / page).read_text(), text, f"{page}: {REFRESH}")

    def test_manual_pages_are_sound(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        pages = sorted(map(str, (SOURCE / "docs" / "man").glob("*.1")))
        process = subprocess.run(["groff", "-man", "-ww", "-z", *pages], capture_output=True, check=False)
        self.assertEqual((process.returncode, process.stderr), (0, b""))

    def test_completion_files_are_current(self):
        folder = SOURCE / "cli" / "completions"
        self.assertEqual((folder / "warpmer.bash").read_text(), self.warpmer("completion", "bash"), REFRESH)
        self.assertEqual((folder / "_warpmer").read_text(), self.warpmer("completion", "zsh"), REFRESH)
        self.assertEqual((folder / "warpmer.fish").read_text(), self.warpmer("completion", "fish"), REFRESH)

    def complete(self, *words):
        """What bash offers for the last word."""
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warpmer; printf "%s\\n" "${COMPREPLY[@]}"'
        process = subprocess.run(
            ["bash", "-c", script, "bash", SOURCE / "cli" / "completions" / "warpmer.bash", "warpmer", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(process.stderr, "")
        return process.stdout.split()

    def test_bash_completion(self):
        self.file("reads.fq", "")
        self.assertEqual(self.complete("hi"), ["histo"])
        self.assertEqual(self.complete("dump", "--form"), ["--format"])
        self.assertEqual(sorted(self.complete("dump", "--format", "")), ["fasta", "tsv"])
        self.assertEqual(self.complete("count", "re"), ["reads.fq"])
        self.assertEqual(self.complete("count", "@re"), ["@reads.fq"])
        self.assertEqual(self.complete("count", "-o", "re"), ["reads.fq"])
        self.assertEqual(self.complete("count", "-k", ""), [])
        self.assertEqual(self.complete("help", "co"), ["count", "compare", "convert", "completion"])
        self.assertEqual(self.complete("intersect", "--counts", "m"), ["min", "max"])

    def test_zsh_completion_parses(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        subprocess.run(["zsh", "-n", SOURCE / "cli" / "completions" / "_warpmer"], check=True)


    def test_fish_completion_parses(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        subprocess.run(["fish", "--no-execute", SOURCE / "cli" / "completions" / "warpmer.fish"], check=True)


if __name__ == "__main__":
    main()
