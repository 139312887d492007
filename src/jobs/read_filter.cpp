#include "jobs/read_filter.h"

#include <algorithm>

namespace warpmer::jobs {

void break_at_low_quality(std::span<std::uint64_t> counts, std::uint32_t k,
                          const std::function<bool(std::size_t)>& is_low) {
  if (counts.empty()) return;
  std::size_t unbroken = 0;  // bases of good quality up to the one looked at
  for (std::size_t base = 0; base < counts.size() + k - 1; ++base) {
    unbroken = is_low(base) ? 0 : unbroken + 1;
    if (base + 1 >= k && unbroken < k) counts[base + 1 - k] = backend::Profile::kNoKmer;
  }
}

ReadKmers count_found(std::span<const std::uint64_t> counts, const ReadRule& rule) {
  ReadKmers read;
  for (const std::uint64_t count : counts) {
    read.kmers += count != backend::Profile::kNoKmer ? 1 : 0;
    read.found += rule.is_found(count) ? 1 : 0;
  }
  return read;
}

BaseRange covered_range(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule) {
  const auto is_found = [&](std::uint64_t count) { return rule.is_found(count); };
  const auto first = std::find_if(counts.begin(), counts.end(), is_found);
  if (first == counts.end()) return {};
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_found).base() - 1;
  return {static_cast<std::size_t>(first - counts.begin()), static_cast<std::size_t>(last - first) + k};
}

std::size_t mask_uncovered(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule,
                           std::span<char> bases) {
  std::size_t masked = 0;
  std::size_t covered_end = 0;
  for (std::size_t base = 0; base < bases.size(); ++base) {
    if (base < counts.size() && rule.is_found(counts[base])) covered_end = base + k;
    if (base < covered_end || bases[base] == 'N') continue;
    bases[base] = 'N';
    ++masked;
  }
  return masked;
}

std::size_t leading_bases(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule) {
  const auto end =
      std::ranges::find_if_not(counts, [&](std::uint64_t count) { return rule.is_found(count); });
  return end == counts.begin() ? 0 : static_cast<std::size_t>(end - counts.begin()) + k - 1;
}

void mask_others(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule,
                 std::span<char> bases) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (rule.is_found(counts[i])) continue;
    for (next = std::max(next, i); next < i + k; ++next) bases[next] = 'N';
  }
}

}  // namespace warpmer::jobs
