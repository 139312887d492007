"""What the tests of `warpmer merqury` share: Merqury's definitions in plain Python, and made-up diploids."""

import collections
import decimal
import math
import random
import re
import struct

from common_cli import CliTest, canonical, fasta, kmers_of, naive_count, random_bases, reverse_complement


def with_errors(source, sequence, number):
    bases = list(sequence)
    for at in source.sample(range(len(bases)), number):
        bases[at] = source.choice("ACGT".replace(bases[at], ""))
    return "".join(bases)


def number(value):
    return "inf" if math.isinf(value) else f"{value:.6g}"


def quality(missing, kmers, k):
    if kmers == 0:
        return f"{missing}\t{kmers}\tna\tna"
    error = 1 - (1 - missing / kmers) ** (1 / k)
    value = abs(-10 * math.log10(error)) if error > 0 else math.inf
    return f"{missing}\t{kmers}\t{number(value)}\t{number(error)}"


def histogram(name, counts):
    return "".join(f"{name}\t{count}\t{kmers}\n" for count, kmers in sorted(collections.Counter(counts).items()))


def as_float(value):
    """In 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


def rounded(value, places):
    """Halves go up."""
    return decimal.Decimal(value).quantize(decimal.Decimal(places), decimal.ROUND_HALF_UP)


def phase_blocks(contigs, limit, reach):
    """(contig, start, end, haplotype, state, haplotype of the block) of markers, and (contig, start, end, haplotype, switches, markers) of blocks.

    Of contigs with lists of markers (start, end, haplotype)."""
    rows, blocks = [], []
    contigs = [(contig, markers) for contig, markers in contigs if markers]
    for number, (contig, markers) in enumerate(contigs):
        block, row, switches, own = [], [], 0, markers[0][2]
        for marker in markers:
            state = "SwitchBack" if row else "Same"
            if marker[2] == own:
                switches += len(row)
                block += [*row, marker]
                row = []
            else:
                row.append(marker)
                state = "Short"
                if len(row) > 1 and (len(row) >= limit or marker[1] - row[0][0] > reach):
                    blocks.append((contig, block[0][0], block[-1][1], own, switches, len(block)))
                    block, row, switches, own, state = row, [], 0, marker[2], "Long"
            rows.append((contig, *marker, state, own))
        if number + 1 == len(contigs):
            blocks.append((contig, block[0][0], markers[-1][1], own, switches, len(block) + len(row)))
        else:
            blocks.append((contig, block[0][0], block[-1][1], own, switches, len(block)))
            if row:
                blocks.append((contig, row[0][0], row[-1][1], contigs[number + 1][1][0][2], switches, len(row)))
    return rows, [block for block in blocks if block[-1] > 1]


def phase_files(out, contigs, haps, limit, reach):
    rows, blocks = phase_blocks(contigs, limit, reach)
    rates = [rounded(as_float(switches / markers), "0.001") for *_, switches, markers in blocks]
    switches, markers = (sum(block[i] for block in blocks) for i in (4, 5))
    sums = f"{switches}\t{markers}\t{f'{100 * switches / markers:.6g}%' if markers else 'na'}"
    lengths = sorted((end - start for _, start, end, *_ in blocks), reverse=True)
    sizes = "0\t0\tna\tna\tna\tna"
    if lengths:
        half = next(length for i, length in enumerate(lengths) if 2 * sum(lengths[: i + 1]) > sum(lengths))
        average = rounded(as_float(as_float(sum(lengths)) / len(lengths)), "1")
        sizes = "\t".join(f"{value:,}" for value in (len(lengths), sum(lengths), lengths[-1], average, half, lengths[0]))
    first, second = sorted(haps)
    counts = "".join(
        f"{own}\t{contig}_{start}_{end}\t{swi if own == second else all}\t{all if own == second else swi}\t{end - start}\n"
        for contig, start, end, own, swi, all in blocks
    )
    sizes_of_blocks = sorted(((end - start, own) for _, start, end, own, *_ in blocks), reverse=True)
    return {
        "phased_block.sizes": "".join(f"block\t{own}\t{size}\n" for size, own in sizes_of_blocks),
        "switch.bed": "".join("\t".join(map(str, row)) + "\n" for row in rows),
        "phased_block.bed": "".join("\t".join(map(str, (*block[:4], rate, *block[4:]))) + "\n" for block, rate in zip(blocks, rates)),
        "phased_block.counts": f"Block\tRange\t{first}\t{second}\tSize\n{counts}",
        "phased_block.stats": f"{out}\t{sizes}\t{sums}\n",
        "switches.txt": f"{out} switch error rate (%) (Num. switches / Total markers found): {sums}\n",
    }


def depth_track(contigs, k):
    """WIG of contigs with the positions of k-mers."""
    text = ""
    for contig, starts in contigs:
        depth = collections.Counter(base for at in starts for base in range(at, at + k))
        text += f"variableStep chrom={contig}\n" + "".join(f"{at + 1}\t{depth[at]}\n" for at in sorted(depth))
    return text


def size_files(name, sequences):
    """`sort -nr` of lengths, and of those of what stands between runs of N."""
    sizes = [len(sequence) for sequence in sequences]
    contigs = [len(part) for sequence in sequences for part in re.split("[Nn]+", sequence) if part]
    if sum(contigs) == sum(sizes):
        contigs = sizes
    files = {"contig.sizes": ("contig", contigs), "scaff.sizes": ("scaffold", sizes)}
    if contigs == sizes:
        del files["scaff.sizes"]
    return {file: "".join(f"{kind}\t{name}\t{size}\n" for size in sorted(of, reverse=True)) for file, (kind, of) in files.items()}


def plot_names(assemblies, hapmers, limits=(100, 20000)):
    names = [f"{name}.{shape}" for name in ["spectra-asm"] + [f"{assembly}.spectra-cn" for assembly in assemblies] for shape in ("fl", "ln", "st")]
    if len(assemblies) == 2:
        names += [f"spectra-cn.{shape}" for shape in ("fl", "ln", "st")]
    if hapmers:
        names += [f"{assembly}.{kind}.N" for assembly in assemblies for kind in ("block", "continuity")]
        names += ["hapmers.blob"] + [f"{assembly}.{limits[0]}_{limits[1]}.phased_block.blob" for assembly in assemblies]
        names += [f"{assembly}.{hap}.spectra-cn.{shape}" for assembly in assemblies for hap in hapmers for shape in ("fl", "ln", "st")]
    return {name + ".svg" for name in names}


class Oracle:
    """All files, as text, of reads' counts, assemblies {name: records} and hap-mers {name: counts}."""

    def __init__(self, reads, assemblies, hapmers, k, solid, prefix="", limits=(100, 20000)):
        self.prefix, self.limits = prefix, limits
        self.sequences = {name: [sequence for _, sequence in records] for name, records in assemblies.items()}
        self.k, self.reads, self.files = k, reads, {}
        self.assemblies = {name: [(contig, [canonical(kmer) if kmer else None for kmer in kmers_of(sequence, k)]) for contig, sequence in records]
                           for name, records in assemblies.items()}
        self.counts = {name: collections.Counter(kmer for _, kmers in records for kmer in kmers if kmer)
                       for name, records in self.assemblies.items()}
        columns = dict(self.counts)
        if len(columns) == 2:
            columns["both"] = sum(columns.values(), collections.Counter())
        solid_kmers = {kmer for kmer, count in reads.items() if count >= solid}
        qv = completeness = ""
        for name, kmers in columns.items():
            missing = {kmer: copies for kmer, copies in kmers.items() if kmer not in reads}
            of = "" if name == "both" else name + "."
            qv += f"{'Both' if name == 'both' else name}\t{quality(sum(missing.values()), sum(kmers.values()), k)}\n"
            found = sum(kmer in kmers for kmer in solid_kmers)
            completeness += f"{name}\tall\t{found}\t{len(solid_kmers)}\t{number(100 * found / len(solid_kmers))}\n"
            self.files[of + "spectra-cn.hist"] = self.copies("read-only", reads, kmers)
            self.files[of + "only.hist"] = f"1\t0\t{len(missing)}\n2\t0\t{sum(missing.values()) - len(missing)}\n"
        for name, kmers in columns.items():
            for hapmer, counts in hapmers.items():
                found = sum(kmer in kmers for kmer in counts)
                completeness += f"{name}\t{hapmer}\t{found}\t{len(counts)}\t{number(100 * found / len(counts))}\n"
                if name != "both":
                    self.files[f"{name}.{hapmer}.spectra-hap-cn.hist"] = self.copies(hapmer + "-only", counts, kmers)
        self.files["qv"], self.files["completeness.stats"] = qv, completeness
        self.owners()
        self.contigs(hapmers)

    @staticmethod
    def copies(none, counts, kmers):
        classes = [(none, lambda n: n == 0)] + [(str(i), lambda n, i=i: n == i) for i in range(1, 5)] + [(">4", lambda n: n > 4)]
        rows = (histogram(name, (count for kmer, count in counts.items() if has(kmers.get(kmer, 0)))) for name, has in classes)
        return "Copies\tkmer_multiplicity\tCount\n" + "".join(rows)

    def owners(self):
        names = list(self.counts)
        first, second = self.counts[names[0]], self.counts[names[-1]] if len(names) == 2 else {}
        rows = [("read-only", False, False), (names[0], True, False)]
        if len(names) == 2:
            rows = [rows[0], (names[0] + "-only", True, False), (names[1] + "-only", False, True), ("shared", True, True)]
        spectra, missing = "Assembly\tkmer_multiplicity\tCount\n", ""
        for name, in_first, in_second in rows:
            spectra += histogram(name, (count for kmer, count in self.reads.items() if (kmer in first, kmer in second) == (in_first, in_second)))
            only = sum(kmer not in self.reads and (kmer in first, kmer in second) == (in_first, in_second) for kmer in {**first, **second})
            missing += f"{name}\t0\t{only}\n" if name != "read-only" else ""
        self.files["spectra-asm.hist"], self.files["dist_only.hist"] = spectra, missing

    def contigs(self, hapmers):
        counts = "Assembly\tContig\t" + "\t".join(hapmers) + "\tSize\n"
        for name, records in self.assemblies.items():
            qv = bed = wig = ""
            for contig, kmers in records:
                starts = [at for at, kmer in enumerate(kmers) if kmer and kmer not in self.reads]
                total = sum(kmer is not None for kmer in kmers)
                qv += f"{contig}\t{quality(len(starts), total, self.k)}\n"
                bed += "".join(f"{contig}\t{at}\t{at + self.k}\n" for at in starts)
                wig += depth_track([(contig, starts)], self.k)
                found = [sum(kmer in of for kmer in kmers) for of in hapmers.values()]
                counts += f"{name}\t{contig}\t" + "\t".join(map(str, found)) + f"\t{total}\n"
            self.files[name + ".qv"] = qv
            self.files[f"/{name}_only.bed"], self.files[f"/{name}_only.wig"] = bed, wig
            if hapmers:
                self.phases(name, records, hapmers)
        if hapmers:
            self.files["hapmers.count"] = counts

    def markers(self, kmers, hapmers):
        return [(at, at + self.k, hap) for at, kmer in enumerate(kmers) for hap, of in hapmers.items() if kmer in of]

    def phases(self, name, records, hapmers):
        contigs = [(contig, self.markers(kmers, hapmers)) for contig, kmers in records]
        of = "{}.{}_{}".format(name, *self.limits)
        for ending, text in phase_files(f"{self.prefix}.{of}", contigs, list(hapmers), *self.limits).items():
            self.files[f"{of}.{ending}"] = text
        for hap in hapmers:
            starts = [(contig, [start for start, _, own in markers if own == hap]) for contig, markers in contigs]
            self.files[f"{name}.{hap}.wig"] = depth_track(starts, self.k)
        for ending, text in size_files(name, self.sequences[name]).items():
            self.files[f"{name}.{ending}"] = text


