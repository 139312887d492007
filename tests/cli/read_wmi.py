#!/usr/bin/env python3
"""Reads a warpmer index and prints KMER<TAB>COUNT, in file order.

Written from docs/index-format.md alone, so that it is an oracle for what warpmer writes. It checks
everything the document promises but the checksums, for which it needs the module `xxhash`. File order is
that of `warpmer dump`: by shard; entries by their hashes, strings by group, layer and flanks.

    read_wmi.py [--sort] FILE

Without arguments it is a test: it counts small sequences with $WARPMER and compares what it reads
with what it counts itself.

ctest: release only
"""

import collections
import functools
import math
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
OTHER_STRAND = str.maketrans("ACGT", "TGCA")
MASK32 = 0xFFFFFFFF

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)

Index = collections.namedtuple("Index", "k canonical m shard_bits totals histogram provenance shards")
EntryShard = collections.namedtuple("EntryShard", "entries exceptions bucket_bits count_bits exception_bits payload")
StringShard = collections.namedtuple("StringShard", "kmers groups buckets large_groups offset_bits words payload")
# The numbers that k fixes: of the minimizer, of the other bases, and of the bits of a group's id in its shard.
Shape = collections.namedtuple("Shape", "k m n id_bits canonical")
# A path of k-mers: the bases on both sides of the minimizer, in the order of the text.
String = collections.namedtuple("String", "left right counts")


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


class Bits:
    """Fields one behind the other, from bit `at` to bit `end`."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, 8 * len(data) if end is None else end

    def take(self, width):
        require(self.at + width <= self.end, "a part is shorter than what is in it")
        self.at += width
        return bits(self.data, self.at - width, width)

    def take_gamma(self):
        zeros = 0
        while not self.take(1):
            zeros += 1
        require(zeros < 64, "a gamma code is too long")
        return 1 << zeros | self.take(zeros)

    def require_zeros(self, what):
        require(self.take(self.end - self.at) == 0, what)


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


def read_entry_directory(directory, shards):
    """A shard without its payload, the payload's offset, words and checksum, for each shard."""
    require(len(directory) == 48 * shards, "section sizes")
    for at in range(0, len(directory), 48):
        offset, words, entries, exceptions, b, c, x = struct.unpack_from("<4Q3B", directory, at)
        require(directory[at + 35 : at + 40] == bytes(5), "reserved directory bytes")
        require(c in range(1, 65) and b <= 48 and x <= 64 and (x == 0) == (exceptions == 0), "widths of a shard")
        (checksum,) = struct.unpack_from("<Q", directory, at + 40)
        yield EntryShard(entries, exceptions, b, c, x, None), offset, words, checksum


def read_string_directory(directory, shards):
    """The same of shards of strings; where their payloads begin is not said."""
    require(len(directory) >= 8 and directory[6:8] == bytes(2), "widths of the directory's columns")
    at, columns = 8, []
    for width in directory[:6]:
        size = 8 * words_of(shards, width)
        column = Bits(directory[at : at + size])
        columns.append([column.take(width) for _ in range(shards)])
        column.require_zeros("bits behind a column of the directory")
        require(max(columns[-1]).bit_length() == width, "width of a column of the directory")
        at += size
    require(len(directory) == at + 8 * shards, "section sizes")
    checksums = struct.unpack_from(f"<{shards}Q", directory, at)
    for sizes, checksum in zip(zip(*columns), checksums):
        shard = StringShard(*sizes, None)
        require(all(sizes[i] > 0 for i in (0, 1, 2, 4, 5)) or not any(sizes), "sizes of a shard")
        yield shard, None, shard.words, checksum


