#pragma once
/// The line that `query` writes for a read, behind the read's name: the same on a CPU and on a GPU.

#include <cstdint>

#include "kmer/platform.h"

namespace warpmer::backend {

/// Returns how many decimal digits a number has.
template <class Number>
WARPMER_HD std::uint32_t digits_of(Number number) {
  std::uint32_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

/// Writes a tab and a number, and returns the place behind them.
template <class Number>
WARPMER_HD char* write_column(Number number, char* to) {
  *to = '\t';
  char* const end = to + 1 + digits_of(number);
  char* at = end;
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return end;
}

/// Returns the bytes that write_summary writes.
template <class Sums>
WARPMER_HD std::uint32_t summary_bytes(const Sums& sums) {
  constexpr std::uint32_t kTabsAndEnd = 6;
  if (sums.kmers == 0) return kTabsAndEnd + 2 * 1 + 3 * 2;  // 0 and NA
  return kTabsAndEnd + digits_of(sums.kmers) + digits_of(sums.found) + digits_of(sums.smallest) +
         digits_of(sums.median) + digits_of(sums.largest);
}

/// Writes the five numbers of a read, each behind a tab, and a line end; returns the place behind that.
/// `Sums` is a ReadSummary, or the same in 32 bits. A read without k-mers has no smallest, median and largest
/// count.
template <class Sums>
WARPMER_HD char* write_summary(const Sums& sums, char* to) {
  to = write_column(sums.kmers, to);
  to = write_column(sums.found, to);
  if (sums.kmers == 0) {
    for (int column = 0; column < 3; ++column) {
      *to++ = '\t';
      *to++ = 'N';
      *to++ = 'A';
    }
  } else {
    to = write_column(sums.smallest, to);
    to = write_column(sums.median, to);
    to = write_column(sums.largest, to);
  }
  *to++ = '\n';
  return to;
}

}  // namespace warpmer::backend
