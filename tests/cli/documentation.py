#!/usr/bin/env python3
"""Help, manual pages and shell completion: there for every command, and the files in step with the program. The
README and the tour: every command works, and prints what the page shows.

ctest: one thread
"""

import os
import pathlib
import shutil
import subprocess

from common_cli import DATA, SOURCE, WARPMER, CliTest, main

COMMANDS = (
    "count", "plan", "update", "union", "intersect", "subtract", "symmetric-difference", "merge", "compare", "matrix", "histo",
    "dump", "convert", "query", "qv", "filter", "positions", "locate", "stats", "info", "devices", "help", "completion",
)
MOST_README_WORDS = 1200
REFRESH = "refresh it with cli/completions/refresh.sh"


def examples(page):
    """(command, output as shown) of each '$' in the indented blocks of a page, in order."""
    found = []
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if line.startswith("    $ "):
            command = line[6:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            found.append((command, []))
        elif line.startswith("    ") and found and found[-1][1] is not None:
            found[-1][1].append(line[4:])
        elif found and not line.startswith("    "):
            found.append(("", None))  # what is indented from here on belongs to no command
    return [(command, output) for command, output in found if command]


class Pages(CliTest):
    def run_page(self, page):
        programs = pathlib.Path(self.folder) / "programs"
        programs.mkdir()
        (programs / "warpmer").symlink_to(pathlib.Path(WARPMER).resolve())
        (pathlib.Path(self.folder) / "data").symlink_to(DATA)
        environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")
        status = 0
        for command, shown in examples(page):
            process = subprocess.run(["bash", "-c", f"(exit {status}); {command}"], cwd=self.folder, env=environment,
                                     capture_output=True, text=True, check=False)
            status = process.returncode
            if status == 0:
                self.assertEqual(process.stdout.splitlines(), shown, command)
            else:  # an error is one line, which a page has no room for
                self.assertEqual((process.stdout + process.stderr).split(), " ".join(shown).split(), command)

    def test_readme(self):
        self.run_page(SOURCE / "README.md")

    def test_readme_is_short(self):
        self.assertLessEqual(len((SOURCE / "README.md").read_text().split()), MOST_README_WORDS)

    def test_tour(self):
        self.run_page(SOURCE / "docs" / "tour.md")

    def test_tour_has_every_command(self):
        shown = {command.split()[1] for command, _ in examples(SOURCE / "docs" / "tour.md") if command.startswith("warpmer ")}
        without = {"union", "symmetric-difference", "devices", "help", "completion"}
        self.assertEqual(set(COMMANDS) - shown, without)


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
