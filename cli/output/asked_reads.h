#pragma once
/// Adds up the reads whose k-mers are looked up: for the line at the end, and for a warning when there is
/// nothing to look up.

#include <atomic>
#include <cstdint>

#include "backend/lookup/lookup.h"
#include "io/text/batch.h"
#include "jobs/session_run.h"

namespace warpmer::cli {

/// Thread-safe.
class AskedReads {
 public:
  /// Adds a batch with its counts.
  void add(const io::Batch& batch, const backend::Profile& profile);
  /// Adds a batch of which it is known whether it has k-mers.
  void add(const io::Batch& batch, bool has_kmers);
  /// Adds what was found in raw text.
  void add(const backend::ReadTotals& read);

  /// Forgets all that was added.
  void clear();
  /// Returns the sequences and bases so far, and 1 as the number of k-mers when there are any. (Bases that
  /// two pieces of a sequence share count twice.)
  [[nodiscard]] backend::ReadTotals totals() const;

 private:
  std::atomic<std::uint64_t> records_{0};
  std::atomic<std::uint64_t> bases_{0};
  std::atomic<bool> has_kmers_{false};
};

}  // namespace warpmer::cli