def read_index(path):
    with open(path, "rb") as file:
        data = file.read()
    require(data[:8] == MAGIC, "magic")
    version, header_bytes, k, flags, m, shard_bits, hash_version = struct.unpack_from("<7I", data, 8)
    require(version == 2 and header_bytes == 64 and flags <= 1 and hash_version == 2, "header")
    require(data[36:56] == bytes(20), "reserved header bytes")
    require(1 <= k <= 64 and m <= k and shard_bits <= 24, "k, m and s")
    require(k <= 12 or (m, shard_bits) == (11 if k <= 19 else 13 if k <= 27 else 15, 12), "m and s of this k")
    (header_sum,) = struct.unpack_from("<Q", data, 56)
    check_sum(data[:56], header_sum, "header")

    trailer = data[-136:]
    require(trailer[-8:] == END_MAGIC, "end magic")
    numbers = struct.unpack_from("<14Q2IQ", trailer)
    sections = [numbers[i : i + 3] for i in (0, 3, 6, 9)]
    content_sum, file_bytes, trailer_version, trailer_bytes, trailer_sum = numbers[12:]
    require(file_bytes == len(data) and trailer_version == 2 and trailer_bytes == 136, "trailer")
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

    require(len(totals) == 80, "section sizes")
    read_directory = read_entry_directory if k <= 12 else read_string_directory
    end = 64
    shards = []
    for shard, offset, words, expected in read_directory(directory, 1 << shard_bits):
        require(offset in (end, None), "payload offset")
        payload = data[end : end + 8 * words]
        end += 8 * words
        require(end <= sections[0][0], "payloads end at the directory")
        check_sum(payload, expected, "payload")
        shards.append(shard._replace(payload=payload))
    require(end == sections[0][0], "payloads end at the directory")

    pairs = struct.unpack(f"<{len(histogram) // 8}Q", histogram)
    require(pairs[0] * 2 + 1 == len(pairs), "histogram length")
    return Index(k, flags & 1, m, shard_bits, struct.unpack("<10Q", totals),
                 list(zip(pairs[1::2], pairs[2::2])), read_provenance(provenance), shards)


# --- Hashes. ---


def unhash(value, k):
    mask = (1 << 2 * k) - 1
    first, second = MULTIPLIERS
    x = value * pow(second, -1, 1 << 64) & mask
    x ^= x >> k
    return x * pow(first, -1, 1 << 64) & mask


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


def group_of_id(value, m):
    """The inverse of group_id."""
    mask = (1 << 2 * m) - 1
    y = value ^ value >> m
    y = y * 0xA5CB9243 & mask
    y ^= y >> m
    return y * 0x0E8B2F51 & mask


def reverse_complement(text):
    return text[::-1].translate(OTHER_STRAND)


@functools.lru_cache(maxsize=1 << 18)
def mmer_of(text, canonical):
    """(hash, m-mer, 1 if from the other strand) of an m-mer, as a number with its first base lowest."""
    forward, reverse = (sum(BASES.index(base) << 2 * i for i, base in enumerate(strand))
                        for strand in (text, reverse_complement(text)))
    turned = canonical and reverse < forward
    mmer = reverse if turned else forward
    return minimizer_hash(mmer), mmer, int(turned)


def minimizer_of(kmer, m, canonical):
    return min(mmer_of(kmer[i : i + m], canonical) for i in range(len(kmer) - m + 1))[1]


def shard_of(kmer, m, shard_bits, canonical):
    return 0 if shard_bits == 0 else group_id(minimizer_of(kmer, m, canonical), m) >> (2 * m - shard_bits)


def place_of(kmer, shape):
    """(minimizer, layer, flanks) of a k-mer: where it has to be in an index of strings."""
    minimizer = minimizer_of(kmer, shape.m, shape.canonical)
    places = []
    for i in range(shape.n + 1):
        _, mmer, turned = mmer_of(kmer[i : i + shape.m], shape.canonical)
        if mmer == minimizer:
            layer, text = (shape.n - i, reverse_complement(kmer)) if turned else (i, kmer)
            places.append((layer, text[:layer] + text[layer + shape.m :]))
    return minimizer, *min(places)


# --- Shards of entries. ---


def hashed_entries(shard, k):
    """(hash, count) of every entry of a shard, and all that must hold inside it."""
    n = shard.entries
    if n == 0:
        require(shard[1:5] == (0, 0, 1, 0) and not shard.payload, "empty shard")
        return
    require(shard.bucket_bits <= 2 * k, "number of buckets")
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


def entries_of_entries(index, number, shard):
    """(text, count) of every k-mer of a shard of entries."""
    for value, count in hashed_entries(shard, index.k):
        text = text_of(unhash(value, index.k), index.k)
        require(shard_of(text, index.m, index.shard_bits, index.canonical) == number, "a k-mer in a wrong shard")
        yield text, count


# --- Shards of strings. ---


