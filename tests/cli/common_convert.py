"""What the tests of `warpmer convert` share."""

import random
import subprocess

from common_cli import DATA, CliTest, canonical, fasta, read_sequences

READS = DATA / "reads_1.fq.gz"
LENGTHS = (21, 32, 33, 55)


def tsv(counts):
    return "".join(f"{kmer}\t{count}\n" for kmer, count in counts.items())


def random_counts(k, number, largest, forward=False, seed=1):
    """K-mers with counts up to `largest`, which is among them."""
    chance = random.Random(seed)
    kmers = {"".join(chance.choices("ACGT", k=k)) for _ in range(number)}
    counts = {kmer if forward else canonical(kmer): chance.choice((1, 2, 200, largest)) for kmer in sorted(kmers)}
    counts[min(counts)] = largest
    return counts


class ConvertTest(CliTest):
    def reads(self, name, first, last):
        """A FASTA file with some of the reads: enough for every kind of entry, and soon done with."""
        return self.file(name, fasta(read_sequences(READS)[first:last]))

    def run_tool(self, *command):
        process = subprocess.run([str(word) for word in command], cwd=self.folder, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(process.returncode, 0, (command, process.stdout))
        return process.stdout.decode()

    def convert(self, source, output, *options, **more):
        self.warpmer("convert", *options, "-o", output, source, **more)
        return output

    def index_of(self, counts, *options, output="made.wmi"):
        """An index of these k-mers and counts."""
        return self.convert("-", output, *options, stdin=tsv(counts))

    def entries(self, index):
        """What depends on the k-mers and counts alone, and the parameters."""
        info = self.info(index)
        totals = info["totals"]
        return info["params"], totals["stored_distinct"], totals["stored_kmers"], self.warpmer("dump", index)

    def lines(self, name, separator="\t"):
        rows = (line.split(separator) for line in (self.folder / name).read_text().splitlines())
        return {kmer: int(count) for kmer, count in rows}
