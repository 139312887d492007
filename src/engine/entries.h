#pragma once
/// Walking through all entries of an index, in file order or sorted.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "index/index_file.h"

namespace warpmer::engine {

/// A run of entries handed to a visitor; valid during the call.
struct EntryBlock {
  std::size_t size = 0;
  const char* kmers = nullptr;  ///< `size` texts of k characters, without separators
  const std::uint64_t* counts = nullptr;
};

using EntryVisitor = std::function<void(const EntryBlock&)>;

/// Visits every entry of an index in blocks, in file order (shard by shard, canonical order).
void for_each_block(const index::IndexFile& index, const EntryVisitor& visit);

/// The same in lexicographic order of the k-mers, within `memory_bytes`: what does not fit at once is
/// done in several passes over the index, one range of k-mers each. Ranges are sorted on `threads`
/// threads; `visit` is called on the caller's. ResourceError when not even one small range fits.
void for_each_block_sorted(const index::IndexFile& index, std::uint64_t memory_bytes, unsigned threads,
                           const EntryVisitor& visit);

}  // namespace warpmer::engine
