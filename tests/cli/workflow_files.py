#!/usr/bin/env python3
"""The files in workflows/: they are complete and well-formed, and their commands do on a sample what warpmer does.

Neither Nextflow nor Snakemake is needed: the script of a module is filled in as Nextflow would, and wrappers find a `snakemake` that has no more than
they use. Both run in bash with its strictest options, as there.

ctest: one thread (the commands are those of other tests)
"""

import gzip
import inspect
import os
import pathlib
import re
import runpy
import shlex
import subprocess
import sys
import types
import unittest

from common_cli import DATA, SOURCE, WARPMER, CliTest, main

try:
    import yaml
except ImportError:
    yaml = None

FILES = SOURCE / "workflows"
READS = ("reads_1.fq.gz", "reads 2.fq.gz")
NAMES = ("count", "histo", "query")
LOG = "log of it"
OUTPUTS = {"count": "x.wmi", "histo": "x.hist", "query": "x.tsv.gz"}


def bash(folder, command):
    path = f"{pathlib.Path(WARPMER).parent}:{os.environ['PATH']}"
    process = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, capture_output=True, check=False, env={**os.environ, "PATH": path})
    assert process.returncode == 0, (command, process.stderr)
    return process.stdout.decode()


class WorkflowTest(CliTest):
    def setUp(self):
        super().setUp()
        for name, source in zip(READS, ("reads_1.fq.gz", "reads_2.fq.gz")):
            self.file(name, (DATA / source).read_bytes())
        self.warpmer("count", "-q", "-k", 21, "--min-count", 2, *READS, "-o", "wanted.wmi")
        self.warpmer("histo", "--format", "genomescope", "wanted.wmi", "-o", "wanted.hist")
        self.warpmer("query", "-q", "wanted.wmi", "--reads", *READS, "-o", "wanted.tsv.gz")

    def check(self, name):
        """Of an index what it holds, without the command line that made it."""
        output, wanted = (self.folder / path for path in (OUTPUTS[name], f"wanted{OUTPUTS[name][1:]}"))
        if name == "count":
            self.assertEqual(*(self.warpmer("dump", "--sort", path) for path in (output, wanted)))
        elif name == "query":
            self.assertEqual(*(gzip.decompress(path.read_bytes()) for path in (output, wanted)))
        else:
            self.assertEqual(output.read_bytes(), wanted.read_bytes())
        self.assertFalse([path for path in self.files() if path.startswith((".", "tmp"))])


class NextflowModules(WorkflowTest):
    ARGUMENTS = {"count": "-k 21 --min-count 2", "histo": "--format genomescope", "query": ""}

    def block(self, name, section):
        text = (FILES / "nf-core" / "warpmer" / name / "main.nf").read_text()
        self.assertTrue(text.startswith(f"process WARPMER_{name.upper()} {{\n"))
        self.assertEqual(text.count("{"), text.count("}"))
        return re.search(rf'\n    {section}:\n.*?"""\n(.*?)\n    """', text, re.DOTALL)[1]

    def filled(self, name, section, memory):
        """Nextflow gives a task its inputs under their own names, and quotes what needs it."""
        values = {"args": self.ARGUMENTS[name], "prefix": "x", "task.cpus": "2", "memory": memory, "reads": " ".join(map(shlex.quote, READS)), "index": "wanted.wmi"}
        script = re.sub(r"\$\{?([a-z.]+)\}?", lambda match: values[match[1]], self.block(name, section))
        return script.replace("\\\\", "\\")

    def test_scripts(self):
        for name in NAMES:
            for memory in ("", "--memory 500M"):
                bash(self.folder, self.filled(name, "script", memory))
                self.check(name)

    def test_stubs(self):
        for name in NAMES:
            (self.folder / OUTPUTS[name]).unlink(missing_ok=True)
            bash(self.folder, self.filled(name, "stub", ""))
            self.assertTrue((self.folder / OUTPUTS[name]).exists())

    def test_version(self):
        for name in NAMES:
            text = (FILES / "nf-core" / "warpmer" / name / "main.nf").read_text()
            printed = bash(self.folder, re.search(r'eval\("(.*?)"\)', text)[1]).strip()
            self.assertRegex(printed, r"\A\d+\.\d+\.\d+\Z")
            for path in ("nf-core/warpmer/{}/environment.yml", "nf-core/warpmer/{}/main.nf", "snakemake/warpmer/{}/environment.yaml"):
                self.assertIn(printed, (FILES / path.format(name)).read_text())

    @unittest.skipUnless(yaml, "no module yaml")
    def test_descriptions(self):
        """What goes in and out is described under the names that the module has."""
        for name in NAMES:
            folder = FILES / "nf-core" / "warpmer" / name
            text = (folder / "main.nf").read_text()
            meta = yaml.safe_load((folder / "meta.yml").read_text())
            self.assertEqual(meta["name"], f"warpmer_{name}")
            inputs = text[text.index("    input:") : text.index("    output:")]
            self.assertEqual([next(iter(element)) for channel in meta["input"] for element in channel], re.findall(r"\((\w+)\)", inputs))
            outputs = text[text.index("    output:") : text.index("    when:")]
            self.assertEqual(list(meta["output"]), re.findall(r"emit: (\w+)", outputs))
            for channel in meta["output"].values():
                for element in channel[0]:
                    self.assertIn(next(iter(element)), outputs)
            environment = yaml.safe_load((folder / "environment.yml").read_text())
            self.assertEqual(environment["channels"], ["conda-forge", "bioconda"])
            self.assertIn(f'process "WARPMER_{name.upper()}"', (folder / "tests" / "main.nf.test").read_text())


