#pragma once
/// Fields one after the other into device memory, by one thread; others write what is before and behind.

#include <cstdint>

#include "groups/shard_layout.h"
#include "kernels/warps/bit_packing.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Appends fields, least significant bit first. The words are zero where it begins and where it ends; those
/// between are its own.
class BitAppender {
 public:
  /// Begins at bit `at` of `words`.
  __device__ BitAppender(unsigned long long* words, std::uint64_t at)
      : word_(words + at / 64), filled_(at % 64), is_shared_(filled_ > 0) {}

  /// Appends the low `bits`, at most 64, of a value; those above them are zero.
  __device__ void write(std::uint64_t value, std::uint32_t bits) {
    pending_ |= value << filled_;
    if (filled_ + bits < 64) {
      filled_ += bits;
      return;
    }
    put_word();
    pending_ = filled_ == 0 ? 0 : value >> (64 - filled_);
    filled_ = filled_ + bits - 64;
  }
  /// Appends up to as many bits as the value has.
  __device__ void write_wide(Key64 value, std::uint32_t bits) { write(value, bits); }
  __device__ void write_wide(Key128 value, std::uint32_t bits) {
    write(static_cast<std::uint64_t>(value), min(bits, 64u));
    if (bits > 64) write(static_cast<std::uint64_t>(value >> 64), bits - 64);
  }
  /// Appends a number of 1 or more in Elias's gamma code, as groups::write_gamma does.
  __device__ void write_gamma(std::uint64_t value) {
    const std::uint32_t behind = groups::bits_of(value >> 1);
    write(std::uint64_t{1} << behind, behind + 1);
    write(value & ~(std::uint64_t{1} << behind), behind);
  }
  __device__ void finish() {
    if (filled_ > 0) or_word(word_, 0, pending_);
  }

 private:
  __device__ void put_word() {
    if (is_shared_) {
      or_word(word_, 0, pending_);
    } else {
      *word_ = pending_;
    }
    is_shared_ = false;
    ++word_;
  }

  unsigned long long* word_;
  std::uint64_t pending_ = 0;
  std::uint32_t filled_;
  bool is_shared_;
};

}  // namespace warpmer::gpu