def read_lengths(part, shape):
    """(bases to the left, bases to the right, k-mers) of a string; of a large group None."""
    large = (shape.n + 1) * (shape.n + 2) // 2
    code = part.take(large.bit_length())
    if code == large:
        return None
    require(code < large, "a string of no length")
    a = (math.isqrt(8 * code + 1) - 1) // 2
    kmers = code - a * (a + 1) // 2 + 1
    return a, shape.n - a + kmers - 1, kmers


def outward(number, bases):
    """A flank as text, from the base beside the minimizer on."""
    return "".join(BASES[number >> 2 * i & 3] for i in range(bases))


def read_flanks(part, lengths):
    left = outward(part.take(2 * lengths[0]), lengths[0])[::-1]
    return left, outward(part.take(2 * lengths[1]), lengths[1])


def read_counts(part, kmers):
    width = part.take_gamma() - 1
    smallest = part.take_gamma()
    beyond = [part.take(width) for _ in range(kmers)]
    require(min(beyond) == 0 and max(beyond).bit_length() == width, "width of a string's counts")
    require(smallest + max(beyond) < 1 << 64, "a count is too large")
    return [smallest + more for more in beyond]


def kmers_of(string, n):
    """(layer, flanks, count) of each k-mer of a string."""
    for layer, count in zip(range(len(string.left), -1, -1), string.counts):
        yield layer, string.left[len(string.left) - layer :] + string.right[: n - layer], count


