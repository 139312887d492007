#!/usr/bin/env python3
"""Reads a warpmer index and prints KMER<TAB>COUNT, in file order.

Written from docs/index-format.md alone, so that it is an oracle for what warpmer writes. It checks
everything the document promises but the checksums, for which it needs the module `xxhash`.

    read_wmi.py [--sort] FILE

Without arguments it is a test: it counts small sequences with $WARPMER and compares what it reads
with what it counts itself.

ctest: release only
"""

import collections
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import xxhash
except ImportError:
    xxhash = None

MAGIC = b"\x89WMI\r\n\x1a\n"
END_MAGIC = b"\x89WMIEND\n"
BASES = "ACGT"
MASK32 = 0xFFFFFFFF

MULTIPLIERS = {
    64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
    128: (0x9E3779B97F4A7C15F39CC0605CEDC835, 0xBB67AE8584CAA73B25742D7078B83B89),
}

Index = collections.namedtuple("Index", "k canonical m shard_bits totals histogram provenance shards")
Shard = collections.namedtuple("Shard", "entries exceptions bucket_bits count_bits exception_bits payload")


class Damaged(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Damaged(what)


def check_sum(data, expected, what):
    if xxhash is not None:
        require(xxhash.xxh3_64_intdigest(data) == expected, f"{what} does not match its checksum")


def words_of(values, width):
    return (values * width + 63) // 64


def bits(data, position, width):
    """`width` bits from bit `position` on, least significant bit first."""
    begin, end = position // 8, (position + width + 7) // 8
    return int.from_bytes(data[begin:end], "little") >> (position % 8) & ((1 << width) - 1)


# --- The container. ---


def read_text(data, at):
    (size,) = struct.unpack_from("<Q", data, at)
    text = data[at + 8 : at + 8 + size]
    padding = -size % 8
    require(data[at + 8 + size : at + 8 + size + padding] == bytes(padding), "provenance padding")
    return text, at + 8 + size + padding


def read_provenance(data):
    version, at = read_text(data, 0)
    command_line, at = read_text(data, at)
    (inputs,) = struct.unpack_from("<Q", data, at)
    at += 8
    names = []
    for _ in range(inputs):
        name, at = read_text(data, at)
        names.append(name)
    require(at == len(data), "provenance length")
    return version, command_line, names


def read_index(path):
    with open(path, "rb") as file:
        data = file.read()
    require(data[:8] == MAGIC, "magic")
    version, header_bytes, k, flags, m, shard_bits, hash_version = struct.unpack_from("<7I", data, 8)
    require(version == 1 and header_bytes == 64 and flags <= 1 and hash_version == 2, "header")
    require(data[36:56] == bytes(20), "reserved header bytes")
    (header_sum,) = struct.unpack_from("<Q", data, 56)
    check_sum(data[:56], header_sum, "header")

    trailer = data[-136:]
    require(trailer[-8:] == END_MAGIC, "end magic")
    numbers = struct.unpack_from("<14Q2IQ", trailer)
    sections = [numbers[i : i + 3] for i in (0, 3, 6, 9)]
    content_sum, file_bytes, trailer_version, trailer_bytes, trailer_sum = numbers[12:]
    require(file_bytes == len(data) and trailer_version == 1 and trailer_bytes == 136, "trailer")
    check_sum(trailer[:120], trailer_sum, "trailer")
    check_sum(struct.pack("<4Q", header_sum, *(s[2] for s in sections[:3])), content_sum, "content")
    end = sections[0][0]
    parts = []
    for offset, size, expected in sections:
        require(offset == end, "section offset")
        end += size
        parts.append(data[offset:end])
        check_sum(parts[-1], expected, "section")
    require(end == len(data) - 136, "sections end at the trailer")
    directory, totals, histogram, provenance = parts

    require(len(directory) == 48 << shard_bits and len(totals) == 80, "section sizes")
    end = 64
    shards = []
    for at in range(0, len(directory), 48):
        offset, words, entries, exceptions, b, c, e = struct.unpack_from("<4Q3B", directory, at)
        require(directory[at + 35 : at + 40] == bytes(5), "reserved directory bytes")
        require(offset == end, "payload offset")
        end += 8 * words
        payload = data[offset:end]
        check_sum(payload, struct.unpack_from("<Q", directory, at + 40)[0], "payload")
        shards.append(Shard(entries, exceptions, b, c, e, payload))
    require(end == sections[0][0], "payloads end at the directory")

    pairs = struct.unpack(f"<{len(histogram) // 8}Q", histogram)
    require(pairs[0] * 2 + 1 == len(pairs), "histogram length")
    return Index(k, flags & 1, m, shard_bits, struct.unpack("<10Q", totals),
                 list(zip(pairs[1::2], pairs[2::2])), read_provenance(provenance), shards)


# --- Hashes. ---


def unhash(value, k):
    mask = (1 << 2 * k) - 1
    first, second = MULTIPLIERS[64 if k <= 32 else 128]
    x = value * pow(second, -1, 1 << 128) & mask
    x ^= x >> k
    return x * pow(first, -1, 1 << 128) & mask


def text_of(kmer, k):
    return "".join(BASES[kmer >> 2 * (k - 1 - i) & 3] for i in range(k))


def minimizer_hash(mmer):
    x = (mmer ^ 0x5BD1E995) * 0x9E3779B1 & MASK32
    x ^= x >> 16
    return x * 0x85EBCA6B & MASK32


def group_id(mmer, m):
    mask = (1 << 2 * m) - 1
    x = mmer * 0x9E3779B1 & mask
    x ^= x >> m
    x = x * 0x85EBCA6B & mask
    return x ^ x >> m


def shard_of(text, m, shard_bits, canonical):
    if shard_bits == 0:
        return 0
    mmers = []
    for i in range(len(text) - m + 1):
        codes = [BASES.index(c) for c in text[i : i + m]]
        forward = sum(code << 2 * j for j, code in enumerate(codes))
        reverse = sum((3 - code) << 2 * j for j, code in enumerate(reversed(codes)))
        mmers.append(min(forward, reverse) if canonical else forward)
    return group_id(min(mmers, key=minimizer_hash), m) >> (2 * m - shard_bits)


# --- Shards. ---


def shard_entries(shard, k):
    """(hash, count) of every entry of a shard, and all that must hold inside it."""
    n = shard.entries
    if n == 0:
        require(shard[1:5] == (0, 0, 1, 0) and not shard.payload, "empty shard")
        return
    offset_width = n.bit_length()
    rest = 2 * k - shard.bucket_bits
    number_width = (n - 1).bit_length()
    offset_words = words_of((1 << shard.bucket_bits) + 1, offset_width) if shard.bucket_bits else 0
    entry_words = words_of(n, rest + shard.count_bits)
    exception_words = words_of(shard.exceptions, number_width + shard.exception_bits)
    require(8 * (offset_words + entry_words + exception_words) == len(shard.payload), "payload size")
    offsets = shard.payload[: 8 * offset_words]
    entries = shard.payload[8 * offset_words : 8 * (offset_words + entry_words)]
    exceptions = shard.payload[8 * (offset_words + entry_words) :]

    large = []
    for i in range(shard.exceptions):
        at = i * (number_width + shard.exception_bits)
        large.append((bits(exceptions, at + shard.exception_bits, number_width),
                      bits(exceptions, at, shard.exception_bits)))
    require(all(a[0] < b[0] for a, b in zip(large, large[1:])), "order of exceptions")
    large = dict(large)

    bucket, bucket_end, previous = -1, 0, -1
    for i in range(n):
        while i == bucket_end or bucket < 0:
            bucket += 1
            bucket_end = bits(offsets, (bucket + 1) * offset_width, offset_width) if shard.bucket_bits else n
        at = i * (rest + shard.count_bits)
        code = bits(entries, at, shard.count_bits)
        value = bucket << rest | bits(entries, at + shard.count_bits, rest)
        require(value > previous, "order of entries")
        previous = value
        if code == (1 << shard.count_bits) - 1:
            require(i in large, "a large count is missing")
            yield value, large.pop(i)
        else:
            yield value, code + 1
    require(not large, "large counts without entries")


def index_entries(index):
    """(text, count) of every entry of an index, and all that must hold for their sum."""
    histogram = collections.Counter()
    for number, shard in enumerate(index.shards):
        for value, count in shard_entries(shard, index.k):
            text = text_of(unhash(value, index.k), index.k)
            require(shard_of(text, index.m, index.shard_bits, index.canonical) == number, "a k-mer in a wrong shard")
            histogram[count] += 1
            yield text, count
    require(sorted(histogram.items()) == index.histogram, "histogram")
    require(sum(histogram.values()) == index.totals[4], "stored distinct k-mers")
    require(sum(c * n for c, n in histogram.items()) == index.totals[3], "stored k-mers")
    require(max(histogram, default=0) == index.totals[5], "largest count")


# --- The test. ---


def count_naively(reads, k, canonical):
    counts = collections.Counter()
    other = str.maketrans("ACGT", "TGCA")
    for read in reads:
        for i in range(len(read) - k + 1):
            kmer = read[i : i + k]
            if set(kmer) <= set(BASES):
                counts[min(kmer, kmer[::-1].translate(other)) if canonical else kmer] += 1
    return counts


def self_test():
    warpmer = os.environ.get("WARPMER")
    if not warpmer:
        print("skipped: WARPMER does not name the program")
        return 77
    rng = random.Random(2)
    genome = "".join(rng.choices(BASES, k=3000))
    reads = [genome[i : i + 200] for i in range(0, 2800, 50)] + ["A" * 5000, "ACGTN" * 50, genome[:70] * 30]
    with tempfile.TemporaryDirectory() as folder:
        fasta, output = os.path.join(folder, "reads.fa"), os.path.join(folder, "reads.wmi")
        with open(fasta, "w") as file:
            for i, read in enumerate(reads):
                file.write(f">{i}\n{read}\n")
        for k in (1, 2, 5, 12, 13, 21, 31, 32, 33, 48, 49, 63, 64):
            for strand in ([], ["--forward"]):
                subprocess.run([warpmer, "count", "-k", str(k), *strand, "-o", output, fasta], check=True)
                index = read_index(output)
                counts = count_naively(reads, k, not strand)
                assert index.k == k and bool(index.canonical) == (not strand)
                assert dict(index_entries(index)) == counts, f"k={k} {strand}"
                assert index.totals[:3] == (sum(counts.values()), len(counts), list(counts.values()).count(1))
                assert index.totals[8:] == (len(reads), sum(map(len, reads)))
    print("ok" if xxhash else "ok (checksums not looked at: no module xxhash)")
    return 0


def main():
    arguments = [a for a in sys.argv[1:] if a != "--sort"]
    if not sys.argv[1:]:
        return self_test()
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        entries = list(index_entries(read_index(arguments[0])))
    except (Damaged, struct.error) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 3
    if "--sort" in sys.argv:
        entries.sort()
    sys.stdout.writelines(f"{kmer}\t{count}\n" for kmer, count in entries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
