"""Sequences whose k-mers share one minimizer, and so are all in one shard."""

BASES = bytes(b"ACGT"[byte & 3] for byte in range(256))


def random_bases(chance, length):
    return chance.randbytes(length).translate(BASES).decode()


def canonical_code(code, m):
    """Of an m-mer as kmer/minimizer.h reads it, the first base least significant."""
    other = 0
    for i in range(m):
        other = other << 2 | 3 - (code >> 2 * i & 3)
    return min(code, other)


def foremost_mmer(m):
    """The m-mer with the smallest hash (kmer/hash.h, whose steps are undone here): the minimizer of whatever has it."""
    low = (1 << 32) - 1
    first, second = (pow(multiplier, -1, 1 << 32) for multiplier in (0x9E3779B1, 0x85EBCA6B))
    for minimizer in range(1 << 20):
        mixed = minimizer * second & low
        code = ((mixed ^ mixed >> 16) * first & low) ^ 0x5BD1E995
        if code >> 2 * m == 0 and canonical_code(code, m) == code:
            return "".join("ACGT"[code >> 2 * i & 3] for i in range(m))


def hot(chance, kmers, k, m):
    """K-mers that are all different and share one minimizer, and so are all in one shard; half of them twice."""
    mmer, flank = foremost_mmer(m), k - m
    units = [random_bases(chance, flank) + mmer + random_bases(chance, flank) for _ in range(kmers // (flank + 1))]
    once = random_bases(chance, 300_000)
    return f">hot\n{'N'.join(units)}\n>once\n{once}\n>A\n{'A' * 300_000}\n>again\n{'N'.join(units[::2])}\n"


def apart(chance, kmers, k, m):
    """K-mers that share one minimizer and do not overlap, so that each is a string of its group by itself; record by record."""
    mmer, flank, each = foremost_mmer(m), k - m, 10_000
    for _ in range(kmers // each):
        flanks = [random_bases(chance, flank) for _ in range(each)]
        lefts = [chance.randrange(flank + 1) for _ in range(each)]
        yield f">apart\n{'N'.join(both[:left] + mmer + both[left:] for both, left in zip(flanks, lefts))}\n"
