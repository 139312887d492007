#!/usr/bin/env python3
"""Makes data/ anew: small made-up inputs, the same on every run. Needs samtools and bgzip (Debian packages).

    scripts/make_data.py [DIRECTORY]
"""

import gzip
import hashlib
import pathlib
import random
import subprocess
import sys

DATA = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "data")
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def bases(rng, length):
    return "".join(rng.choices("ACGT", k=length))


def reverse_complement(sequence):
    return sequence.translate(COMPLEMENT)[::-1]


def wrap(sequence, width=60):
    return "".join(sequence[i : i + width] + "\n" for i in range(0, len(sequence), width))


def write(name, content):
    data = content if isinstance(content, bytes) else content.encode("ascii")
    (DATA / name).write_bytes(data)


def gz(content, level=9):
    return gzip.compress(content.encode("ascii"), level, mtime=0)


def make_genome(rng):
    """Two sequences, 20 kb, with a repeat family, a tandem repeat and a homopolymer."""
    family = bases(rng, 400)
    tandem = "GATTACA" * 30
    long = bases(rng, 3000) + family + bases(rng, 2500) + reverse_complement(family) + bases(rng, 3000)
    long += tandem + bases(rng, 2000) + family + bases(rng, 3490)
    short = bases(rng, 2500) + "A" * 120 + bases(rng, 1800) + reverse_complement(family) + bases(rng, 180)
    return {"chr1": long, "chr2": short}


def qualities(rng, length):
    """Four values in runs, as current instruments bin them."""
    out = []
    while len(out) < length:
        out += rng.choices("F:,", (94, 5, 1))[0] * rng.randint(5, 60)
    return out[:length]


def with_errors(rng, sequence, rate):
    read, quality = list(sequence), qualities(rng, len(sequence))
    for i, base in enumerate(read):
        draw = rng.random()
        if draw < rate:
            read[i] = rng.choice([b for b in "ACGT" if b != base])
            quality[i] = rng.choice("#,F")
        elif draw < rate * 1.1:
            read[i], quality[i] = "N", "#"
    return "".join(read), "".join(quality)


def make_pairs(rng, genome, coverage, length=150):
    """Read pairs of random fragments: two lists of FASTQ records."""
    names = sorted(genome)
    total = sum(len(s) for s in genome.values())
    mates = ([], [])
    for i in range(int(coverage * total / (2 * length))):
        name = rng.choices(names, [len(genome[n]) for n in names])[0]
        size = rng.randint(300, 500)
        start = rng.randint(0, len(genome[name]) - size)
        fragment = genome[name][start : start + size]
        if rng.random() < 0.5:
            fragment = reverse_complement(fragment)
        for mate, end in enumerate((fragment[:length], reverse_complement(fragment)[:length])):
            read, quality = with_errors(rng, end, 0.005)
            mates[mate].append(f"@pair{i + 1}/{mate + 1}\n{read}\n+\n{quality}\n")
    return mates


def make_alignments(rng, genome, reads=150, length=100):
    """SAM text with every kind of record, and its primary records as FASTQ, as the instrument read them."""
    sam = ["@HD\tVN:1.6\tSO:coordinate"]
    for name, sequence in sorted(genome.items()):
        sam.append(f"@SQ\tSN:{name}\tLN:{len(sequence)}\tM5:{hashlib.md5(sequence.encode()).hexdigest()}")
    fastq, records = [], []
    for i in range(reads):
        name = rng.choice(sorted(genome))
        start = rng.randint(0, len(genome[name]) - length)
        reverse = rng.random() < 0.5
        read, quality = with_errors(rng, genome[name][start : start + length], 0.005)
        flag = 16 if reverse else 0
        if i % 13 == 5:
            flag |= 1024  # a duplicate: primary all the same
        records.append((name, start, f"r{i}\t{flag}\t{name}\t{start + 1}\t60\t{length}M\t*\t0\t0\t{read}\t{quality}"))
        if i % 10 == 3:  # the same read again, elsewhere: not to be counted
            records.append((name, start, f"r{i}\t{flag | 256}\t{name}\t{start + 1}\t0\t{length}M\t*\t0\t0\t{read}\t*"))
        if i % 10 == 7:
            half = length // 2
            records.append(
                (name, start, f"r{i}\t{flag | 2048}\t{name}\t{start + 1}\t0\t{half}M{half}H\t*\t0\t0\t{read[:half]}\t*")
            )
        if reverse:
            read, quality = reverse_complement(read), quality[::-1]
        fastq.append(f"@r{i}\n{read}\n+\n{quality}\n")
    records.sort(key=lambda r: (r[0], r[1]))
    sam += [r[2] for r in records]
    for i in range(5):  # unmapped reads are primary, too
        read, quality = bases(rng, length), "F" * length
        sam.append(f"u{i}\t4\t*\t0\t0\t*\t*\t0\t0\t{read}\t{quality}")
        fastq.append(f"@u{i}\n{read}\n+\n{quality}\n")
    sam.append("nothing\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*")
    return "\n".join(sam) + "\n", "".join(fastq)


