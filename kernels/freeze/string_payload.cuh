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
  static constexpr std::uint32_t kBasesBits = 38;  ///< counts take the others

  __device__ GroupFields(std::uint64_t bases, std::uint64_t counts)
      : packed_(bases | (counts - bases) << kBasesBits) {}
  [[nodiscard]] __device__ std::uint64_t bases() const {
    return packed_ & ((std::uint64_t{1} << kBasesBits) - 1);
  }
  /// A bucket has less than 2^25 bits: s strings there, of 64 in a group at most, make s / 4 buckets, so that
  /// it has 2^20 / s + 1 groups at most; so s is below 8,300, and a string has less than 4,000 bits.
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
