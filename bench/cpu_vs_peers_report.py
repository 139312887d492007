#!/usr/bin/env python3
"""Turns the measurements of cpu_vs_peers.sh into Markdown. Exits 1 when the tools disagree on the k-mers."""

import argparse
import collections
import datetime
import os
import re
import statistics
import subprocess
import sys

INPUTS = {  # in the report
    "reads": "Simulated reads, FASTQ (100x of 4.6 Mbp, 150 bp, 0.5 % errors)",
    "reads-gz": "The same with binned qualities, gzip",
    "genome": "C. elegans genome (ce10), FASTA",
    "genome-gz": "C. elegans genome (ce10), FASTA, gzip",
}
ROWS = {"reads": "reads", "reads-gz": "reads, gzip", "genome": "genome", "genome-gz": "genome, gzip"}  # in docs/results.md
TOOLS = {
    "warpmer": "warpmer",
    "kmc": "KMC, disk",
    "kmc-m4": "KMC, disk, `-m4`",
    "kmc-ram": "KMC, RAM (`-r`)",
    "jellyfish": "Jellyfish",
    "meryl": "meryl",
    "floor": "decompression alone (`igzip`)",
}


def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return "not there"
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "?")


def processor():
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} vCPUs ({models[0] if models else '?'})"


def machine():
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) / 2**20
    with open("/etc/os-release") as file:
        system = re.search(r'PRETTY_NAME="?([^"\n]*)', file.read()).group(1)
    return f"{processor()}, {memory:.0f} GiB, {system}, Linux {os.uname().release}"


def seconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def write_short(options, runs):
    """What the README shows."""
    threads = re.search(r"-t (\d+)", runs["reads", "warpmer"][0][6]) if ("reads", "warpmer") in runs else None
    with open(options.short, "w") as file:
        if not threads:
            return
        print(f"1 GB of simulated reads ({INPUTS['reads'].split('(')[1]}, k = 31, {threads.group(1)} threads, each program writing "
              f"its database, {datetime.date.today()}:\n", file=file)
        print("| | wall, s | CPU, s | peak memory, GB | database, MB |\n|---|---|---|---|---|", file=file)
        for tool, title in TOOLS.items():
            rows = runs.get(("reads", tool))
            if rows and tool != "floor":
                wall, cpu, peak, size = (statistics.median(row[i] for row in rows) for i in range(4))
                print(f"| {title} | {seconds(wall)} | {seconds(cpu)} | {peak:.2f} | {size:.0f} |", file=file)


def write_rows(options, runs):
    """Medians with what docs/results.md says of each number."""
    with open(options.rows, "w") as file:
        print("| input | program | wall, s | CPU, s | peak, GB | database, MB | date | machine | commit | command |\n"
              "|---|---|---|---|---|---|---|---|---|---|", file=file)
        for name, title in ROWS.items():
            for tool, program in TOOLS.items():
                if (name, tool) in runs:
                    wall, cpu, peak, size = (statistics.median(row[i] for row in runs[name, tool]) for i in range(4))
                    stored = "| " if tool == "floor" else f"{peak:.2f} | {size:.0f}"
                    print(f"| {title} | {program} | {seconds(wall)} | {seconds(cpu)} | {stored} | {datetime.date.today()} "
                          f"| {processor()} | {options.commit.removesuffix('-dirty')} | `{options.call.strip()}` |", file=file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--short", help="also write the table of simulated reads, medians only, to this file")
    parser.add_argument("--rows", help="also write the table of docs/results.md to this file")
    for name in ("--commit", "--simulated", "--call"):
        parser.add_argument(name, default="")
    parser.add_argument("--hide", action="append", default=[])
    options = parser.parse_args()

    runs = collections.defaultdict(list)
    with open(options.results) as file:
        for line in file:
            input_name, tool, _, wall, cpu, peak, size, total, distinct, command = line.rstrip("\n").split("\t")
            for folder in options.hide:
                command = command.replace(folder + "/", "")
            runs[input_name, tool].append(
                (float(wall), float(cpu), int(peak) / 1e6, int(size) / 1e6, total, distinct, command)
            )

    print(f"### {datetime.date.today()}, commit {options.commit}\n")
    print(f"{machine()}. {first_line('kmc', '--version')}; {first_line('jellyfish', '--version')}; "
          f"{first_line('igzip', '--version')}. `{options.call.strip()}`, load before the report "
          f"{os.getloadavg()[2]:.1f}. Medians (smallest to largest).\n")
    print(f"Reads: `simulate_reads {options.simulated}`.\n")

    agree = True
    for input_name, title in INPUTS.items():
        tools = [tool for tool in TOOLS if (input_name, tool) in runs]
        if not tools:
            continue
        print(f"**{title}**\n")
        print("| | wall, s | CPU, s | peak, GB | database, MB | wall / warpmer | CPU / warpmer |")
        print("|---|---|---|---|---|---|---|")
        ours = runs.get((input_name, "warpmer"))
        answers = set()
        for tool in tools:
            rows = runs[input_name, tool]
            median = [statistics.median(row[i] for row in rows) for i in range(4)]
            spread = [f"({seconds(min(row[i] for row in rows))} to {seconds(max(row[i] for row in rows))})"
                      for i in range(2)]
            ratios = ["", ""]
            if ours:
                ratios = [f"{median[i] / max(1e-9, statistics.median(row[i] for row in ours)):.2f}" for i in range(2)]
            size = "" if tool == "floor" else f"{median[3]:.0f}"
            print(f"| {TOOLS[tool]} | {seconds(median[0])} {spread[0]} | {seconds(median[1])} {spread[1]} "
                  f"| {median[2]:.2f} | {size} | {ratios[0]} | {ratios[1]} |")
            if tool != "floor":
                answers |= {(row[4], row[5]) for row in rows}
        if len(answers) == 1:
            total, distinct = (int(x) for x in answers.pop())
            print(f"\n{total:,} k-mers, {distinct:,} distinct; all tools and rounds agree.\n")
        else:
            agree = False
            print(f"\n**The tools disagree** (total, distinct): {sorted(answers)}\n")
        floor, ours_median = runs.get((input_name, "floor")), ours and statistics.median(row[0] for row in ours)
        if floor and ours_median:
            share = statistics.median(row[0] for row in floor) / ours_median
            print(f"Decompression alone takes {100 * share:.0f} % of warpmer's wall time.", end="")
            plain = runs.get((input_name.removesuffix("-gz"), "warpmer"))
            if plain:
                more = ours_median / statistics.median(row[0] for row in plain) - 1
                print(f" Gzip instead of plain text changes it by {100 * more:+.0f} %.", end="")
            print("\n")
    if options.short:
        write_short(options, runs)
    if options.rows:
        write_rows(options, runs)
    print("Command lines:\n")
    shown = set()
    for (_, tool), rows in runs.items():
        line = rows[0][6]
        if (tool, line) not in shown:
            shown.add((tool, line))
            print(f"    {line}")
    print()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
