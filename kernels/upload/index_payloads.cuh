#pragma once
/// The payloads of an index that are brought to a device.

#include <cstdint>

#include "index/index_file.h"
#include "index/shard_codec.h"

namespace warpmer::gpu {

/// They are as they lie in the file, or as entries that the host makes of strings: for what does not work on
/// strings yet. Takes an index, which must outlive this.
class IndexPayloads {
 public:
  IndexPayloads(const index::IndexFile& index) : index_(index) {}  // NOLINT(google-explicit-constructor)
  static IndexPayloads as_entries(const index::IndexFile& index) { return {index, true}; }

  [[nodiscard]] const index::IndexFile& index() const { return index_; }
  /// Returns the words of a shard's payload. Reads no shard.
  [[nodiscard]] std::uint64_t words(std::uint32_t shard) const {
    if (!as_entries_) return index_.payload_words(shard);
    return index::payload_layout(index_.shape(shard), index_.params().k).words;
  }
  /// Do as the functions of IndexFile of these names.
  [[nodiscard]] const std::uint64_t* payload(std::uint32_t shard) const {
    return as_entries_ ? index_.shard(shard).payload : index_.payload(shard);
  }
  void read_payload(std::uint32_t shard, std::uint64_t* into) const {
    as_entries_ ? index_.read(shard, into) : index_.read_payload(shard, into);
  }
  [[nodiscard]] const std::uint64_t* all_payloads() const {
    return as_entries_ ? index_.payloads() : index_.all_payloads();
  }

 private:
  IndexPayloads(const index::IndexFile& index, bool as_entries) : index_(index), as_entries_(as_entries) {}

  const index::IndexFile& index_;
  bool as_entries_ = false;
};

}  // namespace warpmer::gpu
