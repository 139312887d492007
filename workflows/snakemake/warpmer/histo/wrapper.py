"""Snakemake wrapper for warpmer histo."""

import shlex

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = f"> {shlex.quote(snakemake.log[0])} 2>&1" if snakemake.log else ""  # log_fmt_shell quotes nothing

shell(
    "warpmer histo {extra} --output {snakemake.output[0]:q} {snakemake.input:q} {log}"
)
