#!/usr/bin/env python3
"""Real data: `warpmer dump --sort` says, byte for byte, what the oracle says; KMC and Jellyfish agree.

    tests/cli/real_data.py [--full] [--cache DIR] [--jobs N] [--only SUBSTRING] [-k K,K...]

Without --full: the small files with a third of the k's each, some medium files with some k (what CI runs). With it: every
readable file of ../shared/data with every k, and a table of what was compared. --cache keeps the oracle's
digests from one run to the next. Environment: see oracle_common.py.

ctest: release only; ctest: long
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import oracle_common as common

ALL_K = (1, 5, 13, 15, 21, 31, 32, 33, 47, 48, 55, 63, 64)
QUICK_MEDIUM = {
    "medium/ecoli_K12_MG1655_GCF_000005845.2.fna.gz": (31,),
    "medium/hifi_NA12878_chr21.unmapped.bam": (21, 55),
    "medium/portiera_SRR2838702_R2.fastq.gz": (15,),
    "medium/hifi_mitohifi_pacbio.2member.fasta.gz": (33,),
}
# Counted as read, too.
FORWARD = {
    "small/phix_1.fastq": (1, 5, 31, 64),
    "small/454_titanium.fq": (15, 33),
    "small/mirbase_mature_RNA.fa.gz": (5, 21),
    "small/dm3_chr4_softmasked.fa.gz": (31,),
    "small/NA12878_hiseq_chr20_first500.bam": (5, 31),
    "small/derived/spombe_rnaseq_120k.external_ref.cram": (15, 64),
    "small/lambda_ont_multiline.fastq.gz": (12, 13, 32),
}
FORWARD_FULL = {
    "medium/ecoli_K12_MG1655_GCF_000005845.2.fna.gz": (1, 12, 31, 33, 64),
    "medium/hifi_NA12878_chr21.unmapped.bam": (31, 64),
    "medium/celegans_ce10_WS220.fa.gz": (31,),
}
QUALITY = {
    "small/illumina18_150bp.fq.gz": (21, 20),
    "small/lambda_ont_multiline.fastq.gz": (15, 10),
    "small/ont_crlf.fastq.gz": (31, 8),
    "small/phix_2.fastq": (33, 30),
    "small/NA12878_hiseq_chr20_first500.bam": (31, 25),
    "small/NA12878_platinum_chrM.cram30.cram": (21, 30),
}
# Formats that KMC and Jellyfish read right (neither knows U or multi-line FASTQ): file, KMC's flag.
PEER_FILES = {
    "small/dm3_chr4_softmasked.fa.gz": "-fm",
    "small/human_g1k_chr20_21_200k.fa.gz": "-fm",
    "small/ebola_many.fasta.gz": "-fm",
    "small/ecoli_KAT_r1.1K.fastq.gz": "-fq",
    "small/illumina18_150bp.fq.gz": "-fq",
    "small/phix174.fasta": "-fm",
    "medium/ecoli_K12_MG1655_GCF_000005845.2.fna.gz": "-fm",
}
PEER_FILES_FULL = {
    "medium/sarscov2_418genomes_nextstrain.fasta.gz": "-fm",
    "medium/human_exome_NA12878_NIST7035_R1.fastq.gz": "-fq",
    "medium/soil_metagenome_25k.fq.gz": "-fq",
    "medium/celegans_ce10_WS220.fa.gz": "-fm",
}


class Case:
    """One file, one k, one way of counting."""

    def __init__(self, data_file, k, forward=False, min_quality=0):
        self.file, self.k, self.forward, self.min_quality = data_file, k, forward, min_quality

    def __str__(self):
        text = f"{self.file.name} k={self.k}"
        text += " forward" if self.forward else ""
        return text + (f" quality>={self.min_quality}" if self.min_quality else "")

    @property
    def oracle(self):
        return [self.file.text_command(), common.oracle_command(self.k, self.forward, self.min_quality)]

    def warpmer_count(self, warpmer, index, threads):
        command = [warpmer, "count", "-k", self.k, "-t", threads, "-o", index, *self.file.warpmer_options]
        command += ["--forward"] if self.forward else []
        command += ["--min-base-quality", self.min_quality] if self.min_quality else []
        return [*command, self.file.path]


class Comparison:
    def __init__(self, report, folder, cache):
        self.report, self.folder, self.cache = report, folder, cache
        self.warpmer = common.warpmer_path()
        self.rows = []

    def oracle_digest(self, case):
        """The oracle's digest, from the cache where it holds it: by the file's content, the oracle and the case."""
        entry = None
        if self.cache:
            key = hashlib.sha256()
            source = (common.SOURCE / "tests/oracle/naive_count.cpp").read_bytes().hex()
            for part in (case.file.sha256 + case.file.version, source, case):
                key.update(f"{part}\n".encode())
            entry = self.cache / key.hexdigest()
            if entry.exists():
                sha256, lines = entry.read_text().split()
                return common.Digest(sha256, int(lines))
        digest = common.digest(case.oracle)
        if entry:
            entry.write_text(f"{digest.sha256} {digest.lines}\n")
        return digest

    def run(self, case, ordinal):
        index = self.folder / f"{ordinal}.wmi"
        try:
            start = time.monotonic()
            expected = self.oracle_digest(case)
            oracle_seconds = time.monotonic() - start
            start = time.monotonic()
            count = case.warpmer_count(self.warpmer, index, 1 + ordinal % 3)
            done = common.run(count)
            seconds = time.monotonic() - start
            if done.returncode != 0:
                error = done.stderr.decode(errors="replace")
                self.report.fail(case, f"{common.quoted(count)}\nended with {done.returncode}: {error}")
                self.rows.append((case, expected.lines, oracle_seconds, seconds, f"exit {done.returncode}"))
                return
            dump = [[self.warpmer, "dump", "--sort", index]]
            actual = common.digest(dump)
            if expected == actual:
                self.report.ok(case)
            else:
                difference = common.first_difference(case.oracle, dump)
                self.report.fail(case, f"{common.quoted(count)}\noracle {expected}, warpmer {actual}\n{difference}")
            self.rows.append((case, expected.lines, oracle_seconds, seconds, "same" if expected == actual else "DIFFERS"))
        except common.Failed as failure:
            self.report.fail(case, failure)
        finally:
            index.unlink(missing_ok=True)


class Hangs(Exception):
    """A peer that did not end. KMC does not, now and then."""


def sorted_text(commands, folder, name, seconds):
    """The sorted lines of what a shell pipeline prints: its Digest."""
    environment = dict(os.environ, LC_ALL="C", TMPDIR=str(folder))
    script = f"set -o pipefail; {commands} | sort -S 500M | tee >(wc -l >{name}.lines) | sha256sum; wait"
    done = common.run(["timeout", "-k", "5", str(seconds), "bash", "-c", script], cwd=folder, env=environment)
    if done.returncode in (124, 137):
        raise Hangs(f"{name} did not end within {seconds} s")
    if done.returncode != 0:
        raise common.Failed(f"{commands}\nended with {done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}")
    for _ in range(100):
        lines = (folder / f"{name}.lines").read_text().split()
        if lines:
            return common.Digest(done.stdout.split()[0].decode(), int(lines[0]))
        time.sleep(0.05)
    raise common.Failed(f"{commands}: no line count")


def kmc(data_file, flag, k, folder, seconds):
    (folder / "kmc_tmp").mkdir(exist_ok=True)
    count = ["kmc", f"-k{k}", "-t2", "-m4", "-ci1", "-cs4294967295", flag, data_file.path, "kmc_db", "kmc_tmp"]
    commands = f"{common.quoted(count)} >&2 && kmc_tools -t1 -hp transform kmc_db dump -s kmc.txt >&2 && cat kmc.txt"
    return sorted_text(f"{{ {commands}; }}", folder, "kmc", seconds)


def jellyfish(data_file, k, folder, seconds):
    text = common.quoted(data_file.text_command())
    count = f"{text} | jellyfish count -C -m {k} -s 10M -t 2 -o jf /dev/stdin"
    return sorted_text(f"{{ {count} && jellyfish dump -c -t jf; }}", folder, "jellyfish", seconds)


def compare_peers(report, comparison, case, flag):
    """The oracle against KMC (k >= 15) and Jellyfish."""
    peers = []
    if case.k >= 15 and shutil.which("kmc") and shutil.which("kmc_tools"):
        peers.append(("kmc", lambda *where: kmc(case.file, flag, case.k, *where)))
    if shutil.which("jellyfish"):
        peers.append(("jellyfish", lambda *where: jellyfish(case.file, case.k, *where)))
    if not peers:
        report.skip(f"{case} peers", "neither kmc nor jellyfish is installed")
    seconds = 60 + case.file.bases // 50_000
    for name, count in peers:
        for attempt in range(3):
            with tempfile.TemporaryDirectory(dir=comparison.folder) as folder:
                try:
                    expected = comparison.oracle_digest(case)
                    actual = count(pathlib.Path(folder), seconds)
                    report.check(f"{case} {name}", expected == actual, f"oracle {expected}, {name} {actual}")
                    break
                except common.Failed as failure:
                    report.fail(f"{case} {name}", failure)
                    break
                except Hangs as hangs:
                    if attempt == 2:
                        report.skip(f"{case} {name}", f"{hangs}, three times")


def select_cases(files, arguments):
    wanted_k = [int(k) for k in arguments.k.split(",")] if arguments.k else None
    cases = []
    ordinal = 0  # of small files
    for data_file in files:
        if arguments.only not in data_file.name or (arguments.exclude and arguments.exclude in data_file.name):
            continue
        if data_file.why_refused:
            continue
        if data_file.is_alignment and not shutil.which("samtools"):
            continue
        if arguments.full:
            all_k = ALL_K
        elif not data_file.is_medium:
            # Any k finds what a file does to the reader, and any file what a k does to the counter.
            ordinal += 1
            all_k = ALL_K[ordinal % 3 :: 3]
        else:
            all_k = QUICK_MEDIUM.get(data_file.name, ())
        cases += [Case(data_file, k) for k in all_k]
        forward = {**FORWARD, **FORWARD_FULL} if arguments.full else FORWARD
        cases += [Case(data_file, k, forward=True) for k in forward.get(data_file.name, ())]
        if data_file.name in QUALITY:
            k, quality = QUALITY[data_file.name]
            cases.append(Case(data_file, k, min_quality=quality))
    return [case for case in cases if wanted_k is None or case.k in wanted_k]


def print_table(rows):
    print(f"\n{'file':64} {'k':>2} {'how':10} {'distinct':>10} {'oracle s':>8} {'count s':>8}  result")
    for case, lines, oracle_seconds, seconds, result in sorted(rows, key=lambda row: (row[0].file.name, row[0].k)):
        how = "forward" if case.forward else f"quality {case.min_quality}" if case.min_quality else "canonical"
        name = case.file.name
        print(f"{name:64} {case.k:2} {how:10} {lines:10} {oracle_seconds:8.2f} {seconds:8.2f}  {result}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", metavar="SUBSTRING")
    parser.add_argument("-k", default="", metavar="K,K")
    parser.add_argument("--oracle-only", action="store_true", help="check the oracle against the peers, fill the cache")
    parser.add_argument("--no-peers", action="store_true", help="do without KMC and Jellyfish")
    parser.add_argument("--exclude", default=None, metavar="SUBSTRING")
    arguments = parser.parse_args()
    folder = common.shared_data()
    if arguments.oracle_only:
        os.environ["WARPMER"] = "/bin/false"
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    common.oracle_path()
    files = common.manifest(folder)
    report = common.Report()
    if not shutil.which("samtools"):
        report.skip("BAM and CRAM", "samtools is not installed")
    cases = select_cases(files, arguments)
    with tempfile.TemporaryDirectory(prefix="real_data.") as temporary:
        comparison = Comparison(report, pathlib.Path(temporary), arguments.cache)
        if arguments.oracle_only:
            for case in cases:
                try:
                    comparison.oracle_digest(case)
                    report.ok()
                except common.Failed as failure:
                    report.fail(case, failure)
        else:
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                list(pool.map(comparison.run, cases, range(len(cases))))
        peers = {**PEER_FILES, **PEER_FILES_FULL} if arguments.full else PEER_FILES
        all_k = (5, 15, 21, 31, 32, 33, 55, 64) if arguments.full else (5, 15, 33, 55)
        for case in [] if arguments.no_peers else cases:
            is_plain = not case.forward and not case.min_quality
            is_quick = case.file.bases < 20_000_000 or case.k == 31  # Jellyfish and sort take minutes for a genome
            if case.file.name in peers and case.k in all_k and is_plain and is_quick:
                compare_peers(report, comparison, case, peers[case.file.name])
        if arguments.full:
            print_table(comparison.rows)
    report.finish()


if __name__ == "__main__":
    main()
