#pragma once
/// The columns of the tables that commands write.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/table/table.h"

namespace warpmer::cli {

/// K-mers as they were asked for, and their counts.
formats::TableSchema asked_kmers_table(std::uint32_t k);
/// Reads, and what is known of their k-mers.
formats::TableSchema read_summaries_table(std::uint32_t k);
/// K-mers, and a number for each sample.
formats::TableSchema samples_table(std::uint32_t k, const std::vector<std::string>& samples);

}  // namespace warpmer::cli
