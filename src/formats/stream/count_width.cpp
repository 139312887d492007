#include "formats/stream/count_width.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "base/warning.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {
namespace {

/// True for 100, 200, 500, 1000, 2000 and so on, which people choose as limits.
bool is_round(std::uint64_t count) {
  if (count < 100) return false;
  while (count % 10 == 0) count /= 10;
  return count == 1 || count == 2 || count == 5;
}

}  // namespace

std::uint32_t bytes_of_count(std::uint64_t largest) {
  return std::max(1u, (static_cast<std::uint32_t>(std::bit_width(largest)) + 7) / 8);
}

CappedCounts CounterLimit::capped() const noexcept {
  // Of real data one k-mer has the largest count, and that is no round number.
  if (capped_.kmers == 0 && may_be_lower_ && at_largest_ > 1 && is_round(largest_))
    return {at_largest_, largest_, true};
  return capped_;
}

void warn_of_capped(const CappedCounts& capped, const std::string& input) {
  if (capped.kmers == 0) return;
  if (capped.is_guess) {
    warn(fmt::format(
        "{} k-mers of {} have its largest count, {}: if that was a limit (kmc -cs{}), they may occur "
        "more often",
        capped.kmers, input, capped.limit, capped.limit));
    return;
  }
  const bool is_one = capped.kmers == 1;
  warn(fmt::format("{} k-mer{} of {} stand{} at the limit of its counters, {}, and may occur more often",
                   capped.kmers, is_one ? "" : "s", input, is_one ? "s" : "", capped.limit));
}

void check_counts(std::span<const CountedKmer> kmers, std::uint32_t k, std::uint32_t bytes) {
  std::uint64_t bits = 0;
  for (const CountedKmer& each : kmers) bits |= each.count;
  const std::uint64_t largest = largest_of_bytes(bytes);
  if (bits <= largest) return;
  const auto wide =
      std::find_if(kmers.begin(), kmers.end(), [&](const auto& each) { return each.count > largest; });
  std::string text(k, ' ');
  kmer_to_text(wide->kmer, k, text.data());
  throw InputError(
      fmt::format("{} has a count of {}, and the output's counts of {} bytes go up to {}: take wider "
                  "counts, or let them saturate",
                  text, wide->count, bytes, largest));
}

}  // namespace warpmer::formats
