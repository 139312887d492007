#include "formats/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "file/first_bytes.h"
#include "file/index_magic.h"
#include "file/input_error.h"
#include "formats/fastk/fastk_table.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/kff_file.h"
#include "formats/kmc_database.h"
#include "formats/text/ending.h"
#include "formats/text/kmer_text.h"
#include "formats/yak_file.h"

namespace warpmer::formats {
namespace {

struct Named {
  Format format;
  std::string_view name;
  Content content;
};
constexpr std::array kNames = {
    Named{Format::wmi, "wmi", Content::index},     Named{Format::kmc, "kmc", Content::kmc},
    Named{Format::kff, "kff", Content::kff},       Named{Format::jellyfish, "jellyfish", Content::jellyfish},
    Named{Format::fastk, "fastk", Content::fastk}, Named{Format::yak, "yak", Content::yak},
    Named{Format::tsv, "tsv", Content::tsv},       Named{Format::fasta, "fasta", Content::fasta}};
static_assert(kNames.size() == static_cast<std::size_t>(Format::fasta) + 1);

constexpr std::size_t kFirstBytes = 16;

/// Jellyfish: the length of a header in nine digits, then the header, JSON.
bool is_jellyfish(std::string_view start) {
  return start.size() > 9 && start.find_first_not_of("0123456789") == 9 && start[9] == '{';
}

const Named& named(Format format) {
  const auto* const found = std::ranges::find(kNames, format, &Named::format);
  if (found == kNames.end()) throw InternalError("a format without a name");
  return *found;
}

}  // namespace

std::string format_names() {
  std::string names;
  for (const Named& each : kNames) names.append(names.empty() ? "" : "|").append(each.name);
  return names;
}

std::string_view name_of(Format format) { return named(format).name; }

std::optional<Format> format_of_name(std::string_view name) {
  for (const Named& each : kNames) {
    if (each.name == name) return each.format;
  }
  return std::nullopt;
}

std::optional<Format> format_of_path(const std::string& path) {
  const Content content = content_of_path(path).content;
  if (content == Content::text) return Format::tsv;
  for (const Named& each : kNames) {
    if (each.content == content) return each.format;
  }
  return std::nullopt;
}

void check_ending(const std::string& path, Format format) {
  if (format == Format::kmc) return;  // what follows the prefix says it
  check_ending(format == Format::fastk ? fastk_stub(path) : path, {named(format).content});
}

std::vector<std::string> files_of(const std::string& path, Format format) {
  if (format == Format::fastk) return fastk_files(path);
  if (format != Format::kmc) return {path};
  const std::string prefix = kmc_prefix(path);
  return {prefix + ".kmc_pre", prefix + ".kmc_suf"};
}

Format detect_format(const std::string& path) {
  if (is_kmc_database(path)) return Format::kmc;
  if (is_fastk_table(path)) return Format::fastk;
  const std::string start = file::first_bytes(path, kFirstBytes);
  if (start.starts_with(file::kIndexMagic)) return Format::wmi;
  if (start.starts_with("KFF")) return Format::kff;
  if (is_jellyfish(start)) return Format::jellyfish;
  if (is_yak(start)) return Format::yak;
  if (start.starts_with("KMC")) {
    file::fail_at({.file = path},
                  "a part of a KMC database; its other part, .kmc_pre or .kmc_suf, must be beside it");
  }
  return Format::tsv;
}

std::unique_ptr<KmerSource> open_source(const std::string& path, Format format, bool canonical,
                                        unsigned threads) {
  switch (format) {
    case Format::kmc:
      return std::make_unique<KmcSource>(path);
    case Format::tsv:
    case Format::fasta:
      return std::make_unique<TextSource>(path, canonical, threads);
    case Format::kff:
      return std::make_unique<KffSource>(path);
    case Format::jellyfish:
      return std::make_unique<JellyfishSource>(path);
    case Format::fastk:
      return std::make_unique<FastkSource>(path);
    case Format::yak:
      return std::make_unique<YakSource>(path);
    case Format::wmi:
      break;
  }
  throw InternalError(fmt::format("no source of format {}", name_of(format)));
}

FormatLimits limits_of(Format format) {
  switch (format) {
    case Format::kmc:
      return {KmerOrder::by_kmer, kLargestKmcCount, 4, false};
    case Format::tsv:
    case Format::fasta:
      return {KmerOrder::any, UINT64_MAX, 0, true};
    case Format::kff:
      return {KmerOrder::by_kmer, UINT64_MAX, 8, false};
    case Format::jellyfish:
      return {KmerOrder::by_jellyfish, kLargestJellyfishCount, 7, false};
    case Format::fastk:
      return {.order = KmerOrder::by_kmer,
              .largest_count = kLargestFastkCount,
              .caps = true,
              .is_canonical = true};
    case Format::yak:
      return {.order = KmerOrder::by_yak,
              .largest_count = kLargestYakCount,
              .caps = true,
              .most_k = YakOrder<Key64>::kMostK,
              .is_canonical = true};
    case Format::wmi:
      break;
  }
  throw InternalError(fmt::format("no limits of format {}", name_of(format)));
}

void check_kmers(Format format, std::uint32_t k, bool canonical) {
  if (format == Format::wmi) return;
  const FormatLimits limits = limits_of(format);
  if (limits.is_canonical && !canonical)
    throw UsageError(fmt::format("{} holds canonical k-mers only; choose another format", name_of(format)));
  if (k > limits.most_k) {
    throw UsageError(fmt::format("{} holds k-mers of up to {} bases, not {}; choose another format",
                                 name_of(format), limits.most_k, k));
  }
}

std::unique_ptr<KmerSink> make_sink(const std::string& path, Format format, const StreamFacts& facts,
                                    std::uint32_t count_bytes, unsigned threads) {
  switch (format) {
    case Format::kmc:
      return std::make_unique<KmcSink>(path, facts, count_bytes);
    case Format::tsv:
      return std::make_unique<TextSink>(path, TextForm::tsv, facts, threads);
    case Format::fasta:
      return std::make_unique<TextSink>(path, TextForm::fasta, facts, threads);
    case Format::kff:
      return std::make_unique<KffSink>(path, facts, count_bytes);
    case Format::jellyfish:
      return std::make_unique<JellyfishSink>(path, facts, count_bytes);
    case Format::fastk:
      return std::make_unique<FastkSink>(path, facts);
    case Format::yak:
      return std::make_unique<YakSink>(path, facts);
    case Format::wmi:
      break;
  }
  throw InternalError(fmt::format("no sink of format {}", name_of(format)));
}

}  // namespace warpmer::formats
