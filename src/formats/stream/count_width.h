#pragma once
/// Counts in fields of whole bytes.

#include <cstdint>
#include <span>
#include <string>

namespace warpmer::formats {

struct CountedKmer;

/// Returns the largest count that `bytes` bytes, 1 to 8, can hold.
constexpr std::uint64_t largest_of_bytes(std::uint32_t bytes) {
  return ~std::uint64_t{0} >> (64 - 8 * bytes);
}

/// Returns the bytes, 1 to 8, that counts up to `largest` need.
std::uint32_t bytes_of_count(std::uint64_t largest);

/// K-mers whose counts stand at the limit of the file's counters: they may occur more often than it says.
struct CappedCounts {
  std::uint64_t kmers = 0;
  std::uint64_t limit = 0;  ///< the largest count that the counters hold
  /// True when the counters hold more, but `limit`, the largest count of several k-mers, looks like one that
  /// a user has set: KMC does not write down that of -cs.
  bool is_guess = false;
};

/// Warns of them, if there are any. `input` is how messages call the file.
void warn_of_capped(const CappedCounts& capped, const std::string& input);

/// Watches the counts that come out of counters of limited width.
class CounterLimit {
 public:
  /// Sets the width of counts: `bytes` bytes, 0 to 8. What was counted more often than `max_count` is not in
  /// the file.
  void set(std::uint32_t bytes, std::uint64_t max_count) noexcept {
    limit_ = bytes == 0 || bytes > 7 ? 0 : largest_of_bytes(bytes);
    if (max_count <= limit_) limit_ = 0;
  }
  void set_limit(std::uint64_t limit) noexcept { limit_ = limit; }
  /// A user may have set a lower limit, which the file does not say.
  void may_be_lower() noexcept { may_be_lower_ = true; }
  void note(std::uint64_t count) noexcept {
    if (count == limit_ && count != 0) [[unlikely]] {
      capped_.limit = limit_;
      ++capped_.kmers;
    }
    if (count < largest_) [[likely]]
      return;
    if (count > largest_) at_largest_ = 0;
    largest_ = count;
    ++at_largest_;
  }
  [[nodiscard]] CappedCounts capped() const noexcept;

 private:
  std::uint64_t limit_ = 0;  ///< 0: none
  CappedCounts capped_;
  bool may_be_lower_ = false;
  std::uint64_t largest_ = 1;  ///< of the counts noted so far
  std::uint64_t at_largest_ = 0;
};

/// InputError for the first count that `bytes` bytes cannot hold, with its k-mer.
void check_counts(std::span<const CountedKmer> kmers, std::uint32_t k, std::uint32_t bytes);

}  // namespace warpmer::formats
