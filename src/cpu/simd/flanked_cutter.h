#pragma once
/// Cutting text into super-k-mers around their minimizers. One per thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/simd/kernels.h"
#include "cpu/simd/stretch_finder.h"
#include "groups/flanked_word.h"
#include "io/text/batch.h"

namespace warpmer::cpu {

/// `Words` is 2 for k from 13 to 47, and 4 above. InputError at characters that are no nucleotide codes,
/// unless `lenient`.
template <int Words>
class FlankedCutter {
 public:
  /// Super-k-mers collected before they are handed on, unless asked for otherwise; small enough for the
  /// second-level cache.
  static constexpr std::size_t kCapacity = 32768;

  FlankedCutter(const Kernels& kernels, std::uint32_t k, bool canonical, bool lenient,
                std::size_t capacity = kCapacity)
      : kernels_(kernels),
        capacity_(capacity),
        params_{k, canonical},
        stretches_(kernels, k, lenient),
        scratch_(kFlankedCutScratch),
        words_(new groups::FlankedWord<Words>[capacity + kFlankedPastEnd]),
        shards_(new std::uint16_t[capacity + kFlankedPastEnd]),
        starts_(new std::uint32_t[capacity + kFlankedPastEnd]),
        is_forward_(new std::uint8_t[capacity + kFlankedPastEnd]),
        list_{words_.get(), shards_.get(), starts_.get(), is_forward_.get(), 0} {}

  /// Cuts one piece, appending to `list()`; calls `full()`, which must `clear()`, whenever room may
  /// run out. `starts` are positions in the piece plus `origin`. Returns the number of k-mers.
  template <class Full>
  std::uint64_t cut(const io::Batch& batch, const io::Piece& piece, std::uint32_t origin, Full&& full) {
    return stretches_.cut_piece(
        batch, piece, origin, list_, capacity_, full,
        [&](const std::uint64_t* packed, std::size_t first, std::size_t bases) {
          if constexpr (Words == 2) {
            kernels_.cut_flanked2(packed, first, bases, params_, scratch_.data(), list_);
          } else {
            kernels_.cut_flanked4(packed, first, bases, params_, scratch_.data(), list_);
          }
        });
  }

  [[nodiscard]] FlankedList<Words>& list() { return list_; }
  void clear() { list_.size = 0; }
  /// Returns the memory of one of kCapacity.
  [[nodiscard]] static std::uint64_t memory_bytes() {
    return kCapacity * (sizeof(groups::FlankedWord<Words>) + sizeof(std::uint16_t) + sizeof(std::uint32_t) +
                        sizeof(std::uint8_t));
  }

 private:
  const Kernels& kernels_;
  std::size_t capacity_;
  FlankedCutParams params_;
  StretchFinder stretches_;
  std::vector<std::uint32_t> scratch_;
  std::unique_ptr<groups::FlankedWord<Words>[]> words_;
  std::unique_ptr<std::uint16_t[]> shards_;
  std::unique_ptr<std::uint32_t[]> starts_;
  std::unique_ptr<std::uint8_t[]> is_forward_;
  FlankedList<Words> list_;
};

}  // namespace warpmer::cpu
