#pragma once
/// K-mers out of an index, or straight from another program's file, into a file of another format.

#include <cstdint>
#include <string>

#include "backend/count_bounds.h"
#include "formats/stream/kmer_stream.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/merged_kmers.h"

namespace warpmer::jobs {

struct ExportOptions {
  backend::CountBounds bounds{};  ///< bounds of the counts of k-mers to write
  formats::KmerOrder order = formats::KmerOrder::any;
  std::uint64_t largest_count = UINT64_MAX;  ///< largest count that the output can hold
  bool saturate = false;                     ///< larger counts become that, and are no error
  host::Resources resources{};               ///< in numbers
  std::string shown_input{};                 ///< name that messages give the index; empty: its path
};

/// Returns what is known of an index's k-mers.
formats::StreamFacts facts_of(const index::IndexFile& index);

struct ExportReport {
  std::uint64_t kmers = 0;      ///< written
  std::uint64_t saturated = 0;  ///< number of these with a smaller count than they have
};

/// Writes an index to a sink, and completes it. UsageError when a count is too large; ResourceError, before
/// anything is read, when memory is too little.
ExportReport export_index(const index::IndexFile& index, const ExportOptions& options,
                          formats::KmerSink& sink);

/// Does the same with what a source has, in its order: one thread at a time reads, all encode. `input` is how
/// messages call it.
ExportReport copy_kmers(formats::KmerSource& source, const std::string& input, const ExportOptions& options,
                        formats::KmerSink& sink);
/// Does the same with k-mers of which each thread reads ranges.
ExportReport copy_ranges(const RangedKmers& kmers, const std::string& input, const ExportOptions& options,
                         formats::KmerSink& sink);

}  // namespace warpmer::jobs
