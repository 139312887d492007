#!/usr/bin/env python3
"""Heterozygous pairs of k-mers from reads: `count` and `hetmers --any`, beside FastK and smudgeplot's hetmers.

    bench/hetmers_vs_peers.py --reads FILE [-k 31] [-t 2] [-L 4] [-m SIZE] [--rounds 5] [--warpmer FILE] [--fastk FILE]
                              [--smudgeplot FILE] [--dir DIR]

All in turn, with the same threads and a warm page cache; -m is warpmer's cap. Prints medians of wall time, of CPU time and of
peak memory, of each step and of both, and ratios. Fails when the pairs differ. Run it on an idle machine. FastK and hetmers are
not Debian's: give the programs that you built (https://github.com/thegenemyers/FASTK, https://github.com/KamilSJaron/smudgeplot).
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def parsed():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--reads", required=True, type=pathlib.Path)
    parser.add_argument("-k", default=31, type=int)
    parser.add_argument("-t", "--threads", default=2, type=int)
    parser.add_argument("-L", "--min-count", default=4, type=int)
    parser.add_argument("-m", "--memory", default="8G")
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--warpmer", default=SOURCE / "build/cpu/warpmer", type=pathlib.Path)
    parser.add_argument("--fastk", default="FastK")
    parser.add_argument("--smudgeplot", default="hetmers")
    parser.add_argument("--dir")
    return parser.parse_args()


def measured(command, folder):
    """Wall and CPU seconds, and peak MB, of a program."""
    begin = time.monotonic()
    words = [str(word) for word in command]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        message = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} failed: {message.decode()}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def steps(options):
    reads, k, threads, least = options.reads.resolve(), options.k, options.threads, options.min_count
    warpmer, common = options.warpmer.resolve(), ["-q", "-t", threads, "-m", options.memory]
    return {
        "warpmer": [
            [warpmer, "count", *common, "-k", k, "-o", "x.wmi", reads],
            [warpmer, "hetmers", *common, "--any", "-L", least, "-o", "ours.smu", "x.wmi"],
        ],
        "FastK and smudgeplot": [
            [options.fastk, f"-k{k}", "-t1", f"-T{threads}", "-Nx", "-P.", reads],
            [options.smudgeplot, f"-T{threads}", f"-e{least}", "-P.", "-otheirs", "x"],
        ],
    }


def median(rounds):
    return [statistics.median(values) for values in zip(*rounds)]


def both(rounds):
    """Of two steps: their times together, and the larger peak."""
    return [(a[0] + b[0], a[1] + b[1], max(a[2], b[2])) for a, b in rounds]


def pairs_in(folder, name):
    return sorted((folder / name).read_text().splitlines())


def run(options):
    rounds = {tool: [] for tool in steps(options)}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=options.dir) as name:
            folder = pathlib.Path(name)
            for tool, commands in steps(options).items():
                rounds[tool].append([measured(command, folder) for command in commands])
            if pairs_in(folder, "ours.smu") != pairs_in(folder, "theirs.smu"):
                sys.exit("the pairs differ")
    print("| tool | step | wall s | CPU s | MB |\n| --- | --- | --- | --- | --- |")
    wholes = []
    for tool, of_tool in rounds.items():
        wholes.append(median(both(of_tool)))
        for step, values in [("count", median([one[0] for one in of_tool])), ("pairs", median([one[1] for one in of_tool]))]:
            print("| {} | {} | {:.2f} | {:.2f} | {:.0f} |".format(tool, step, *values))
        print("| {} | both | {:.2f} | {:.2f} | {:.0f} |".format(tool, *wholes[-1]))
    print("\nTheirs by ours: wall {:.1f}, CPU {:.1f}, memory {:.1f}".format(*(b / a for a, b in zip(*wholes))))


if __name__ == "__main__":
    run(parsed())
