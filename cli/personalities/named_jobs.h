#pragma once
/// Jobs as all of these programs run them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/indexes/set_session.h"
#include "backend/lookup/lookup.h"
#include "formats/stream/kmer_stream.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "io/input_set.h"
#include "jobs/count_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {

/// Returns a job that counts sequences, whatever is in them.
jobs::CountOptions named_count(const KmerParams& kmers, const std::vector<std::string>& inputs,
                               const host::Resources& resources, const index::Provenance& provenance);

/// Counts into an index, with a meter, on the device that WARPMER_DEVICE says. What memory cannot hold goes
/// into the index's folder, unless the job names another.
jobs::CountReport count_into(jobs::CountOptions job, const jobs::TemporaryIndex& index);

/// Returns the folder for temporary indexes of a call with such an output, for a program that has none of its
/// own: $TMPDIR, or the output's where that is not there or cannot be written to, for the original does not
/// look at it. ResourceError when the output cannot be made.
std::string folder_for_temporary(const std::string& output);

/// Makes an index of what a source has, which was opened as `input`; unless told to add up counts, a k-mer
/// that comes twice is an error. The resources are settled.
void import_into(formats::KmerSource& source, const std::string& input, const host::Resources& resources,
                 const index::Provenance& provenance, const jobs::TemporaryIndex& index,
                 bool sum_duplicates = false);

/// Makes an index of several, which are of these inputs. The resources are settled.
void combine_into(const std::vector<std::string>& indexes, const std::vector<std::string>& inputs,
                  const backend::SetRule& rule, const host::Resources& resources,
                  const index::Provenance& provenance, const jobs::TemporaryIndex& index);

/// Warns of how many k-mers an output has with the largest count that it holds, if there are any.
void warn_of_capped(std::uint64_t kmers, std::uint64_t largest_count, const std::string& output);

/// Returns the counts that k-mers, of `k` bases, have in an index.
std::vector<std::uint64_t> counts_in(const backend::Lookup& lookup,
                                     std::span<const formats::CountedKmer> kmers, std::uint32_t k);

/// Says how these programs read sequences: whatever is in them, and a FASTQ file may end in a record.
io::ReadingOptions named_reading();

/// Says how sequences are read where each counts by itself: in order, and whatever is in them. Long ones of
/// FASTA come in pieces that share so many bases; a record of FASTQ may take as much of the cap as counting
/// allows. The resources are settled.
io::InputOptions sequences_in_order(std::uint32_t overlap_bases, const host::Resources& resources);

/// Says the same of sequences whose k-mers are looked up in a mapped index, which counts for the cap, too.
io::InputOptions sequences_to_look_up(const index::IndexFile& index, const host::Resources& resources);

}  // namespace warpmer::cli