def read_bucket(part, first, shard, shape):
    """[id, strings] of each group of a bucket; instead of the strings of a large group the number of its record."""
    strings = part.take_gamma() - 1
    begins = [part.take(1) for _ in range(strings)]
    require(not strings or begins[0], "a string of no group")
    width = (((1 << shape.id_bits) - 1) // shard.buckets).bit_length()
    ids = [first + part.take(width) for _ in range(sum(begins))]
    lengths = [read_lengths(part, shape) for _ in range(strings)]
    flanks = [read_flanks(part, each) if each else part.take((shard.large_groups - 1).bit_length()) for each in lengths]
    counts = [read_counts(part, each[2]) if each else None for each in lengths]
    require(part.at == part.end, "a bucket is longer than what is in it")
    groups = []
    for begin, each, sides, numbers in zip(begins, lengths, flanks, counts):
        if begin:
            groups.append([ids[len(groups)], []])
        if each:
            groups[-1][1].append(String(*sides, numbers))
        else:
            require(begin, "a large group within a group")
            groups[-1][1] = sides
        require(isinstance(groups[-1][1], int) == (each is None), "a string within a large group")
    return groups


def read_record(part, shape):
    """The strings of a large group."""
    strings, kmers, count_bits = part.take_gamma(), part.take_gamma(), part.take_gamma()
    require(strings > 64, "a large group of few strings")
    require(kmers < 1 << 32, "a group of too many k-mers")
    bases = strings * (shape.n - 1) + kmers
    lengths = [read_lengths(part, shape) for _ in range(strings)]
    require(all(lengths), "a large group within a large group")
    require(sum(each[2] for each in lengths) == kmers, "k-mers of a large group")
    marks = [(part.take(bases.bit_length()), part.take(count_bits.bit_length())) for _ in range(0, strings, 8)]
    begin, flanks, bases_at = part.at, [], []
    for each in lengths:
        bases_at.append((part.at - begin) // 2)
        flanks.append(read_flanks(part, each))
    begin, counts, counts_at = part.at, [], []
    for each in lengths:
        counts_at.append(part.at - begin)
        counts.append(read_counts(part, each[2]))
    require(part.at - begin == count_bits, "bits of the counts of a large group")
    require(marks == list(zip(bases_at, counts_at))[::8], "marks of a large group")
    group = [String(*sides, numbers) for sides, numbers in zip(flanks, counts)]

    layers = [[] for _ in range(shape.n + 1)]
    for number, string in enumerate(group):
        for layer, sides, _ in kmers_of(string, shape.n):
            layers[layer].append((sides, number))
    begins = [part.take(kmers.bit_length()) for _ in range(shape.n + 2)]
    require(begins == [sum(map(len, layers[:i])) for i in range(shape.n + 2)], "layers of a large group")
    numbers = [part.take((strings - 1).bit_length()) for _ in range(kmers)]
    require(numbers == [number for layer in layers for _, number in sorted(layer)], "order of a layer")
    require(part.at == part.end, "a record is longer than what is in it")
    return group


def path_cover(layers, n):
    """The strings of a group, from the counts of its k-mers: {flanks: count} for each layer."""
    following, followers = {}, set()
    for layer in range(1, n + 1):
        ends, begins = collections.defaultdict(list), collections.defaultdict(list)
        for flanks, count in layers[layer].items():
            ends[flanks[1:]].append((-count, flanks))
        for flanks, count in layers[layer - 1].items():
            begins[flanks[:-1]].append((-count, flanks))
        for shared in ends:
            for (_, upper), (_, lower) in zip(sorted(ends[shared]), sorted(begins[shared])):
                following[layer, upper] = lower
                followers.add((layer - 1, lower))
    strings = []
    for layer in range(n + 1):
        for flanks in layers[layer]:
            if (layer, flanks) not in followers:
                counts, last, at = [layers[layer][flanks]], flanks, layer
                while (at, last) in following:
                    last = following[at, last]
                    at -= 1
                    counts.append(layers[at][last])
                strings.append(String(flanks[:layer], last[at:], counts))
    return sorted(strings, key=lambda x: (-max(x.counts), -len(x.left), -len(x.right), x.left, x.right[::-1]))


def group_entries(strings, identity, shape):
    """(text, count) of every k-mer of a group, and all that must hold inside it."""
    layers = [{} for _ in range(shape.n + 1)]
    for string in strings:
        for layer, flanks, count in kmers_of(string, shape.n):
            require(flanks not in layers[layer], "a k-mer stands twice")
            layers[layer][flanks] = count
    require(path_cover(layers, shape.n) == strings, "strings of a group")
    minimizer = group_of_id(identity, shape.m)
    require(group_id(minimizer, shape.m) == identity, "id of a group")
    middle = outward(minimizer, shape.m)
    for layer, kmers in enumerate(layers):
        for flanks, count in sorted(kmers.items()):
            text = flanks[:layer] + middle + flanks[layer:]
            if shape.canonical:
                text = min(text, reverse_complement(text))
            require(place_of(text, shape) == (minimizer, layer, flanks), "a k-mer in a wrong place")
            yield text, count


def shard_groups(shard, shape):
    """{id: strings} of a shard, and all that must hold for its parts."""
    parts = shard.buckets + shard.large_groups
    head = Bits(shard.payload, 0, 64 * words_of(parts + 1, shard.offset_bits))
    offsets = [head.take(shard.offset_bits) for _ in range(parts + 1)]
    head.require_zeros("bits behind the offsets")
    require(offsets[0] == 0 and offsets == sorted(offsets), "offsets of a shard")
    require(offsets[-1].bit_length() == shard.offset_bits, "width of the offsets")
    ends = [head.end + offset for offset in offsets]
    require(words_of(ends[-1], 1) == shard.words, "words of a shard")
    Bits(shard.payload, ends[-1]).require_zeros("bits behind the last part")

    groups, strings, records = {}, 0, 0
    for i in range(shard.buckets):
        first = -(-(i << shape.id_bits) // shard.buckets)
        order = []
        for identity, group in read_bucket(Bits(shard.payload, ends[i], ends[i + 1]), first, shard, shape):
            require(identity * shard.buckets >> shape.id_bits == i, "a group in a wrong bucket")
            require(identity not in groups, "a group stands twice")
            strings += 1 if isinstance(group, int) else len(group)
            if isinstance(group, int):
                require(group == records < shard.large_groups, "order of the records")
                at = shard.buckets + records
                group = read_record(Bits(shard.payload, ends[at], ends[at + 1]), shape)
                records += 1
            else:
                require(len(group) <= 64, "a group of many strings without a record")
            groups[identity] = group
            order.append((-max(max(string.counts) for string in group), identity))
        require(order == sorted(order), "order of the groups in a bucket")
    require(records == shard.large_groups, "number of large groups")
    require(len(groups) == shard.groups, "number of groups")
    require(min(-(-strings // 4), 1 << shape.id_bits) == shard.buckets, "number of buckets")
    return groups


def entries_of_strings(index, number, shard):
    """(text, count) of every k-mer of a shard of strings."""
    if shard.kmers == 0:
        return
    shape = Shape(index.k, index.m, index.k - index.m, 2 * index.m - index.shard_bits, bool(index.canonical))
    kmers = 0
    for identity, strings in sorted(shard_groups(shard, shape).items()):
        for entry in group_entries(strings, number << shape.id_bits | identity, shape):
            kmers += 1
            yield entry
    require(kmers == shard.kmers, "number of k-mers")


# --- All of an index. ---


def index_entries(index):
    """(text, count) of every k-mer of an index, and all that must hold for their sum."""
    histogram = collections.Counter()
    entries_of = entries_of_entries if index.k <= 12 else entries_of_strings
    for number, shard in enumerate(index.shards):
        for text, count in entries_of(index, number, shard):
            histogram[count] += 1
            yield text, count
    require(sorted(histogram.items()) == index.histogram, "histogram")
    require(sum(histogram.values()) == index.totals[4], "stored distinct k-mers")
    require(sum(c * n for c, n in histogram.items()) == index.totals[3], "stored k-mers")
    require(max(histogram, default=0) == index.totals[5], "largest count")


# --- The test. ---


def count_naively(reads, k, canonical):
    counts = collections.Counter()
    for read in reads:
        for i in range(len(read) - k + 1):
            kmer = read[i : i + k]
            if set(kmer) <= set(BASES):
                counts[min(kmer, reverse_complement(kmer)) if canonical else kmer] += 1
    return counts


def reads_around_a_minimizer(rng, k):
    """100 reads that have an m-mer of a small hash in common, and some that have it several times, on both strands."""
    m = 11 if k <= 19 else 13 if k <= 27 else 15
    mmers = ("".join(rng.choices(BASES, k=m)) for _ in range(20000))
    # A canonical one serves --forward, too.
    mmer = min((text for text in mmers if not mmer_of(text, True)[2]), key=lambda text: mmer_of(text, True)[0])

    def around(*middle):
        sides = ["".join(rng.choices(BASES, k=k - m)) for _ in range(2)]
        return "".join((sides[0], *middle, sides[1]))

    reads = [around(mmer) for _ in range(100)]
    for bases in range(0, 40, 7):
        between = "".join(rng.choices(BASES, k=bases))
        for second in (mmer, reverse_complement(mmer)):
            reads.append(around(mmer, between, second))
        reads.append(around(mmer, between, reverse_complement(between), reverse_complement(mmer)))
    return reads


def self_test():
    warpmer = os.environ.get("WARPMER")
    if not warpmer:
        print("skipped: WARPMER does not name the program")
        return 77
    rng = random.Random(2)
    genome = "".join(rng.choices(BASES, k=3000))
    reads = [genome[i : i + 200] for i in range(0, 2800, 50)] + ["A" * 5000, "ACGTN" * 50, genome[:70] * 30]
    for k in (1, 2, 5, 12, 13, 15, 19, 20, 21, 27, 28, 31, 32, 33, 47, 48, 49, 55, 63, 64):
        test_reads(warpmer, reads + (reads_around_a_minimizer(rng, k) if k > 12 else []), k)
    print("ok" if xxhash else "ok (checksums not looked at: no module xxhash)")
    return 0


def test_reads(warpmer, reads, k):
    with tempfile.TemporaryDirectory() as folder:
        fasta, output = os.path.join(folder, "reads.fa"), os.path.join(folder, "reads.wmi")
        with open(fasta, "w") as file:
            for i, read in enumerate(reads):
                file.write(f">{i}\n{read}\n")
        for strand in ([], ["--forward"]):
            subprocess.run([warpmer, "count", "-k", str(k), *strand, "-o", output, fasta], check=True)
            index = read_index(output)
            counts = count_naively(reads, k, not strand)
            assert index.k == k and bool(index.canonical) == (not strand)
            entries = list(index_entries(index))
            assert dict(entries) == counts, f"k={k} {strand}"
            assert index.totals[:3] == (sum(counts.values()), len(counts), list(counts.values()).count(1))
            assert index.totals[8:] == (len(reads), sum(map(len, reads)))
            assert k <= 13 or any(shard.large_groups for shard in index.shards), f"no group is large: k={k} {strand}"
            dump = subprocess.run([warpmer, "dump", output], check=True, capture_output=True, text=True).stdout
            assert dump == "".join(f"{kmer}\t{count}\n" for kmer, count in entries), f"order of k={k} {strand}"


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
