"""Snakemake wrapper for warpmer count."""

import shlex
import tempfile

from snakemake.shell import shell

# A rule also names what is no reads, such as a reference. Inputs without a name come first.
named = sum(1 if isinstance(files, str) else len(files) for _, files in snakemake.input.items())
reads = snakemake.input.get("reads") or snakemake.input[: len(snakemake.input) - named]
if not reads:
    raise ValueError("name the reads 'reads' among the inputs, or give them no name")
k = snakemake.params.get("k", 31)
extra = snakemake.params.get("extra", "")
log = f"> {shlex.quote(snakemake.log[0])} 2>&1" if snakemake.log else ""  # log_fmt_shell quotes nothing
memory = snakemake.resources.get("mem_mib") or snakemake.resources.get("mem_mb")
memory = f"--memory {memory}M" if memory else ""

with tempfile.TemporaryDirectory() as tmp_dir:
    shell(
        "warpmer count -k {k} {extra} --threads {snakemake.threads} {memory} "
        "--tmp-dir {tmp_dir:q} --output {snakemake.output[0]:q} {reads:q} {log}"
    )