class MerquryTest(CliTest):
    def make(self, k):
        """Reads of two haplotypes, hap-mers of them, and two assemblies with errors, gaps and repeats."""
        source = random.Random(k)
        mother = random_bases(source, 2000)
        father = with_errors(source, mother, 30)
        repeat = random_bases(source, 150)
        mother += repeat
        father += repeat * 2
        reads = []
        for haplotype in (mother, father):
            for at in source.choices(range(len(haplotype) - 99), k=300):
                read = with_errors(source, haplotype[at : at + 100], source.choice((0, 0, 0, 1)))
                reads.append(source.choice((read, reverse_complement(read))))
        self.file("reads.fa", fasta((str(i), read) for i, read in enumerate(reads)))
        assemblies = {
            "mat": [("m1", with_errors(source, mother[:900], 4)), ("m2", mother[880:] + "NN" + repeat * 6), ("none", "ACGT"), ("empty", "")],
            "pat.v2": [("p1", father[300:]), ("p2", with_errors(source, reverse_complement(father[:700]), 3) + random_bases(source, 40))],
        }
        self.file("mat.fasta", fasta(assemblies["mat"]))
        self.file("pat.v2.fa", fasta(assemblies["pat.v2"]))
        sides = [naive_count([haplotype], k) for haplotype in (mother, father)]
        counts = naive_count(reads, k)
        hapmers = {}
        for name, own, other in (("hapA", sides[0], sides[1]), ("hapB", sides[1], sides[0])):
            kmers = sorted(kmer for kmer in own if kmer not in other)
            hapmers[name] = {kmer: own[kmer] for kmer in kmers}
            self.file(name + ".fa", fasta((str(i), kmer) for i, kmer in enumerate(kmers) for _ in range(own[kmer])))
            self.count(name + ".fa", k=k, output=name + ".wmi")
        self.count("reads.fa", k=k, output="reads.wmi")
        return counts, assemblies, hapmers

    def check(self, oracle, prefix):
        before = set(self.files())
        expected = {}
        folder = prefix.rpartition("/")[0]
        for name, text in oracle.files.items():
            expected[(folder + name if folder else name[1:]) if name[0] == "/" else f"{prefix}.{name}"] = text
        for name, text in expected.items():
            with self.subTest(name=name):
                self.assertEqual((self.folder / name).read_text(), text)
        return before, expected

    def make_phased(self, k):
        """Two haplotypes of 40,000 bases, and an assembly that switches between them at known places."""
        source = random.Random(100 + k)
        mother = random_bases(source, 40000)
        father = with_errors(source, mother, 400)
        contigs = [
            # Far over, with a short way back and forth before and after.
            ("far", mother[:5000] + father[5000:5200] + mother[5200:20000] + father[20000:30000] + mother[30000:30600] + father[30600:]),
            ("none", "ACGT" * 5),
            ("tail", father[:25000] + mother[25000:25300]),
            ("mat", mother[2000:9000] + "N" * 100 + mother[9000:12000]),
            ("end", father[:3000] + mother[3000:3200]),
        ]
        self.file("asm.fa", fasta(contigs))
        sides = {"pat": naive_count([father], k), "mat": naive_count([mother], k)}
        hapmers = {}
        for name, other in (("pat", "mat"), ("mat", "pat")):
            hapmers[name] = {kmer: count for kmer, count in sides[name].items() if kmer not in sides[other]}
            self.file(name + ".fa", fasta((str(i), kmer) for i, kmer in enumerate(hapmers[name])))
            self.count(name + ".fa", k=k, output=name + ".wmi")
        self.file("reads.fa", fasta([("m", mother), ("p", father)]))
        self.count("reads.fa", k=k, output="reads.wmi")
        return naive_count([mother, father], k), {"asm": contigs}, hapmers
