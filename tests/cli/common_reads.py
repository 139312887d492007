"""Made-up reads whose spectrum is quickly modelled."""

import random


def simulated_reads(length, repeated, number, error_rate):
    """Reads of 100 bases of a genome that has `repeated` of its bases twice."""
    chance = random.Random(4)
    genome = "".join(chance.choices("ACGT", k=length))
    genome += genome[:repeated]
    for _ in range(number):
        at = chance.randrange(len(genome) - 100)
        yield "".join(chance.choice("ACGT") if chance.random() < error_rate else base for base in genome[at : at + 100])
