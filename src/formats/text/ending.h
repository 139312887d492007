#pragma once
/// The promise of a file name's end: the one table of endings, which every command asks about its outputs.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace warpmer::formats {

/// The content of a file.
enum class Content : std::uint8_t {
  unknown,  ///< no ending, or one that stands for nothing
  text,     ///< text of any kind
  index,
  positions,
  kmc,
  kff,
  jellyfish,
  fastk,
  yak,
  tsv,
  fasta,
  fastq,
  bam,
  json,
  svg,
  png,
  html,
  npz,
  arrow,
  parquet,
  bed,
  bedgraph,
  other,  ///< a compression that no command writes
};

/// The content that a name promises.
struct NamedContent {
  Content content = Content::unknown;
  std::string_view name;       ///< name of the content, such as "Parquet"
  bool is_compressed = false;  ///< true for BGZF
};

/// Looks at a path's last ending, or at the one before `.gz`; capitals do not matter. Standard output, pipes
/// and devices have none. UsageError for a compression that no command writes, such as `.zst`.
NamedContent content_of_path(const std::string& path);

/// True when what is written under this name is to be compressed: it ends in `.gz`, `.bgz` or `.bgzf`.
bool is_compressed_name(const std::string& path);

/// UsageError when the name of an output promises something else than one of `written`, or compression where
/// none of them is text. Text may also be called `.txt`. `advice`: what else could be done, as "add --json".
void check_ending(const std::string& path, std::initializer_list<Content> written,
                  std::string_view advice = {});

}  // namespace warpmer::formats
