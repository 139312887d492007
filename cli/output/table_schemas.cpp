#include "cli/output/table_schemas.h"

namespace warpmer::cli {

using formats::ColumnType;
using formats::TableColumn;
using formats::TableSchema;

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

}  // namespace warpmer::cli
