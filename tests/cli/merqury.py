#!/usr/bin/env python3
"""`merqury` against Merqury's definitions in plain Python, on a made-up diploid with known errors.

ctest: long
"""

import gzip
import os
import pathlib
import random
import unittest

from common_cli import DATA, INPUT, RESOURCE, USAGE, fasta, main, naive_count, random_bases
from common_merqury import MerquryTest, Oracle, depth_track, phase_files, plot_names, quality, size_files
from common_tier import FULL, by_tier, one_thread, some


class Merqury(MerquryTest):
    def test_diploid(self):
        for k, threads in some(((21, 1), (31, 3), (15, 2), (11, 2), (40, 2)), 2):
            reads, assemblies, hapmers = self.make(k)
            with self.subTest(k=k):
                options = ["--solid-count", 3, "-t", threads]
                self.warpmer("merqury", "reads.wmi", "mat.fasta", "pat.v2.fa", "--hapmers", "hapA.wmi", "hapB.wmi", "-o", "trio", *options)
                self.check(Oracle(reads, assemblies, hapmers, k, 3, "trio"), "trio")
                self.warpmer("merqury", "reads.wmi", "mat.fasta", "pat.v2.fa", "-o", "pair", *options)
                self.check(Oracle(reads, assemblies, {}, k, 3), "pair")

    def test_one_assembly(self):
        reads, assemblies, hapmers = self.make(21)
        (self.folder / "out").mkdir()
        before = set(self.files())
        one = {"mat": assemblies["mat"]}
        self.warpmer("merqury", "reads.wmi", "mat.fasta", "-o", "out/one", "--solid-count", 2)
        _, expected = self.check(Oracle(reads, one, {}, 21, 2), "out/one")
        expected.update(dict.fromkeys(f"out/one.{name}" for name in plot_names(one, [])))
        self.assertEqual({f"out/{path.name}" for path in (self.folder / "out").iterdir()}, set(expected))
        self.assertEqual(set(self.files()) - before, set(self.files()) & set(expected))
        self.warpmer("merqury", "reads.wmi", "mat.fasta", "-o", "one", "--solid-count", 2, "--hapmers", "hapA.wmi", "hapB.wmi")
        self.check(Oracle(reads, one, hapmers, 21, 2, "one"), "one")
        # In the order that --help shows: two are of --hapmers, and the rest are arguments.
        self.warpmer("merqury", "--solid-count", 2, "--hapmers", "hapA.wmi", "hapB.wmi", "reads.wmi", "mat.fasta", "-o", "two")
        self.check(Oracle(reads, one, hapmers, 21, 2, "two"), "two")

    def test_phase_blocks(self):
        for k in some((21, 31, 40), 1):
            reads, assemblies, hapmers = self.make_phased(k)
            run = ("merqury", "reads.wmi", "asm.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "--no-plots")
            all_limits = ((100, 20000), (10000, 20000), (10000, 3000), (2, 1), (1, 0), (7, 100), (300, 100000))
            for limits in by_tier(all_limits, all_limits[:4:2]):
                with self.subTest(k=k, limits=limits):
                    options = ("--num-switch", limits[0], "--short-range", limits[1]) if limits != (100, 20000) else ()
                    self.warpmer(*run, "-o", "x", *options)
                    self.check(Oracle(reads, assemblies, hapmers, k, 1, "x", limits), "x")
            # The block that crosses, and those that do not, where rows of the other haplotype are short by bases.
            blocks = [line.split("\t") for line in (self.folder / "x.asm.10000_3000.phased_block.bed").read_text().splitlines()]
            far = [(int(start), int(end), hap, int(switches)) for name, start, end, hap, _, switches, _ in blocks if name == "far"]
            self.assertEqual([hap for _, _, hap, _ in far], ["mat", "pat"])
            self.assertTrue(all(switches > 0 for *_, switches in far), far)
            self.assertLess(abs(far[0][1] - 20000) + abs(far[1][0] - 20000), 1500)

    def test_no_markers(self):
        self.make_phased(21)
        self.file("strange.fa", fasta([("x", random_bases(random.Random(5), 500))]))
        self.warpmer("merqury", "reads.wmi", "strange.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x")
        for ending, text in phase_files("x.strange.100_20000", [], ["pat", "mat"], 100, 20000).items():
            self.assertEqual((self.folder / f"x.strange.100_20000.{ending}").read_text(), text)

    def test_long_contig(self):
        """A contig that comes in several pieces."""
        source = random.Random(1)
        genome = random_bases(source, 3_000_000)
        self.file("reads.fa", fasta([("x", genome)]))
        wrong = list(genome)
        for at in range(1000, len(wrong), 997):
            wrong[at] = "ACGT"["ACGT".index(wrong[at]) - 1]
        records = [("c", "".join(wrong)), ("d", genome[:500])]
        self.file("asm.fa", fasta(records))
        self.count("reads.fa", k=21, output="reads.wmi")
        places = {"hapA": ((10, 200), (2_900_000, 2_900_500)), "hapB": ((50_000, 51_000), (1_500_000, 1_500_300))}
        for name, ends in places.items():
            self.file(name + ".fa", fasta((str(begin), genome[begin:end]) for begin, end in ends))
            self.count(name + ".fa", k=21, output=name + ".wmi")
        self.warpmer("merqury", "reads.wmi", "asm.fa", "-o", "x", "--solid-count", 1, "-t", 3, "--hapmers", "hapA.wmi", "hapB.wmi")
        contigs = [("c", []), ("d", [(at, at + 21, "hapA") for at in range(10, 180)])]
        for begin, end, hap in sorted((*place, hap) for hap, of in places.items() for place in of):
            contigs[0][1].extend((at, at + 21, hap) for at in range(begin, end - 20) if "".join(wrong[at : at + 21]) == genome[at : at + 21])
        for ending, text in phase_files("x.asm.100_20000", contigs, list(places), 100, 20000).items():
            self.assertEqual((self.folder / f"x.asm.100_20000.{ending}").read_text(), text)
        starts = [start for at in range(1000, len(wrong), 997) for start in range(at - 20, min(at, len(wrong) - 21) + 1)]
        self.assertEqual((self.folder / "asm_only.bed").read_text(), "".join(f"c\t{at}\t{at + 21}\n" for at in starts))
        self.assertEqual((self.folder / "asm_only.wig").read_text(), depth_track([("c", starts), ("d", [])], 21))
        for hap in places:
            of_hap = [(contig, [start for start, _, own in markers if own == hap]) for contig, markers in contigs]
            self.assertEqual((self.folder / f"x.asm.{hap}.wig").read_text(), depth_track(of_hap, 21))
        self.assertEqual((self.folder / "x.asm.qv").read_text().splitlines()[0], f"c\t{quality(len(starts), len(wrong) - 20, 21)}")

    @one_thread
    def test_gaps_between_pieces(self):
        """Runs of N in a sequence that comes in several pieces, at and across their ends."""
        source = random.Random(6)
        genome = random_bases(source, 200_000)
        gaps = bytearray(genome.encode() * 20)
        for at in range(0, len(gaps) - 1000, 9973):
            size = source.choice((1, 20, 21, 500))
            gaps[at : at + size] = b"N" * size if at % 2 else b"n" * size
        records = [("c", gaps.decode()), ("short", genome[:300]), ("gap", "NNNN"), ("end", genome[:50] + "NN")]
        self.file("asm.fa", fasta(records))
        self.file("reads.fa", fasta([("x", genome)]))
        for name in ("reads", "pat", "mat"):
            self.count("reads.fa" if name == "reads" else "few.fa" if name == "mat" else self.file("few.fa", fasta([("x", genome[:30])])).name, k=21, output=name + ".wmi")
        self.warpmer("merqury", "reads.wmi", "asm.fa", "--solid-count", 1, "--hapmers", "pat.wmi", "mat.wmi", "-o", "x", "-t", 3, "--no-plots")
        for ending, text in size_files("asm", [sequence for _, sequence in records]).items():
            self.assertEqual((self.folder / f"x.asm.{ending}").read_text(), text)

    @one_thread
    def test_solid_by_itself(self):
        self.count(DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz", k=21, output="reads.wmi")
        self.warpmer("merqury", "reads.wmi", DATA / "genome.fa", "-o", "x")
        line = self.warpmer("qv", "reads.wmi", DATA / "genome.fa").splitlines()[1].split("\t")
        self.assertEqual((self.folder / "x.completeness.stats").read_text(), f"genome\tall\t{line[7]}\t{line[6]}\t{line[8]}\n")
        self.assertEqual((self.folder / "x.qv").read_text(), f"genome\t{line[2]}\t{line[1]}\t{line[3]}\t{line[4]}\n")
        self.count(DATA / "genome.fa", k=21, output="genome.wmi")
        self.warned("no clear peak.*--solid-count", "merqury", "genome.wmi", DATA / "genome.fa", "-o", "y")
        self.assertEqual((self.folder / "y.completeness.stats").read_text(), "")

    @one_thread
    def test_refusals(self):
        self.make(21)
        before = self.files()
        run = ("merqury", "reads.wmi", "-o", "x")
        self.refused(USAGE, "one or two assemblies", *run, "mat.fasta", "pat.v2.fa", "reads.fa")
        self.refused(USAGE, "read twice; give a file", *run, "-")
        self.refused(USAGE, "opens an index more than once", "merqury", "-", "mat.fasta", "-o", "x")
        self.refused(USAGE, "opens an index more than once", *run, "mat.fasta", "--hapmers", "hapA.wmi", "/dev/stdin")
        self.refused(USAGE, "both assemblies are called 'mat'", *run, "mat.fasta", "./mat.fasta")
        self.refused(USAGE, "both sets of hap-mers", *run, "mat.fasta", "--hapmers", "hapA.wmi", "hapA.wmi")
        self.refused(USAGE, "--short-range is for phase blocks", *run, "mat.fasta", "--short-range", 9)
        self.refused(USAGE, "--num-switch", *run, "mat.fasta", "--hapmers", "hapA.wmi", "hapB.wmi", "--num-switch", 0)
        for prefix in ("x/", ".", "./..", "x/."):
            self.refused(USAGE, "prefix", "merqury", "reads.wmi", "mat.fasta", "-o", prefix)
        self.refused(INPUT, "nothere.fa", *run, "nothere.fa")
        self.refused(INPUT, "bad_protein", *run, DATA / "bad_protein.faa")
        self.refused(RESOURCE, "nowhere", "merqury", "reads.wmi", "mat.fasta", "-o", "nowhere/x")
        self.refused(RESOURCE, "-m", *run, "mat.fasta", "-m", "2M")
        self.count("reads.fa", k=20, output="even.wmi")
        self.refused(USAGE, "k = 2[01]", *run, "mat.fasta", "--hapmers", "hapA.wmi", "even.wmi")
        self.count("reads.fa", k=21, output="forward.wmi", options=["--forward"])
        self.refused(USAGE, "--forward", "merqury", "forward.wmi", "mat.fasta", "-o", "x")
        self.assertEqual(set(self.files()) - {"even.wmi", "forward.wmi"}, set(before))
        self.refused(USAGE, "--hapmers needs 2 values", *run, "mat.fasta", "--hapmers", "hapA.wmi")
        both = ("--hapmers", "hapA.wmi", "hapB.wmi")
        self.refused(USAGE, "--hapmers is given more than once", *run, "mat.fasta", *both, *both)

    def test_no_file_is_replaced_that_is_read_or_has_sequences(self):
        self.make(21)
        for name in ("x.qv", "x.mat.only.hist", "mat_only.bed", "x.spectra-asm.fl.svg"):
            with self.subTest(name=name):
                kept = (self.folder / "mat.fasta").read_bytes()
                (self.folder / name).write_bytes(kept)
                before = self.files()
                self.refused(USAGE, f"output '{name}' is there already and is sequence data", "merqury", "reads.wmi", "mat.fasta", "-o", "x")
                self.refused(USAGE, f"output '{name}' is one of the inputs", "merqury", "reads.wmi", "mat.fasta", name, "-o", "x", "--force")
                self.assertEqual((self.folder / name).read_bytes(), kept)
                self.assertEqual(self.files(), before)
                (self.folder / name).unlink()
        (self.folder / "x.qv").write_bytes(kept)
        self.warpmer("merqury", "reads.wmi", "mat.fasta", "-o", "x", "--force")
        self.assertNotEqual((self.folder / "x.qv").read_bytes(), kept)


SHARED = pathlib.Path(os.environ.get("WARPMER_SHARED", "../shared")) / "data"


def read_records(path):
    """(header, sequence) of each record of FASTA, or of FASTQ of four lines."""
    lines = gzip.open(path, "rt").read().splitlines()
    if lines[0][0] == "@":
        return [(header[1:], sequence) for header, sequence in zip(lines[::4], lines[1::4])]
    parts = [part.partition("\n") for part in "\n".join(lines).split(">")[1:]]
    return [(header, sequence.replace("\n", "")) for header, _, sequence in parts]


@unittest.skipUnless(FULL and (SHARED / "medium").is_dir(), f"no files in {SHARED}, or a sample of the tests")
class RealFiles(MerquryTest):
    """Reads and assemblies of real samples, against the same definitions."""

    medium = SHARED / "medium"

    def records(self, name):
        return [(header.split()[0], sequence) for header, sequence in read_records(self.medium / name)]

    def test_bacterium(self):
        """Reads of 36 bases, and the one sequence of a genome that was assembled from others."""
        reads, genome = self.medium / "portiera_SRR2838702_R2.fastq.gz", "portiera_GCF_000292685.fna.gz"
        self.count(reads, k=21, output="reads.wmi")
        self.file("portiera.fa.gz", (self.medium / genome).read_bytes())
        self.warpmer("merqury", "reads.wmi", "portiera.fa.gz", "--solid-count", 3, "-o", "x", "--no-plots")
        counts = naive_count([sequence for _, sequence in read_records(reads)], 21)
        self.check(Oracle(counts, {"portiera": self.records(genome)}, {}, 21, 3, "x"), "x")

    def test_virus(self):
        """Two assemblies, of several genomes with runs of N, by reads of one; hap-mers are what one genome of either has."""
        genomes = self.records("sarscov2_418genomes_nextstrain.fasta.gz")
        assemblies = {"a": genomes[:4], "b": genomes[200:203]}
        for name, records in assemblies.items():
            self.file(name + ".fasta", fasta(records))
        sides = [naive_count([records[0][1]], 21) for records in assemblies.values()]
        hapmers = {"hapA": dict(sides[0].items() - sides[1].items()), "hapB": dict(sides[1].items() - sides[0].items())}
        for name, other in (("hapA", sides[1]), ("hapB", sides[0])):
            hapmers[name] = {kmer: count for kmer, count in hapmers[name].items() if kmer not in other}
            self.assertGreater(len(hapmers[name]), 20)
            self.file(name + ".fa", fasta((str(i), kmer) for i, kmer in enumerate(hapmers[name]) for _ in range(hapmers[name][kmer])))
            self.count(name + ".fa", k=21, output=name + ".wmi")
        reads = [self.medium / f"ncov_illumina_subsample1_{i}.fastq.gz" for i in (1, 2)]
        self.count(*reads, k=21, output="reads.wmi")
        self.warpmer("merqury", "reads.wmi", "a.fasta", "b.fasta", "--hapmers", "hapA.wmi", "hapB.wmi", "--solid-count", 4, "-o", "x", "--num-switch", 10)
        counts = naive_count([sequence for path in reads for _, sequence in read_records(path)], 21)
        self.check(Oracle(counts, assemblies, hapmers, 21, 4, "x", (10, 20000)), "x")


if __name__ == "__main__":
    main()
