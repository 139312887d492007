#pragma once
/// Cutting text into super-k-mers around their minimizers. One per thread.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/simd/cutter.h"
#include "cpu/simd/kernels.h"
#include "groups/flanked_word.h"
#include "io/text/batch.h"

namespace warpmer::cpu {

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
    std::uint64_t kmers = 0;
    stretches_.for_each(
        batch, piece, [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
          const std::size_t stretch_kmers = bases - params_.k + 1;
          kmers += stretch_kmers;
          for (std::size_t done = 0; done < stretch_kmers; done += kCutKmers) {
            if (list_.size + kCutKmers > capacity_) full();
            const std::size_t n = std::min(kCutKmers, stretch_kmers - done);
            const std::size_t before = list_.size;
            cut_stretch(packed, first + done, n + params_.k - 1);
            const auto shift = static_cast<std::uint32_t>(origin + at - first);
            if (shift != 0) {
              for (std::size_t i = before; i < list_.size; ++i) list_.starts[i] += shift;
            }
          }
        });
    return kmers;
  }

  [[nodiscard]] const FlankedList<Words>& list() const { return list_; }
  void clear() { list_.size = 0; }
  /// Returns the memory of one of kCapacity.
  [[nodiscard]] static std::uint64_t memory_bytes() {
    return kCapacity * (sizeof(groups::FlankedWord<Words>) + sizeof(std::uint16_t) + sizeof(std::uint32_t) +
                        sizeof(std::uint8_t));
  }

 private:
  void cut_stretch(const std::uint64_t* packed, std::size_t first, std::size_t bases) {
    if constexpr (Words == 2) {
      kernels_.cut_flanked2(packed, first, bases, params_, scratch_.data(), list_);
    } else {
      kernels_.cut_flanked4(packed, first, bases, params_, scratch_.data(), list_);
    }
  }

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
