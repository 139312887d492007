#!/usr/bin/env python3
"""Runs programs that read k-mer files twice, unchanged: with the original counters on the path, and with warpmer in front of them under their
names. All that they write must be equal, but for times in PDFs and for profiles, which may be packed in several ways.

    tests/peers/consumers.py SCRATCH_FOLDER [NAME...]

None of these programs is part of warpmer, and CI has none of them. The environment says where they were built:

    WARPMER_NAMES  the folder of `warpmer names`
    WARPMER_PEERS  folders with the programs of FastK, MERQURY.FK and smudgeplot, and with multiqc, with colons between them
    GENOMESCOPE    genomescope.R of GenomeScope 2
    R_LIBS         where its package is installed

Rscript, kmc and jellyfish are those of the system.
"""

import os
import pathlib
import random
import re
import subprocess
import sys

COMPLEMENT = str.maketrans("ACGT", "TGCA")

PIPELINES = {
    # FastK uses up all file descriptors with more than one thread on so little.
    "merqury": """
        for s in child mother father; do FastK -k21 -t1 -T1 -p -N$s $s.fastq; done
        HAPmaker -T1 mother father child
        MerquryFK -T1 -z child asm1.fasta single
        MerquryFK -T1 -z child asm1.fasta asm2.fasta two
        MerquryFK -T1 -lfs -pdf child mother father asm1.fasta asm2.fasta trio
        CNplot -k -T1 -z child asm1.fasta cn
        ASMplot -k -T1 -z child asm1.fasta asm2.fasta asm
        HAPplot -k -T1 mother father asm1.fasta asm2.fasta hap
        KatComp -T1 -f child mother kat
        KatGC -T1 child gc
    """,
    "smudgeplot": """
        FastK -k21 -t4 -T1 -Nchild child.fastq
        hetmers -e8 -T1 -opairs child
        Histex -G child > child.histogram
        smudgeplot cutoff child.histogram L > cutoff
        smudgeplot peak_aggregation -nf 5 pairs.smu > aggregated
    """,
    "genomescope": """
        jellyfish count -m 21 -s 10M -t 2 -C -o child.jf child.fastq
        jellyfish histo -t 2 -o jellyfish.histo child.jf
        kmc -k21 -ci1 -cs10000 -hp child.fastq child . > /dev/null
        kmc_tools -hp transform child histogram kmc.histo -cx10000
        FastK -k21 -t1 -T1 -Nchild child.fastq
        Histex -G child > fastk.histo
        rm child.jf child.kmc_* child.ktab .child.ktab.1
        for h in jellyfish kmc fastk; do Rscript $GENOMESCOPE -i $h.histo -o $h -k 21 -p 2 > $h.log; rm $h/*.png; done
    """,
    "multiqc": """
        for s in child mother; do
            jellyfish count -m 21 -s 10M -t 2 -C -o $s.jf $s.fastq
            jellyfish histo -t 2 -o ${s}_jf.hist $s.jf
            rm $s.jf
        done
        multiqc -q -m jellyfish -o report .
        mv report/multiqc_data/?ellyfish*.txt .
        rm -r report
    """,
}


def simulate(folder, bases=60000):
    """A diploid child, its parents, and an assembly of each of its haplotypes."""
    dice = random.Random(3)

    def changed(text, every):
        return "".join(dice.choice("ACGT") if dice.randrange(every) == 0 else base for base in text)

    genome = "".join(dice.choice("ACGT") for _ in range(bases))
    maternal, paternal = changed(genome, 150), changed(genome, 150)
    families = {"child": (maternal, paternal, 20), "mother": (maternal, changed(genome, 150), 15), "father": (paternal, changed(genome, 150), 15)}
    for name, (*haplotypes, depth) in families.items():
        with open(folder / f"{name}.fastq", "w") as out:
            for h, text in enumerate(haplotypes):
                for i in range(len(text) * depth // 150):
                    at = dice.randrange(len(text) - 150)
                    read = changed(text[at : at + 150], 200)
                    if dice.randrange(2):
                        read = read[::-1].translate(COMPLEMENT)
                    out.write(f"@r{h}.{i}\n{read}\n+\n{'I' * len(read)}\n")
    for name, haplotype in (("asm1", maternal), ("asm2", paternal)):
        text = changed(haplotype, 4000)
        contigs = [text[i : i + bases // 4] for i in range(0, bases, bases // 4)]
        contigs[0] = contigs[0][:5000] + "N" * 50 + contigs[0][5000:]
        (folder / f"{name}.fasta").write_text("".join(f">{name}.{i}\n{contig}\n" for i, contig in enumerate(contigs)))


def run(script, inputs, folder, names):
    folder.mkdir()
    for path in inputs.glob("*.fast?"):
        (folder / path.name).symlink_to(path)
    path = ":".join(filter(None, (names, os.environ["WARPMER_PEERS"], os.environ["PATH"])))
    log = folder.parent / f"{folder.name}.log"
    with open(log, "w") as out:
        process = subprocess.run(["bash", "-exc", script], cwd=folder, env={**os.environ, "PATH": path, "TMPDIR": str(folder)}, check=False,
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    if process.returncode != 0:
        sys.exit(f"{log}: exit status {process.returncode}")
    return {str(path.relative_to(folder)): content_of(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def content_of(path):
    content = path.read_bytes().replace(str(path.parent).encode(), b"FOLDER")
    if path.suffix == ".pdf":
        return re.sub(rb"/(Creation|Mod)Date \(D:\d+\)", b"", content)
    # FastK's packing of equal counts is one of many; tests/cli/names_fastk.py compares what is packed.
    return b"" if re.search(r"\.(prof|pidx)\.\d+$", path.name) else content


def main():
    scratch = pathlib.Path(sys.argv[1]).resolve()
    inputs = scratch / "inputs"
    inputs.mkdir(parents=True)
    simulate(inputs)
    failed = False
    for name in sys.argv[2:] or PIPELINES:
        theirs = run(PIPELINES[name], inputs, scratch / f"{name}.theirs", "")
        ours = run(PIPELINES[name], inputs, scratch / f"{name}.ours", os.environ["WARPMER_NAMES"])
        differing = sorted(path for path in theirs.keys() | ours.keys() if theirs.get(path) != ours.get(path))
        print(f"{name}: {len(theirs)} files, {len(differing)} differ", *differing)
        failed = failed or bool(differing)
    sys.exit(failed)


if __name__ == "__main__":
    main()
