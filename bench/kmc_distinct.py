#!/usr/bin/env python3
"""Prints how many k-mers a KMC database has, by the header in its .kmc_pre file (KMC 1 and 2 formats)."""

import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
version, header_bytes = struct.unpack("<II", data[-12:-4])
header = data[-8 - header_bytes :]
# k, mode, bytes of a counter, prefix length, in KMC 2 signature length, smallest and largest count, number.
print(struct.unpack_from("<Q", header, 28 if version == 0x200 else 24)[0])
