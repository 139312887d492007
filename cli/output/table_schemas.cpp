#include "cli/output/table_schemas.h"

#include <algorithm>

namespace warpmer::cli {

using formats::ColumnType;
using formats::TableSchema;

TableSchema kmer_counts_table(std::uint32_t k) {
  return {k, {{"kmer", ColumnType::kmer, "kmers"}, {"count", ColumnType::number, "counts"}}};
}

TableSchema asked_kmers_table(std::uint32_t k) {
  return {k, {{"kmer", ColumnType::text, "kmers"}, {"count", ColumnType::number, "counts"}}};
}

TableSchema read_summaries_table(std::uint32_t k) {
  TableSchema schema{k, {{"read", ColumnType::text, "read"}}};
  for (const char* name : {"kmers", "found"}) schema.columns.push_back({name, ColumnType::number, name});
  for (const char* name : {"min", "median", "max"})
    schema.columns.push_back({name, ColumnType::number, name, true});
  return schema;
}

TableSchema samples_table(std::uint32_t k, const std::vector<std::string>& samples) {
  TableSchema schema{k, {{"kmer", ColumnType::kmer, "kmers"}}};
  for (const std::string& sample : samples)
    schema.columns.push_back({sample, ColumnType::number, "counts", false, true});
  return schema;
}

TableSchema histogram_table(std::uint32_t k, const std::vector<std::string>& samples) {
  TableSchema schema{k, {{"count", ColumnType::number, "counts"}}};
  if (samples.empty()) schema.columns.push_back({"kmers", ColumnType::number, "kmers"});
  for (const std::string& sample : samples)
    schema.columns.push_back({sample, ColumnType::number, "kmers", false, true});
  return schema;
}

TableSchema pairs_table(std::uint32_t k, std::string_view names, std::size_t numbers) {
  constexpr std::size_t kTexts = 2;
  TableSchema schema{k, {}};
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('\t'), names.size()), at = schema.columns.size();
    const std::string name(names.substr(0, end));
    const auto type = at < kTexts             ? ColumnType::text
                      : at < kTexts + numbers ? ColumnType::number
                                              : ColumnType::real;
    schema.columns.push_back({name, type, name});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return schema;
}

}  // namespace warpmer::cli
