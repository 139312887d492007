#!/usr/bin/env python3
"""Turns the measurements of sets_vs_peers.sh into Markdown. Exits 1 when the tools disagree on the k-mers."""

import argparse
import collections
import datetime
import statistics
import sys

from cpu_vs_peers_report import first_line, machine, seconds

TOOLS = {"warpmer": "warpmer", "kmc": "kmc_tools", "jellyfish": "Jellyfish", "meryl": "meryl"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--commit", required=True)
    parser.add_argument("--call", required=True)
    parser.add_argument("--sizes", default="")
    options = parser.parse_args()
    runs = collections.defaultdict(list)
    with open(options.results) as lines:
        for line in lines:
            operation, tool, *rest = line.rstrip("\n").split("\t")
            runs[operation, tool].append(rest)
    print(f"### {datetime.date.today()}, commit {options.commit}: set operations\n")
    print(f"{machine()}; {first_line('kmc_tools')}; {first_line('jellyfish', '--version')}.\n\n    {options.call.strip()}\n")
    print("| | | wall, s | CPU, s | peak memory, MB | written, MB | wall, to warpmer's | CPU, to warpmer's |")
    print("|---|---|---|---|---|---|---|---|")
    disagree = False
    for operation in dict.fromkeys(operation for operation, _ in runs):
        numbers = {run[4] for tool in TOOLS for run in runs.get((operation, tool), []) if run[4]}
        if len(numbers) > 1:
            print(f"{operation}: the tools disagree: {sorted(numbers)} distinct k-mers", file=sys.stderr)
            disagree = True
        ours = None
        for tool, name in TOOLS.items():
            rows = runs.get((operation, tool))
            if not rows:
                continue
            wall, cpu, memory, written = (statistics.median(float(row[i]) for row in rows) for i in range(4))
            ratios = ["", ""] if ours is None else [f"{wall / ours[0]:.1f}", f"{cpu / ours[1]:.1f}"]
            if tool == "warpmer":
                ours, ratios = (max(wall, 0.01), max(cpu, 0.01)), ["1", "1"]
            print(f"| {operation} | {name} | {seconds(wall)} | {seconds(cpu)} | {memory / 1024:.0f} | {written / 1e6:.0f} |"
                  f" {ratios[0]} | {ratios[1]} |")
    if options.sizes:
        sizes = ", ".join(f"{line.split()[1]} {int(line.split()[0]) / 1e6:.0f} MB" for line in options.sizes.splitlines())
        print(f"\nDatabases of the genome: {sizes}.")
    sys.exit(1 if disagree else 0)


main()
