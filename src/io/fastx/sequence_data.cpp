#include "io/fastx/sequence_data.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "file/byte_file.h"
#include "io/compress/content.h"
#include "io/compress/decompressed.h"
#include "io/compress/gzip_members.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kLookedAt = std::size_t{64} << 10;

/// Takes the first line, without its end, off the front of `text`; an unfinished one counts, too.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  const bool is_crlf = text.substr(end).starts_with("\r\n");
  text.remove_prefix(std::min(text.size(), end + (is_crlf ? 2 : 1)));
  return line;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Letters, as nucleotide codes are, gaps and stops; blanks around them do not matter.
bool is_sequence(std::string_view line) {
  constexpr std::string_view kCodes = "ACGTURYSWKMBDHVNXacgturyswkmbdhvnx.-*= \t";
  return line.find_first_not_of(kCodes) == std::string_view::npos;
}

/// True for a line of FASTA, of proteins too.
bool is_residues(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view(".-* \t").find(c) != std::string_view::npos;
  });
}

/// True for a FASTQ record of four lines, or as much of one as is to be seen.
bool is_fastq(std::string_view text) {
  take_line(text);
  if (text.empty()) return false;
  const std::string_view bases = take_line(text);
  return is_sequence(bases) && (text.empty() || is_sequence(text.substr(0, 1)) || text.front() == '+');
}

/// True for an alignment: eleven columns, of which these are numbers, and how it aligns.
bool is_alignment_line(std::string_view text) {
  constexpr std::size_t kColumns = 11;
  constexpr std::string_view kCigar = "0123456789MIDNSHPX=";
  const std::string_view line = take_line(text);
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= line.size() && columns.size() < kColumns;) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  if (columns.size() < kColumns) return false;
  const bool aligns = columns[5] == "*" || (columns[5].find_first_not_of(kCigar) == std::string_view::npos &&
                                            !is_number(columns[5]) && !columns[5].empty());
  return is_number(columns[1]) && is_number(columns[3]) && is_number(columns[4]) && aligns &&
         is_sequence(columns[9]);
}

bool is_sam_header(std::string_view text) {
  const std::string_view line = take_line(text);
  return line.size() > 3 && line[0] == '@' && line[3] == '\t' &&
         line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1) == 3;
}

/// Says what a text is, by its beginning; null if it is no sequence data.
const char* sequence_text(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) return nullptr;
  if (is_sam_header(text)) return "SAM";
  if (text.front() == '>' || text.front() == ';') {
    std::string_view rest = text;
    while (rest.starts_with('>') || rest.starts_with(';')) take_line(rest);  // empty records, and comments
    return is_residues(take_line(rest)) ? "FASTA" : nullptr;
  }
  if (text.front() == '@') return is_fastq(text) ? "FASTQ" : nullptr;
  return is_alignment_line(text) ? "SAM" : nullptr;
}

/// Says what sequences a text is that is compressed; empty if it has none.
std::string compressed_text(std::string_view text, std::string_view program) {
  const char* what = sequence_text(text);
  return what ? fmt::format("{}, compressed with {}", what, program) : std::string();
}

/// Returns the beginning of what a file has compressed; as far as it is sound.
std::string decompressed_start(const std::string& path, InputContent content) {
  std::string text(kLookedAt, '\0');
  std::size_t size = 0;
  std::atomic<bool> is_enough = false;
  try {
    const std::unique_ptr<file::ByteSource> source =
        decompressed(std::make_unique<file::ByteFile>(path, path, is_enough), content, 1, is_enough);
    while (const std::size_t count = source->read(text.data() + size, text.size() - size)) size += count;
    is_enough = true;
  } catch (const Error&) {
    is_enough = true;
  }
  text.resize(size);
  return text;
}

std::string describe(file::ByteFile& file, const std::string& path) {
  if (std::string foreign = foreign_sequence_data(file.peek(kForeignBytes)); !foreign.empty()) return foreign;
  const InputContent content = detect_content(file);
  switch (content) {
    case InputContent::records:
      return std::string(record_format_name(file));
    case InputContent::gzip:
    case InputContent::bgzf:
      return compressed_text(gzip_start(file.peek(kLookedAt), kLookedAt), "gzip");
    case InputContent::zstd:
      return compressed_text(decompressed_start(path, content), "zstd");
    case InputContent::bzip2:
      return compressed_text(decompressed_start(path, content), "bzip2");
    case InputContent::xz:
      return compressed_text(decompressed_start(path, content), "xz");
    case InputContent::text:
      break;
  }
  const char* what = sequence_text(file.peek(kLookedAt));
  return what ? what : "";
}

}  // namespace

std::string sequence_data_in(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return {};
  const std::atomic<bool> never = false;
  try {
    file::ByteFile file(path, path, never);
    return describe(file, path);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace warpmer::io
