#pragma once
/// What `stats`, `info` and the report of a run say about an index, as JSON.

#include <nlohmann/json.hpp>

#include "index/index_file.h"

namespace warpmer::cli {

/// Keys in the order they are written.
using Json = nlohmann::ordered_json;

/// k and strand; `max_count` is null where there is no limit.
Json params_json(const index::IndexParams& params);
Json totals_json(const index::Totals& totals);
Json provenance_json(const index::Provenance& provenance);

/// Two spaces of indentation, a final newline; bytes that are not UTF-8 (file names) are replaced.
std::string json_text(const Json& json);

/// `canonical` or `forward`
const char* strand_name(bool canonical);

/// File bytes per stored distinct k-mer; 0 for an empty index.
double bytes_per_kmer(const index::IndexFile& index);

/// `0123456789abcdef`
std::string checksum_text(std::uint64_t checksum);

}  // namespace warpmer::cli
