"""Snakemake wrapper for warpmer query."""

import shlex

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = f"> {shlex.quote(snakemake.log[0])} 2>&1" if snakemake.log else ""  # log_fmt_shell quotes nothing

shell(
    "warpmer query {extra} --threads {snakemake.threads} "
    "--output {snakemake.output[0]:q} {snakemake.input.index:q} --reads {snakemake.input.reads:q} {log}"
)
