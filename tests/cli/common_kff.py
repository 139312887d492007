"""A reader and a writer of KFF files, from the description of the format alone: any codes of the bases, several k-mers a block, data of any
width, sections with and without a minimizer, one strand or both. Slow and strict; nothing of warpmer's is in it."""

import collections
import struct

from common_cli import canonical

MARK = b"KFF"


class KffFile:
    """What is in a file: `k`, `facts` (all variables), `is_canonical`, and `entries`, (k-mer, data) in the order of the file."""

    def __init__(self, content):
        self.content, self.at, self.facts, self.entries, self.sections = content, 0, {}, [], []
        assert self.take(3) == MARK and content.endswith(MARK) and self.take(2) == b"\1\0"
        code = self.number(1)
        self.bases = {code >> shift & 3: base for shift, base in zip((6, 4, 2, 0), "ACGT")}
        assert len(self.bases) == 4
        self.is_unique, self.is_canonical = self.number(1) != 0, self.number(1) != 0
        self.take(self.number(4))
        while self.at < len(content) - len(MARK):
            begin, letter = self.at, self.take(1)
            {b"v": self.variables, b"i": self.index, b"r": self.raw, b"m": self.with_minimizer}[letter]()
            self.sections.append((letter, begin, self.at))
        assert self.at == len(content) - len(MARK)
        self.check_footer()
        self.k = self.facts["k"]

    def take(self, size):
        self.at += size
        assert self.at <= len(self.content)
        return self.content[self.at - size : self.at]

    def number(self, size, signed=False):
        return int.from_bytes(self.take(size), "big", signed=signed)

    def variables(self):
        self.last_variables = []
        for _ in range(self.number(8)):
            end = self.content.index(b"\0", self.at)
            name = self.take(end - self.at).decode()
            self.take(1)
            self.facts[name] = self.number(8)
            self.last_variables.append(name)

    def index(self):
        pairs = [(self.take(1), self.number(8, signed=True)) for _ in range(self.number(8))]
        self.number(8, signed=True)
        for letter, distance in pairs:  # from the end of this section
            assert self.content[self.at + distance : self.at + distance + 1] == letter

    def check_footer(self):
        """The last section is of variables, and the last of these is how long it is; another is where the index is."""
        letter, begin, end = self.sections[-1]
        assert letter == b"v" and self.last_variables[-1] == "footer_size" and self.facts["footer_size"] == end - begin
        assert self.content[self.facts["first_index"] : self.facts["first_index"] + 1] == b"i"

    def sequence(self, bases):
        bits = self.number((bases + 3) // 4)
        assert bits < 4**bases
        return "".join(self.bases[bits >> 2 * i & 3] for i in reversed(range(bases)))

    def block(self, cut_bases):
        most = self.facts["max"]
        kmers = self.number(bytes_of(most)) if most > 1 else 1
        assert 1 <= kmers <= most
        return kmers, self.facts["k"] - 1 + kmers - cut_bases

    def add(self, sequence, kmers):
        for i in range(kmers):
            self.entries.append((sequence[i : i + self.facts["k"]], self.number(self.facts["data_size"])))

    def raw(self):
        for _ in range(self.number(8)):
            kmers, bases = self.block(0)
            self.add(self.sequence(bases), kmers)

    def with_minimizer(self):
        minimizer = self.sequence(self.facts["m"])
        place_bytes = bytes_of(self.facts["k"] + self.facts["max"] - 1)
        for _ in range(self.number(8)):
            kmers, bases = self.block(self.facts["m"])
            place = self.number(place_bytes)
            rest = self.sequence(bases)
            self.add(rest[:place] + minimizer + rest[place:], kmers)

    def counts(self):
        """By canonical k-mer, both strands added up."""
        counts = collections.Counter()
        for kmer, count in self.entries:
            counts[canonical(kmer)] += count
        return counts


def bytes_of(values):
    """Bytes of a number that has so many values."""
    return ((values - 1).bit_length() + 7) // 8


def kff_bytes(strings, counts, k, codes="ACGT", most=1, data_size=1, is_canonical=True, minimizer="", name=b"a text"):
    """A file with the k-mers of `strings`, each with its count; `codes` are the bases with the codes 0 to 3. With a minimizer all strings must
    have it, and k-mers that do not are left out."""

    def packed(text):
        bits = 0
        for base in text:
            bits = bits << 2 | codes.index(base)
        return bits.to_bytes((len(text) + 3) // 4, "big")

    def variables(**values):
        return b"v" + struct.pack(">Q", len(values)) + b"".join(name.encode() + b"\0" + struct.pack(">Q", value) for name, value in values.items())

    blocks = []
    for string in strings:
        for begin in range(0, len(string) - k + 1, most):
            text = string[begin : begin + most + k - 1]
            kmers = [text[i : i + k] for i in range(len(text) - k + 1)]
            block = len(kmers).to_bytes(bytes_of(most), "big") if most > 1 else b""
            if minimizer:
                place = text.find(minimizer)
                if place < 0:
                    continue
                block += place.to_bytes(bytes_of(k + most - 1), "big")
                text = text[:place] + text[place + len(minimizer) :]
            blocks.append(block + packed(text) + b"".join(counts[kmer].to_bytes(data_size, "big") for kmer in kmers))
    encoding = sum(codes.index(base) << shift for base, shift in zip("ACGT", (6, 4, 2, 0)))
    head = MARK + bytes([1, 0, encoding, 1, is_canonical]) + struct.pack(">I", len(name)) + name
    known = {"k": k, "max": most, "data_size": data_size} | ({"m": len(minimizer)} if minimizer else {})
    section = (b"m" + packed(minimizer) if minimizer else b"r") + struct.pack(">Q", len(blocks)) + b"".join(blocks)
    body = head + variables(**known)
    index_at = len(body) + len(section)
    index = b"i" + struct.pack(">Q", 1) + section[:1]
    index += struct.pack(">qq", len(body) - (index_at + len(index) + 16), 0)
    footer = variables(first_index=index_at, footer_size=0)
    return body + section + index + variables(first_index=index_at, footer_size=len(footer)) + MARK
