#!/usr/bin/env python3
"""The README and the tour: every command that they show works, and prints what they show.

ctest: release only (each command that they show is run by its own script)
"""

import os
import pathlib
import subprocess

from common_cli import DATA, SOURCE, WARPMER, CliTest, main
from documentation import COMMANDS

MOST_README_WORDS = 1200
NOT_SHOWN = {"union", "symmetric-difference", "devices", "help", "completion", "names"}
NOT_SHOWN |= {"serve", "add", "remove", "save"}  # docs/serve.md has them


def examples(page):
    """(command, output as shown) of each '$' in the indented blocks of a page, in order."""
    found, output = [], None
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if not line.startswith("    "):
            output = None  # what is indented further down belongs to no command
        elif line.startswith("    $ "):
            command, output = line[6:], []
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            found.append((command, output))
        elif output is not None:
            output.append(line[4:])
    return found


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
        self.assertEqual(set(COMMANDS) - shown, NOT_SHOWN)


if __name__ == "__main__":
    main()
