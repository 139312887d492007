#pragma once
/// Writes the payloads of shards, as groups/shard_encoder.h does.

#include <cstdint>

#include "kernels/freeze/string_groups.cuh"
#include "kernels/freeze/string_order.cuh"

namespace warpmer::gpu {

/// Where the bases and the counts of a group's strings begin in the payloads: bits of all words. One number,
/// because memory for as many groups as k-mers has to be kept.
class GroupFields {
 public:
  /// The bits of a place; 26 are left for the bits from bases to counts. A bucket has less than 2^25: with s
  /// strings it is one of s / 4 or more, so that of the 2^18 ids of a shard 2^20 / s + 1 are its own, with 64
  /// strings each at most. So s is below 8,300. A string has less than 4,000 bits, 64 for each of 50 counts.
  static constexpr std::uint32_t kBasesBits = 38;

  __device__ GroupFields(std::uint64_t bases, std::uint64_t counts)
      : packed_(bases | (counts - bases) << kBasesBits) {}
  [[nodiscard]] __device__ std::uint64_t bases() const {
    return packed_ & ((std::uint64_t{1} << kBasesBits) - 1);
  }
  [[nodiscard]] __device__ std::uint64_t counts() const { return bases() + (packed_ >> kBasesBits); }

 private:
  std::uint64_t packed_;
};

/// Writes strings, and owns the memory for it.
template <class Key>
class StringPayload {
 public:
  /// Enqueues the ordering of strings and the writing of their payloads to `words`, which have room for those
  /// of all shards that `groups` has measured, one behind the other, and may have any contents.
  void write(const GroupedStrings<Key>& grouped, const StringGroups<Key>& groups, unsigned long long* words,
             cudaStream_t stream);

 private:
  StringOrder<Key> order_;
  DeviceArray<GroupFields> places_;
};

}  // namespace warpmer::gpu
