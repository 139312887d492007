#pragma once
/// Walking through all entries of an index, in file order or sorted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "formats/stream/kmer_stream.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// Takes a run of entries, which are valid during the call.
using EntryVisitor = std::function<void(std::span<const formats::CountedKmer>)>;

/// Visits every entry of an index in blocks, in file order. They are unpacked on `threads` threads;
/// `visit` is called on any of them, never on two at once.
void for_each_block(const index::IndexFile& index, unsigned threads, const EntryVisitor& visit);

/// Does the same in an order (but not `any`) of the k-mers, within `memory_bytes`: what does not fit at once
/// is done in several passes over the index, one range of k-mers each. Ranges are sorted on `threads`
/// threads; `visit` is called on the caller's. ResourceError when not even one small range fits.
void for_each_block_sorted(const index::IndexFile& index, formats::KmerOrder order,
                           std::uint64_t memory_bytes, unsigned threads, const EntryVisitor& visit);

}  // namespace warpmer::backend
