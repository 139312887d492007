#pragma once
/// Times that the stages of a counting session take.

#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace warpmer::cpu {

/// A thread's time in the stages of a session.
struct StageTimes {
  double cut_seconds = 0;
  double split_seconds = 0;
  double exchange_seconds = 0;
  double count_seconds = 0;
  double spill_seconds = 0;
  double read_back_seconds = 0;
  double freeze_seconds = 0;
  std::uint64_t cut_bytes = 0;  ///< bytes of text
  std::uint64_t super_kmer_bytes = 0;
  std::uint64_t exchanged_bytes = 0;

  /// Returns the time spent on what cutting calls in between.
  [[nodiscard]] double after_cut_seconds() const {
    return split_seconds + exchange_seconds + spill_seconds + count_seconds + freeze_seconds;
  }

  void add(const StageTimes& other) {
    cut_seconds += other.cut_seconds;
    split_seconds += other.split_seconds;
    exchange_seconds += other.exchange_seconds;
    count_seconds += other.count_seconds;
    spill_seconds += other.spill_seconds;
    read_back_seconds += other.read_back_seconds;
    freeze_seconds += other.freeze_seconds;
    cut_bytes += other.cut_bytes;
    super_kmer_bytes += other.super_kmer_bytes;
    exchanged_bytes += other.exchanged_bytes;
  }

  [[nodiscard]] std::vector<backend::StageReport> reports(const backend::SpillReport& spilled) const {
    return {{"cut", cut_seconds, cut_bytes},
            {"split", split_seconds, super_kmer_bytes},
            {"exchange", exchange_seconds, exchanged_bytes},
            {"spill", spill_seconds, spilled.written_bytes},
            {"read back", read_back_seconds, spilled.read_bytes},
            {"count", count_seconds, super_kmer_bytes},
            {"freeze", freeze_seconds, 0}};
  }
};

}  // namespace warpmer::cpu
