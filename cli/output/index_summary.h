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

/// The bytes of an index, each by the number of its distinct k-mers; 0 for an empty index.
struct BytesPerKmer {
  double bases = 0, counts = 0, directory = 0;
  double all = 0;  ///< the sum of these
};
/// Reads all of the index, on so many threads, and so checks it.
BytesPerKmer bytes_per_kmer(const index::IndexFile& index, unsigned threads);

/// Returns a checksum like `0123456789abcdef`.
std::string checksum_text(std::uint64_t checksum);

}  // namespace warpmer::cli
