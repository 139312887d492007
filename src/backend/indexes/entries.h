#pragma once
/// Walking through all entries of an index, in file order or sorted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "formats/stream/kmer_stream.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// Takes a run of entries, which are valid during the call.
using EntryVisitor = std::function<void(std::span<const formats::CountedKmer>)>;

/// Visits every entry of an index in blocks, in file order. They are unpacked on `threads` threads;
/// `visit` is called on any of them, never on two at once.
void for_each_block(const index::IndexFile& index, unsigned threads, const EntryVisitor& visit);

/// Entries in two arrays: k-mers in one word each up to k = 32, else in two, the upper one first.
struct PackedEntries {
  std::size_t size = 0;
  std::shared_ptr<std::uint64_t[]> kmers;  ///< their memory is used again when they are gone
  std::shared_ptr<std::uint64_t[]> counts;
};
/// Takes entries in order, never two at once.
using PackedVisitor = std::function<void(PackedEntries&& entries)>;

/// Unpacks every entry of an index on `threads` threads, in file order, about `wanted` at a time.
void for_each_packed(const index::IndexFile& index, unsigned threads, std::uint64_t wanted,
                     const PackedVisitor& visit);

/// Makes something of entries that follow those it was made of before. Any thread calls it.
using EntryEncoder =
    std::function<void(std::span<const formats::CountedKmer> entries, formats::EncodedKmers& to)>;
/// Takes what was made, in order: never two at once.
using EncodedVisitor = std::function<void(const formats::EncodedKmers& encoded)>;

/// Encodes every entry of an index, on `threads` threads, and gives what they make to `visit` in the order
/// of the k-mers. `any` is that of the file. In another, what does not fit into `memory_bytes` at once is
/// done in several passes over the index, one range of k-mers each. ResourceError when not even one small
/// range fits; InputError for an index in which a k-mer stands twice. `position_bits` are those of
/// `by_jellyfish`, which the sink says.
void encode_entries(const index::IndexFile& index, formats::KmerOrder order, std::uint64_t memory_bytes,
                    unsigned threads, const EntryEncoder& encode, const EncodedVisitor& visit,
                    std::uint32_t position_bits = 0);

}  // namespace warpmer::backend
