"""Snakemake wrapper for warpmer histo."""

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

shell(
    "warpmer histo {extra} --output {snakemake.output[0]:q} {snakemake.input:q} {log}"
)
