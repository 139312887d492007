#pragma once
/// Sequences that are changed before they are counted, by way of a FASTA file.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/stream/kmer_stream.h"
#include "host/limits.h"

namespace warpmer::cli {

/// Says how sequences are changed, in this order.
struct SequenceChange {
  bool is_compressed = false;       ///< one of each run of equal bases is left
  std::uint64_t ignored_bases = 0;  ///< are left out, at the beginning of each
};

/// Writes the sequences of the inputs to a FASTA file, each changed, however long it is. The resources are
/// settled.
void write_changed_reads(const std::vector<std::string>& inputs, const SequenceChange& change,
                         const host::Resources& resources, const std::string& path);

/// Writes k-mers, each once, as the sequences of a FASTA file, each changed.
void write_kmers_as_reads(std::span<const std::unique_ptr<formats::KmerSource>> sources,
                          const SequenceChange& change, const std::string& path);

}  // namespace warpmer::cli
