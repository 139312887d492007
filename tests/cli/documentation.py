#!/usr/bin/env python3
"""Help, manual pages and shell completion: there for every command, with all its options, and what the build wrote is
what the program prints.

ctest: release only (a build with sanitizers runs them all when it writes manual pages and completions)
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess

from common_cli import SOURCE, CliTest, main

BUILD = pathlib.Path(os.environ.get("WARPMER_BUILD", SOURCE / "build" / "cpu")).resolve()
PAGES, COMPLETIONS = BUILD / "man", BUILD / "completions"
COMMANDS = (
    "count", "plan", "update", "union", "intersect", "subtract", "symmetric-difference", "merge", "compare", "matrix", "histo",
    "dump", "convert", "query", "qv", "merqury", "hetmers", "filter", "positions", "locate", "serve", "add", "remove", "save", "stats", "report", "info", "watch", "devices", "names",
    "help", "completion",
)
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"]  # of every page


def page_of(command):
    return "warpmer" + ("-" + command if command else "") + ".1"


def entries_of(text, title):
    """(heading, text) of each entry in a section of a help: `-o, --output FILE` and what it says."""
    section = re.search(rf"^{title}:\n((?:  .*\n)+)", text, re.MULTILINE)
    entries = []
    for line in section[1].splitlines() if section else []:
        heading, _, rest = line.strip().partition("  ") if line[2] != " " else ("", "", line)
        if heading:
            entries.append([heading, rest.split()])
        else:
            entries[-1][1] += rest.split()
    return [(heading, " ".join(words)) for heading, words in entries]


def names_of(heading):
    """`-o` and `--output` of `-o, --output FILE`."""
    return re.findall(r"(?:^|, )(--?\w[\w-]*)", heading)


def as_read(page):
    """A page without its markup."""
    return re.sub(r"\\f[BIR]|\\&", "", page).replace("\\-", "-").replace("\\e", "\\")


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
        self.assertEqual(sorted(path.name for path in PAGES.iterdir()), sorted(map(page_of, ("", *COMMANDS))))
        for command in ("", *COMMANDS):
            text = self.warpmer("help", "--man", *([command] if command else []))
            self.assertEqual((PAGES / page_of(command)).read_text(), text, command)

    def test_manual_pages_have_all_that_the_help_has(self):
        for command in ("", *COMMANDS):
            with self.subTest(command):
                page = as_read((PAGES / page_of(command)).read_text())
                text = self.warpmer("help", *([command] if command else []))
                sections = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)
                self.assertEqual([title for title in sections if title in SECTIONS], SECTIONS)
                self.assertTrue(page.startswith(f".TH {page_of(command)[:-2].upper()} 1 "))
                self.assertIn(f".SH SYNOPSIS\n{text.partition(chr(10))[0].removeprefix('Usage: ')}\n", page)
                options = entries_of(text, "Options")
                self.assertIn("--help", names_of(options[0][0]))
                for heading, said in options + entries_of(text, "Arguments"):
                    self.assertIn(f"\n.TP\n{heading}\n{said}\n", page)
                for title, lines in re.findall(r"^(?!Commands|Arguments|Options)([A-Z][a-z ]+):\n((?:  .*\n)+)", text, re.MULTILINE):
                    self.assertIn(f"\n.SH {title.upper()}\n.nf\n{lines}.fi\n", page)
                for name, said in entries_of(text, "Commands"):
                    self.assertIn(f"\n.TP\nwarpmer-{name}(1)\n{said}\n", page)

    def test_manual_pages_are_sound(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        pages = sorted(map(str, PAGES.iterdir()))
        process = subprocess.run(["groff", "-man", "-ww", "-z", *pages], capture_output=True, check=False)
        self.assertEqual((process.returncode, process.stderr), (0, b""))

    def test_completion_files_are_current(self):
        for shell, name in (("bash", "warpmer.bash"), ("zsh", "_warpmer"), ("fish", "warpmer.fish")):
            self.assertEqual((COMPLETIONS / name).read_text(), self.warpmer("completion", shell), shell)

    def test_completions_have_every_option(self):
        zsh, fish = (COMPLETIONS / "_warpmer").read_text(), (COMPLETIONS / "warpmer.fish").read_text()
        self.assertEqual(sorted(self.complete("")), sorted((*COMMANDS, "--help", "--version")))
        self.assertIn("'*--output=[", zsh)
        self.assertIn(":FILE:{ compset -P @; _files }", zsh)
        self.assertIn("-a '@(", fish)
        for command in COMMANDS:
            with self.subTest(command):
                headings = [heading for heading, _ in entries_of(self.warpmer("help", command), "Options")]
                names = sorted(name for heading in headings for name in names_of(heading))
                self.assertEqual(sorted(self.complete(command, "-")), names)
                of_zsh = re.search(rf"^ +{command}\)\n((?: +(?:_arguments|').*\n)+)", zsh, re.MULTILINE)[1]
                self.assertEqual(sorted(re.findall(r"'\*(-[^\[=]+)=?\[", of_zsh)), names)
                of_fish = re.findall(rf"^complete -c warpmer -n '__fish_seen_subcommand_from {command}'((?: -[ls] [\w-]+)+)", fish, re.MULTILINE)
                self.assertEqual(
                    sorted(("--" if kind == "l" else "-") + name for line in of_fish for kind, name in re.findall(r" -([ls]) ([\w-]+)", line)),
                    names)

    def complete(self, *words):
        """What bash offers for the last word."""
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warpmer "$1" "${@: -1}"; printf "%s\\n" "${COMPREPLY[@]}"'
        process = subprocess.run(
            ["bash", "-c", script, "bash", COMPLETIONS / "warpmer.bash", "warpmer", *words],
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
        self.assertEqual(sorted(self.complete("dump", "--format", "")), ["arrow", "fasta", "npz", "parquet", "tsv"])
        self.assertEqual(self.complete("count", "re"), ["reads.fq"])
        self.assertEqual(self.complete("count", "-o", "re"), ["reads.fq"])
        self.assertEqual(self.complete("count", "-k", ""), [])
        self.assertEqual(self.complete("help", "co"), ["count", "compare", "convert", "completion"])
        self.assertEqual(self.complete("intersect", "--counts", "m"), ["min", "max"])

    def typed(self, *lines):
        """What stands in a terminal's line of bash after it has been typed, and the tabulator key."""
        self.file("rc", f"""
            source '{COMPLETIONS}/warpmer.bash'
            bind -x '"\\C-g": printf "<%s>" "$READLINE_LINE"'
            PS1=ready
        """)
        command = ["bash", "--noprofile", "--rcfile", "rc", "-i"]
        terminal, other = pty.openpty()
        with subprocess.Popen(command, cwd=self.folder, stdin=other, stdout=other, stderr=other, start_new_session=True,
                              env=dict(os.environ, TERM="dumb", INPUTRC="/dev/null")) as process:
            os.close(other)
            try:
                self.shown_until(terminal, r"ready")
                found = []
                for line in lines:
                    os.write(terminal, f"{line}\t\x07".encode())  # Ctrl-G shows the line, Ctrl-U clears it
                    found.append(self.shown_until(terminal, r"<(.*)>")[1])
                    os.write(terminal, b"\x15")
                return found
            finally:
                process.kill()
                os.close(terminal)

    @staticmethod
    def shown_until(terminal, pattern):
        shown = ""
        while not (match := re.search(pattern, shown)):
            if not select.select([terminal], [], [], 30)[0]:
                raise AssertionError(f"no {pattern} in {shown!r}")
            shown += os.read(terminal, 4096).decode()
        return match

    def test_bash_completion_in_a_terminal(self):
        for name in ("plain.fq", "reads one.fq", "star*.fq"):
            self.file(name, "")
        (self.folder / "sub dir").mkdir()
        expected = {
            "warpmer hi": "warpmer histo ",
            "warpmer count pl": "warpmer count plain.fq ",
            "warpmer count @pl": r"warpmer count \@plain.fq",
            r"warpmer count \@pl": r"warpmer count \@plain.fq",
            'warpmer count "@pl': 'warpmer count "@plain.fq"',
            "warpmer count @rea": r"warpmer count \@reads\ one.fq",
            "warpmer count rea": r"warpmer count reads\ one.fq ",
            'warpmer count "rea': 'warpmer count "reads one.fq" ',
            r"warpmer count reads\ ": r"warpmer count reads\ one.fq ",
            "warpmer count -o rea": r"warpmer count -o reads\ one.fq ",
            "warpmer count sub": r"warpmer count sub\ dir/",
            "warpmer count star": r"warpmer count star\*.fq ",
            "warpmer count --tmp-dir sub": r"warpmer count --tmp-dir sub\ dir/",
            "warpmer serve --socket pl": "warpmer serve --socket plain.fq ",
            "warpmer merqury -o pl": "warpmer merqury -o plain.fq ",
            "warpmer count --to=kf": "warpmer count --to=kff ",
            "warpmer count --output=pl": "warpmer count --output=plain.fq ",
            "warpmer update --add @pl": r"warpmer update --add \@plain.fq",
            "warpmer count --output=": "warpmer count --output=",
        }
        self.assertEqual(dict(zip(expected, self.typed(*expected))), expected)

    def test_zsh_completion_parses(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        subprocess.run(["zsh", "-n", COMPLETIONS / "_warpmer"], check=True)

    def test_fish_completion_parses(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        subprocess.run(["fish", "--no-execute", COMPLETIONS / "warpmer.fish"], check=True)

    def test_fish_completion(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")

        def complete(line):
            script = f"source {COMPLETIONS / 'warpmer.fish'}; complete -C '{line}'"
            process = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.folder, capture_output=True, text=True,
                                     check=True, env=dict(os.environ, HOME=str(self.folder)))
            self.assertEqual(process.stderr, "")
            return [offer.split("\t")[0] for offer in process.stdout.splitlines()]

        self.file("reads.fq", "")
        self.assertEqual(complete("warpmer hi"), ["histo"])
        self.assertEqual(complete("warpmer dump --form"), ["--format"])
        self.assertEqual(complete("warpmer dump --format "), ["arrow", "fasta", "npz", "parquet", "tsv"])
        self.assertEqual(complete("warpmer count re"), ["reads.fq"])
        self.assertEqual(complete("warpmer count @re"), ["@reads.fq"])
        self.assertEqual(complete("warpmer count -k 31 -o re"), ["reads.fq"])
        self.assertEqual(complete("warpmer count -k "), [])
        self.assertEqual(complete("warpmer help co"), ["compare", "completion", "convert", "count"])
        self.assertEqual(complete("warpmer intersect --counts m"), ["max", "min"])


if __name__ == "__main__":
    main()
