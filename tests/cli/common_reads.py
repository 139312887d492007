"""Made-up reads."""

import random


def simulated_reads(length, repeated, number, error_rate):
    """Reads whose spectrum is quickly modelled: of 100 bases of a genome that has `repeated` of its bases twice."""
    chance = random.Random(4)
    genome = "".join(chance.choices("ACGT", k=length))
    genome += genome[:repeated]
    for _ in range(number):
        at = chance.randrange(len(genome) - 100)
        yield "".join(chance.choice("ACGT") if chance.random() < error_rate else base for base in genome[at : at + 100])


def random_reads(chance, number, genome, k):
    """Named reads of a genome; some have breaks, some are too short, some repeat themselves."""
    reads = []
    for i in range(number):
        at = chance.randrange(len(genome) - 200)
        read = genome[at : at + chance.randrange(k, 200)]
        if i % 7 == 0:
            read = read[: len(read) // 2] + "N" + read[len(read) // 2 :]
        if i % 11 == 0:
            read = read[: k - 1]
        if i % 13 == 0:
            read = "ACAC" * 60
        reads.append((f"r{i}", read))
    return reads
