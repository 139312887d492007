#!/usr/bin/env python3
"""Copies FASTA from standard input to standard output with some bases replaced by others, at random."""

import argparse
import math
import random
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=0.01, help="share of the bases (0.01)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    others = {ord(base): [ord(other) for other in "ACGT" if other != base] for base in "ACGT"}

    def gap():
        return int(math.log(1 - chance.random()) / math.log(1 - options.rate))

    for line in sys.stdin.buffer:
        if not line.startswith(b">"):
            line = bytearray(line.upper())
            at = gap()
            while at < len(line):
                if line[at] in others:
                    line[at] = chance.choice(others[line[at]])
                at += 1 + gap()
        sys.stdout.buffer.write(line)


main()
