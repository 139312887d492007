#pragma once
/// Sequences that are changed before they are counted, by way of a FASTA file.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/stream/kmer_stream.h"

namespace warpmer::cli {

/// Changes the bases of one sequence.
using ChangeBases = std::function<void(std::string& bases)>;

/// Leaves one of each run of equal bases.
void compress_homopolymers(std::string& bases);

/// Writes the sequences of the inputs to a FASTA file, each changed.
void write_changed_reads(const std::vector<std::string>& inputs, const ChangeBases& change,
                         const std::string& path);

/// Writes k-mers, each once, as the sequences of a FASTA file, each changed.
void write_kmers_as_reads(std::span<const std::unique_ptr<formats::KmerSource>> sources,
                          const ChangeBases& change, const std::string& path);

}  // namespace warpmer::cli
