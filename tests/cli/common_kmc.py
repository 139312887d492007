"""What the tests of `warpmer kmc_tools` share: databases that KMC has made."""

import gzip
import pathlib
import tempfile
import unittest

from common_cli import DATA
from common_names import NamesTest, originals

READS = (DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz")
HAS_KMC = originals("kmc", "kmc_tools", "kmc_dump")


class KmcToolsTest(NamesTest):
    """Some databases, that KMC has made, are there for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="warpmer-kmc.")
        cls.addClassCleanup(cls.shared.cleanup)
        folder = pathlib.Path(cls.shared.name)
        text = gzip.decompress(READS[1].read_bytes()).decode()
        lines = text.splitlines()
        (folder / "reads.fq").write_text(text)
        (folder / "reads.fa").write_text("".join(f">{lines[i][1:]}\n{lines[i + 1]}\n" for i in range(0, len(lines), 4)))
        (folder / "list").write_text(f"{READS[0]}\n{READS[1]}\n")
        cls.named = {name: str(folder / name) for name in ("a", "b", "small", "forward", "list")}
        cls.named |= {"fq": str(folder / "reads.fq"), "fa": str(folder / "reads.fa"), "gz": str(READS[1])}
        for name, options, reads in (("a", "-k31 -ci1", READS[0]), ("b", "-k31 -ci1 -cs1000", READS[1]),
                                     ("small", "-k9 -ci1 -cs1000", READS[0]), ("forward", "-k10 -b", READS[0])):
            command = ("kmc", "-hp", *options.split(), reads, cls.named[name], folder)
            process = cls.run_in(folder, *command)
            if process.returncode != 0:
                raise unittest.SkipTest(f"kmc ended with {process.returncode}: {process.stderr}")

    def words(self, line):
        """`{a}` and the like are databases; `{}` stays."""
        for name, path in self.named.items():
            line = line.replace("{" + name + "}", path)
        return line.split()

    def tools(self, line, **more):
        return self.run_both("kmc_tools", "-hp", *self.words(line), **more)

    def dumped(self, name):
        """-ci1: of a compact database the original writes a least count that is above all its counts, and hides them."""
        process = self.run_named("kmc_tools", "-t1", "-hp", "transform", name, "-ci1", "dump", "dump.txt", original=True)
        self.assertEqual(process.returncode, 0, process.stderr)
        return sorted((self.folder / "dump.txt").read_text().splitlines())

    def header(self, name):
        """What the header says of counts; where prefixes end is not the same."""
        process = self.run_named("kmc_tools", "info", name, original=True)
        return [line for line in process.stdout.decode().splitlines() if "lut_prefix" not in line]
