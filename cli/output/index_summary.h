#pragma once
/// The facts about an index, as JSON, that `stats`, `info` and the report of a run have.

#include <nlohmann/json.hpp>

#include "index/index_file.h"

namespace warpmer::cli {

/// JSON with keys in the order in which they are written.
using Json = nlohmann::ordered_json;

/// Returns k and strand; `max_count` is null if there is no limit.
Json params_json(const index::IndexParams& params);
Json totals_json(const index::Totals& totals);
Json provenance_json(const index::Provenance& provenance);

/// Returns text with two spaces of indentation and a final newline; bytes that are not UTF-8 (file names) are
/// replaced.
std::string json_text(const Json& json);

/// Returns `canonical` or `forward`.
const char* strand_name(bool canonical);

/// Returns the file bytes per stored distinct k-mer; 0 for an empty index.
double bytes_per_kmer(const index::IndexFile& index);

/// Returns a checksum like `0123456789abcdef`.
std::string checksum_text(std::uint64_t checksum);

}  // namespace warpmer::cli
