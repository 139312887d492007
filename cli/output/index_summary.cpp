#include "cli/output/index_summary.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "index/kmer_bytes.h"
#include "index/known_totals.h"

namespace warpmer::cli {

Json params_json(const index::IndexParams& params) {
  return {{"k", params.k},
          {"strand", strand_name(params.canonical)},
          {"minimizer_length", params.minimizer_length},
          {"shards", params.shards()},
          {"hash_version", params.hash_version}};
}

Json totals_json(const index::Totals& totals) {
  const bool limited = totals.max_count != UINT64_MAX;
  const auto read = [&](std::uint64_t number) {
    return index::knows_reads(totals) ? Json(number) : Json(nullptr);
  };
  const auto counted = [&](std::uint64_t number) {
    return index::knows_counted(totals) ? Json(number) : Json(nullptr);
  };
  const auto distinct = [&](std::uint64_t number) {
    return index::knows_distinct(totals) ? Json(number) : Json(nullptr);
  };
  return {{"sequences", read(totals.records)},
          {"bases", read(totals.bases)},
          {"counted_kmers", counted(totals.counted_kmers)},
          {"counted_distinct", distinct(totals.counted_distinct)},
          {"counted_unique", distinct(totals.counted_unique)},
          {"stored_kmers", totals.stored_kmers},
          {"stored_distinct", totals.stored_distinct},
          {"largest_count", totals.largest_count},
          {"min_count", totals.min_count},
          {"max_count", limited ? Json(totals.max_count) : Json(nullptr)},
          {"chosen", totals.are_chosen != 0}};
}

Json provenance_json(const index::Provenance& provenance) {
  return {{"version", provenance.tool_version},
          {"command_line", provenance.command_line},
          {"inputs", provenance.inputs}};
}

std::string json_text(const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  // JSON escapes control characters below the blank only; others are in strings alone.
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xc2 && next < 0xa0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out + "\n";
}

const char* strand_name(bool canonical) { return canonical ? "canonical" : "forward"; }

BytesPerKmer bytes_per_kmer(const index::IndexFile& index, unsigned threads) {
  const auto kmers = static_cast<double>(index.totals().stored_distinct);
  if (kmers == 0) return {};
  const index::KmerBits bits = index::kmer_bits(index, threads);
  BytesPerKmer bytes;
  bytes.bases = static_cast<double>(bits.bases) / 8 / kmers;
  bytes.counts = static_cast<double>(bits.counts) / 8 / kmers;
  bytes.all = static_cast<double>(index.file_bytes()) / kmers;
  bytes.directory = bytes.all - bytes.bases - bytes.counts;
  return bytes;
}

std::string checksum_text(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

}  // namespace warpmer::cli