class Words(list):
    """Files or parameters of a rule, as Snakemake formats them: with names, and quoted by `:q`."""

    def __init__(self, *words, **named):
        super().__init__(words)
        self.named = named
        for name, value in named.items():
            self.extend([value] if isinstance(value, str) else value)
            setattr(self, name, value)

    def get(self, name):
        return self.named.get(name)

    def items(self):
        return self.named.items()

    def __format__(self, form):
        return " ".join(shlex.quote(word) if form == "q" else word for word in self)


class Word(str):
    def __format__(self, form):
        return shlex.quote(self) if form == "q" else str(self)


def as_formatted(value):
    return Word(value) if isinstance(value, str) else Words(*value) if type(value) is list else value


class SnakemakeWrappers(WorkflowTest):
    RULES = {
        "count": (Words(*READS), {"k": 21, "extra": "--min-count 2"}, {"mem_mb": 500}),
        "histo": (Words("wanted.wmi"), {"extra": "--format genomescope"}, {}),
        "query": (Words(index=Word("wanted.wmi"), reads=Words(*READS)), {}, {}),
    }

    def run_wrapper(self, name, resources, inputs=None):
        """`shell` fills in the caller's variables."""

        def shell(command):
            caller = inspect.currentframe().f_back.f_globals
            bash(self.folder, command.format(**{key: as_formatted(value) for key, value in caller.items()}))

        files, params, _ = self.RULES[name]
        snakemake = types.SimpleNamespace(input=inputs or files, output=[Word(OUTPUTS[name])], params=params, threads=2, resources=resources, log=[LOG])
        modules = {"snakemake": types.ModuleType("snakemake"), "snakemake.shell": types.ModuleType("snakemake.shell")}
        modules["snakemake.shell"].shell = shell
        sys.modules.update(modules)
        try:
            runpy.run_path(str(FILES / "snakemake" / "warpmer" / name / "wrapper.py"), {"snakemake": snakemake})
        finally:
            for module in modules:
                del sys.modules[module]

    def test_wrappers(self):
        for name in NAMES:
            for resources in ({}, self.RULES[name][2]):
                self.run_wrapper(name, resources)
                self.check(name)
                self.assertIn(LOG, self.files())
                self.assertNotIn("log", self.files())

    def test_inputs_that_are_no_reads(self):
        reference = Word("reference.fa")
        self.file(reference, ">1\n" + "ACGTTGCAAC" * 10 + "\n")
        several = "several.fq.gz"
        self.file(several, b"".join((self.folder / path).read_bytes() for path in READS))
        for inputs in (Words(*READS, ref=reference), Words(ref=reference, reads=Words(*READS)), Words(several, ref=Words(reference)), Words(reads=Word(several), ref=reference)):
            self.run_wrapper("count", {}, inputs)
            self.check("count")

    @unittest.skipUnless(yaml, "no module yaml")
    def test_descriptions(self):
        for name in NAMES:
            folder = FILES / "snakemake" / "warpmer" / name
            meta = yaml.safe_load((folder / "meta.yaml").read_text())
            self.assertEqual(meta["name"], f"warpmer {name}")
            self.assertTrue(meta["description"] and meta["authors"] and meta["input"] and meta["output"])
            used = set(re.findall(r'params\.get\("(\w+)"', (folder / "wrapper.py").read_text()))
            self.assertEqual({key for param in meta["params"] for key in param}, used)
            self.assertEqual(yaml.safe_load((folder / "environment.yaml").read_text())["channels"], ["conda-forge", "bioconda", "nodefaults"])
            self.assertIn(f'"master/bio/warpmer/{name}"', (folder / "test" / "Snakefile").read_text())


if __name__ == "__main__":
    main()
