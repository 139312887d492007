"""Reads an index of positions as docs/position-index-format.md describes it; plain Python, slow, for small files.

    python3 common_wmp.py FILE    prints the k-mers and where they occur
"""

import struct
import sys

HEADER, TRAILER = 64, 136
A64, B64 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
A128, B128 = 0x9E3779B97F4A7C15F39CC0605CEDC835, 0xBB67AE8584CAA73B25742D7078B83B89


def numbers_of(data, offset, width, count):
    """`count` numbers of `width` bits, packed from a byte on, the least significant bit first."""
    mask = (1 << width) - 1
    numbers = []
    for bit in range(8 * offset, 8 * offset + count * width, max(width, 1)):
        some = int.from_bytes(data[bit // 8 : (bit + width + 7) // 8], "little")
        numbers.append((some >> (bit % 8)) & mask)
    return numbers


def words(bits):
    return (bits + 63) // 64


class PositionIndex:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, version, header, self.k, flags, self.bin_bits, self.location_bits, hashes = struct.unpack_from(
            "<8s7I", self.data
        )
        assert (magic, version, header, hashes) == (b"\x89WMP\r\n\x1a\n", 1, HEADER, 1)
        self.canonical = flags == 1
        a, b = (A64, B64) if self.k <= 32 else (A128, B128)
        self.a_inverse, self.b_inverse = (pow(x, -1, 1 << (2 * self.k)) for x in (a, b))
        tail = struct.unpack_from("<14Q", self.data, len(self.data) - TRAILER)
        assert self.data[-8:] == b"\x89WMPEND\n"
        assert tail[13] == len(self.data)
        self.content_checksum = tail[12]
        self.directory_at, self.totals_at, self.sequences_at, self.provenance_at = tail[0], tail[3], tail[6], tail[9]
        (self.occurrences, self.distinct, self.unique, self.most_occurrences, count, self.bases) = struct.unpack_from(
            "<6Q", self.data, self.totals_at
        )
        at = self.sequences_at
        self.sequences = []
        for _ in range(count):
            (length,) = struct.unpack_from("<Q", self.data, at)
            name, at = self.text(at + 8)
            self.sequences.append((name, length))
        assert at == self.provenance_at
        self.tool_version, at = self.text(at)
        self.command_line, at = self.text(at)
        (inputs,) = struct.unpack_from("<Q", self.data, at)
        self.inputs = []
        at += 8
        for _ in range(inputs):
            name, at = self.text(at)
            self.inputs.append(name)
        assert at == len(self.data) - TRAILER

    def text(self, at):
        (size,) = struct.unpack_from("<Q", self.data, at)
        return self.data[at + 8 : at + 8 + size].decode(), at + 8 + (size + 7) // 8 * 8

    def kmer(self, value):
        """The k-mer whose hash is `value`."""
        modulus = 1 << (2 * self.k)
        x = value * self.b_inverse % modulus
        x ^= x >> self.k
        x = x * self.a_inverse % modulus
        return "".join("ACGT"[(x >> (2 * i)) & 3] for i in reversed(range(self.k)))

    def place(self, position):
        for name, length in self.sequences:
            if position < length:
                return name, position
            position -= length
        raise ValueError("no such position")

    def entries(self):
        """(k-mer, sequence, position, strand) in the order of the file; the strand is that of the k-mer."""
        for number in range(1 << self.bin_bits):
            offset, size, n, bucket_bits, zero, _ = struct.unpack_from("<3Q2IQ", self.data, self.directory_at + 40 * number)
            assert zero == 0
            rest_bits = 2 * self.k - self.bin_bits - bucket_bits
            buckets = 1 << bucket_bits
            offsets, entries_at = [0, n], offset
            if bucket_bits > 0:
                width = n.bit_length()
                offsets = numbers_of(self.data, offset, width, buckets + 1)
                entries_at += 8 * words((buckets + 1) * width)
            width = rest_bits + self.location_bits
            entries = numbers_of(self.data, entries_at, width, n)
            assert entries_at + 8 * words(n * width) == offset + 8 * size
            for bucket in range(buckets):
                for entry in entries[offsets[bucket] : offsets[bucket + 1]]:
                    location = entry & ((1 << self.location_bits) - 1)
                    rest = entry >> self.location_bits
                    value = ((number << bucket_bits | bucket) << rest_bits) | rest
                    yield (self.kmer(value), *self.place(location >> 1), "+-"[location & 1])


if __name__ == "__main__":
    for found in PositionIndex(sys.argv[1]).entries():
        print(*found, sep="\t")
