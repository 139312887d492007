"""How much a test does: everything, or a few cases of each kind. tests/CMakeLists.txt says where which."""

import os
import unittest

FULL = os.environ.get("WARPMER_TIER", "full") != "sample"
UNDER_TSAN = os.environ.get("WARPMER_SANITIZE") == "thread"
UNDER_ASAN = "address" in os.environ.get("WARPMER_SANITIZE", "")


def some(cases, number=1):
    """All cases; in the sample tier `number` of them, spread evenly, the first among them."""
    cases = list(cases)
    if FULL or len(cases) <= number:
        return cases
    return [cases[i * len(cases) // number] for i in range(number)]


def by_tier(full, sample):
    """What the full tier takes, or the sample tier."""
    return full if FULL else sample


def one_thread(test):
    """For a test in which threads do nothing that they do not do in others of its file: not with the thread sanitizer."""
    return unittest.skipIf(UNDER_TSAN, "one thread")(test)


def without_sanitizers(test):
    """For a test of resident sets, which are those of sanitizers where there is one."""
    return unittest.skipIf(os.environ.get("WARPMER_SANITIZE"), "resident sets")(test)
