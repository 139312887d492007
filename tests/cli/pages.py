#!/usr/bin/env python3
"""The README and the tour: every command that they show works, and prints what they show.

ctest: release only (each command that they show is run by its own script)
"""

import os
import pathlib
import random
import re
import subprocess

from common_cli import DATA, SOURCE, WARPMER, CliTest, canonical, fasta, kmers_of, main, naive_count, random_bases
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

    def piped(self, *arguments, through):
        """What comes of a command's output by a command of shell."""
        output = self.warpmer(*arguments)
        return subprocess.run(["bash", "-c", through], input=output, capture_output=True, text=True, check=True).stdout

    def test_meryl_by_awk(self):
        """What no command does: a share of the distinct k-mers as a threshold, and a line of BED for each k-mer."""
        page = (SOURCE / "docs" / "from-other-counters.md").read_text()
        share = re.search(r"(?m)^ {4}warpmer histo x.wmi \| (awk .*)$", page)[1]
        places = re.search(r"`(awk -v k=21 [^`]*)`", page)[1]
        chance = random.Random(7)
        repeat = random_bases(chance, 100)
        sequences = [random_bases(chance, 400) + repeat * 3, repeat * 2 + "N" + random_bases(chance, 50), repeat[:60] * 20]
        other = random_bases(chance, 200)
        records = [("a", sequences[0]), ("b", other), ("c", other[:90] + sequences[1] + "NN" + sequences[2][:80]), ("d", "ACGT")]
        self.file("x.fa", fasta((str(i), sequence) for i, sequence in enumerate(sequences)))
        self.file("asm.fa", fasta(records))
        self.count("x.fa", k=21, output="x.wmi")
        counts = naive_count(sequences, 21)
        for fraction in (0.1, 0.5, 0.75, 0.9, 0.999, 0.9998, 1):
            allowed = int(fraction * len(counts))
            first = min(count for count in counts.values() if sum(own <= count for own in counts.values()) >= allowed)
            threshold = self.piped("histo", "x.wmi", through=share.replace("f=0.9998", f"f={fraction}"))
            self.assertEqual(int(threshold), first + 1, fraction)
        expected = "".join(f"{name}\t{at}\t{at + 21}\n" for name, sequence in records
                           for at, kmer in enumerate(kmers_of(sequence, 21)) if kmer and canonical(kmer) in counts)
        self.assertGreater(expected.count("\n"), 500)
        self.assertEqual(self.piped("query", "x.wmi", "--reads", "asm.fa", "--format", "bedgraph", through=places), expected)


if __name__ == "__main__":
    main()
