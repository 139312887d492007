#include "io/compress/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "file/index_magic.h"
#include "file/input_error.h"
#include "file/suggestion.h"
#include "io/compress/bgzf_blocks.h"
#include "io/compress/bzip2_blocks.h"
#include "io/compress/xz_stream.h"
#include "io/compress/zstd_frames.h"

namespace warpmer::io {
namespace {

using namespace std::string_view_literals;

/// A format we know by its first bytes, and the command that makes something readable of it.
struct Foreign {
  std::string_view magic;
  std::string_view name;
  std::string_view converter;  ///< "{}" stands for the file; empty: no command to recommend
  bool has_sequences = true;   ///< perhaps: nothing that warpmer writes begins so
};

/// A kind of compression that is read if the library for it was there at build time.
struct OptionalCompression {
  InputContent content;
  bool (*begins)(std::string_view);
  bool (*is_read)() noexcept;
  Foreign foreign;
};

constexpr std::array kOptional = {
    OptionalCompression{InputContent::zstd, is_zstd, has_zstd, {{}, "compressed with zstd", "zstd -dc {}"}},
    OptionalCompression{
        InputContent::bzip2, is_bzip2, has_bzip2, {{}, "compressed with bzip2", "bzip2 -dc {}"}},
    OptionalCompression{InputContent::xz, is_xz, has_xz, {{}, "compressed with xz", "xz -dc {}"}},
};

constexpr std::array kForeign = {
    Foreign{"\x04\x22\x4d\x18"sv, "compressed with lz4", "lz4 -dc {}"},
    Foreign{"LZIP"sv, "compressed with lzip", "lzip -dc {}"},
    Foreign{"\x1f\x9d"sv, "compressed with compress", "gzip -dc {}"},
    Foreign{"PK\x03\x04"sv, "a zip archive", "unzip -p {}"},
    Foreign{"NCBI.sra"sv, "an SRA archive", "fastq-dump --stdout {}"},
    Foreign{"\x89HDF\r\n"sv, "an HDF5 file", ""},
    Foreign{"\x8bPOD\r\n"sv, "a POD5 file with raw signals, which need basecalling first", ""},
    Foreign{"%PDF"sv, "a PDF document", "", false},
    Foreign{"BAM\x01"sv, "BAM without BGZF compression", "samtools view -u {}"},
    Foreign{"\xff\xfe"sv, "UTF-16 text", "iconv -f UTF-16 -t ASCII {}", false},
    Foreign{"\xfe\xff"sv, "UTF-16 text", "iconv -f UTF-16 -t ASCII {}", false},
};

const Foreign* find_foreign(std::string_view start) {
  for (const Foreign& foreign : kForeign) {
    if (start.starts_with(foreign.magic)) return &foreign;
  }
  return nullptr;
}

const OptionalCompression* find_optional(std::string_view start) {
  for (const OptionalCompression& optional : kOptional) {
    if (optional.begins(start)) return &optional;
  }
  return nullptr;
}

[[noreturn]] void refuse(const file::ByteFile& file, const Foreign& foreign,
                         std::string_view why = "which warpmer does not read") {
  std::string what = fmt::format("this is {}, {}", foreign.name, why);
  if (!foreign.converter.empty()) {
    what += "; pipe it in, as in " + file::piped_in(foreign.converter, file.shown());
  }
  file::fail_at({file.shown()}, what);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// True when a line is a record of SAM, by its first columns: name, flag, reference, position, mapping
/// quality.
bool is_sam_record(std::string_view line) {
  std::array<std::string_view, 6> columns;
  for (std::string_view& column : columns) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return false;
    column = line.substr(0, tab);
    line.remove_prefix(tab + 1);
  }
  return is_number(columns[1]) && is_number(columns[3]) && is_number(columns[4]);
}

}  // namespace

bool is_sam(std::string_view start) {
  constexpr std::array kFirst = {"@HD\tVN:"sv, "@SQ\tSN:"sv, "@SQ\tLN:"sv, "@RG\tID:"sv, "@PG\tID:"sv};
  return std::any_of(kFirst.begin(), kFirst.end(),
                     [&](std::string_view line) { return start.starts_with(line); });
}

bool is_compressed(std::string_view start) {
  return start.starts_with(kGzipMagic) || find_optional(start) != nullptr;
}

InputContent detect_content(file::ByteFile& file) {
  if (!record_format_name(file).empty()) return InputContent::records;
  const std::string_view start = file.peek(kBgzfHeaderBytes);
  if (start.starts_with(kGzipMagic)) return first_bgzf_block(file) ? InputContent::bgzf : InputContent::gzip;
  if (const OptionalCompression* optional = find_optional(start)) {
    if (!optional->is_read())
      refuse(file, optional->foreign, "and this warpmer was built without its library");
    return optional->content;
  }
  if (const Foreign* foreign = find_foreign(start)) refuse(file, *foreign);
  return InputContent::text;
}

std::string foreign_sequence_data(std::string_view start) {
  const OptionalCompression* optional = find_optional(start);
  if (optional != nullptr && !optional->is_read()) return std::string(optional->foreign.name);
  const Foreign* foreign = find_foreign(start);
  return foreign && foreign->has_sequences ? std::string(foreign->name) : std::string();
}

std::string describe_start(std::string_view start) {
  if (const Foreign* foreign = find_foreign(start)) return std::string(foreign->name);
  if (const OptionalCompression* optional = find_optional(start)) return std::string(optional->foreign.name);
  if (start.starts_with(kGzipMagic)) return "compressed with gzip a second time";
  if (start.starts_with(file::kIndexMagic) || start.starts_with(file::kPositionMagic))
    return "an index of warpmer, which holds no reads";
  if (start.starts_with("CRAM")) return "CRAM compressed with gzip";
  const std::string_view line = start.substr(0, start.find_first_of("\r\n"));
  if (is_sam_record(line)) return "SAM without its header, with which `samtools view -h` writes it";
  return fmt::format("text or data that starts with {}", file::quoted(line));
}

}  // namespace warpmer::io
