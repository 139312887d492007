#pragma once
/// The columns of the tables that commands write.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/table/table.h"

namespace warpmer::cli {

/// K-mers of an index, and their counts.
formats::TableSchema kmer_counts_table(std::uint32_t k);
/// K-mers as they were asked for, and their counts.
formats::TableSchema asked_kmers_table(std::uint32_t k);
/// Reads, and what is known of their k-mers.
formats::TableSchema read_summaries_table(std::uint32_t k);
/// K-mers, and a number for each sample.
formats::TableSchema samples_table(std::uint32_t k, const std::vector<std::string>& samples);

/// Counts, and how many distinct k-mers have each: of one sample, or, with names, of several.
formats::TableSchema histogram_table(std::uint32_t k, const std::vector<std::string>& samples);
/// Pairs of samples; `names` are those of the columns in text, with tabs: two of texts, then whole numbers,
/// of which `numbers` are, then others.
formats::TableSchema pairs_table(std::uint32_t k, std::string_view names, std::size_t numbers);

}  // namespace warpmer::cli
