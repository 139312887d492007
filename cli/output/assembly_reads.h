#pragma once
/// The index of reads beside which an assembly is looked at: `qv`, `merqury` and `report`.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "index/index_file.h"
#include "stats/assembly_quality.h"

namespace warpmer::cli {

/// Throws a UsageError for an index of one strand, and warns of one that lacks k-mers of its reads.
void check_reads_of_assembly(const index::IndexFile& reads);

/// `--solid-count`.
void add_solid_count_flag(CLI::App& command, std::optional<std::uint64_t>& least_count);

/// Returns which k-mers are solid: those of `least_count`, which is what the user gave or the model's
/// `solid_count`. Without it nothing, and a warning that the spectrum is not that of reads.
std::optional<stats::SolidKmers> solid_kmers_of(const index::IndexFile& reads,
                                                std::optional<std::uint64_t> least_count);

/// Returns 6 digits, as Merqury prints them; NA for what is not a number.
std::string number_text(double value);

}  // namespace warpmer::cli