def main():
    DATA.mkdir(exist_ok=True)
    rng = random.Random(20261121)
    genome = make_genome(rng)
    write("genome.fa", "".join(f">{name} made up for warpmer\n{wrap(seq)}" for name, seq in sorted(genome.items())))
    first, second = make_pairs(rng, genome, 30)
    write("reads_1.fq.gz", gz("".join(first)))
    write("reads_2.fq.gz", gz("".join(second)))

    # The same 40 reads in every dress: all of these have the same k-mers.
    forty = first[:40]
    plain = "".join(forty)
    write("forty.fq", plain)
    write("crlf.fq", plain.replace("\n", "\r\n"))
    write("no_final_newline.fq", plain[:-1])
    write("blank_lines.fq", "\n".join(forty) + "\n\n")
    write("lower_case.fq", "".join("\n".join((r.split("\n")[0], r.split("\n")[1].lower(), *r.split("\n")[2:])) for r in forty))
    folded, fasta, fasta_crlf = [], [], []
    for record in forty:
        name, sequence, _, quality = record.rstrip("\n").split("\n")
        # A quality line may begin with '@' or '+': the classic trap of multi-line FASTQ.
        quality = "".join("@" if i % 37 == 0 else "+" if i % 41 == 0 else q for i, q in enumerate(quality))
        folded.append(f"{name}\n{wrap(sequence, 37)}+{name[1:]}\n{wrap(quality, 37)}")
        fasta.append(f">{name[1:]}\n{wrap(sequence, 50)}")
        fasta_crlf.append(f">{name[1:]}\n{wrap(sequence, 50)}\n".replace("\n", "\r\n"))
    write("multi_line.fq", "".join(folded))
    write("forty.fa", "".join(fasta))
    write("crlf_blank_lines.fa", "".join(fasta_crlf))
    write("rna.fa", "".join(fasta).replace("T", "U"))
    write("multi_member.fq.gz", gz("".join(forty[:13])) + gz("") + gz("".join(forty[13:14])) + gz("".join(forty[14:])))
    bgzip = subprocess.run(["bgzip", "-c"], input=plain.encode(), stdout=subprocess.PIPE, check=True).stdout
    write("bgzf.fq.gz", bgzip)
    write("forty.list", "forty.fa\n")

    # Sequences that are easy to get wrong.
    iupac = f">lower_and_N\n{wrap(bases(rng, 90).lower() + 'N' * 7 + bases(rng, 90) + 'n' + bases(rng, 40))}"
    iupac += f">iupac\n{wrap(bases(rng, 50) + 'RYSWKMBDHV' + bases(rng, 50) + 'ryswkmbdhv' + bases(rng, 50))}"
    iupac += f">gaps\n{wrap(bases(rng, 40) + '--' + bases(rng, 40) + '.' + bases(rng, 40) + '*' + bases(rng, 35) + 'X' + bases(rng, 33))}"
    iupac += f">all_N\n{wrap('N' * 100)}"
    write("iupac.fa", iupac)
    write("empty.fa", "")
    write("empty.fq.gz", gz(""))
    a, b = bases(rng, 80), bases(rng, 80)
    write("empty_records.fa", f">first\n{a}\n>nothing\n>nothing either\n\n>last\n{b}\n>nothing at the end\n")
    write("empty_records.fq", f"@first\n{a}\n+\n{'F' * 80}\n@nothing\n\n+\n\n@last\n{b}\n+\n{'F' * 80}\n@nothing at the end\n\n+\n\n")
    write("one_base.fa", ">one\nA\n")
    write("short.fa", "".join(f">of_{n}\n{bases(rng, n)}\n" for n in (1, 2, 3, 5, 8, 12, 13, 20, 30)))
    palindrome = bases(rng, 16)
    write("palindromes.fa", f">palindrome\n{palindrome}{reverse_complement(palindrome)}\n>at\n{'AT' * 60}\n>cg\n{'CG' * 60}\n")
    write("low_complexity.fa", f">poly_A\n{wrap('A' * 3000)}>poly_T\n{wrap('T' * 3000)}>ac\n{wrap('AC' * 1500)}")
    write("one_line.fa", f">one_line\n{genome['chr1']}")

    # Alignments.
    sam, fastq = make_alignments(rng, genome)
    write("aligned.fq", fastq)
    reference = str(DATA / "genome.fa")
    for name, options in (("aligned.bam", ["-b"]), ("aligned.cram", ["-C", "-T", reference])):
        subprocess.run(
            ["samtools", "view", "--no-PG", *options, "-o", str(DATA / name), "-"],
            input=sam.encode(), check=True, stderr=subprocess.DEVNULL,
        )
    # samtools notes the reference's absolute path in the header; put the plain one back.
    header = "".join(line + "\n" for line in sam.split("\n") if line.startswith("@"))
    cram = subprocess.run(
        ["samtools", "reheader", "--no-PG", "/dev/stdin", str(DATA / "aligned.cram")],
        input=header.encode(), stdout=subprocess.PIPE, check=True,
    ).stdout
    write("aligned.cram", cram)
    for leftover in DATA.glob("genome.fa.fai"):
        leftover.unlink()

    # Files that must be refused.
    write("bad_protein.faa", ">sp|MADE1|UP\nMKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQ\nEFIL\n")
    whole = gz("".join(first[:60]))
    write("bad_truncated.fq.gz", whole[: len(whole) * 2 // 3])
    flipped = bytearray(whole)
    flipped[-6] ^= 0x10
    write("bad_checksum.fq.gz", bytes(flipped))
    write("bad_truncated.fq", plain[: len(plain) * 2 // 3])
    write("bad_quality_length.fq", f"@fine\n{a}\n+\n{'F' * 80}\n@long_quality\n{b}\n+\n{'F' * 81}\n")
    write("bad_character.fq", f"@fine\n{a}\n+\n{'F' * 80}\n@noise\n{b[:40]}!{b[41:]}\n+\n{'F' * 80}\n")
    bam = (DATA / "aligned.bam").read_bytes()
    write("bad_truncated.bam", bam[: len(bam) // 2])
    write("bad_text.txt", "This file is neither FASTA nor FASTQ.\n")


if __name__ == "__main__":
    main()
