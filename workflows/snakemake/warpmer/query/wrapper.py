"""Snakemake wrapper for warpmer query."""

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

shell(
    "warpmer query {extra} --threads {snakemake.threads} "
    "--output {snakemake.output[0]:q} {snakemake.input.index:q} --reads {snakemake.input.reads:q} {log}"
)
