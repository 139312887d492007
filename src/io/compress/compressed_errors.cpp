#include "io/compress/compressed_errors.h"

#include <fmt/format.h>

#include <string>

#include "file/input_error.h"
#include "file/suggestion.h"

namespace warpmer::io {
namespace {

/// Returns "stream 7" and the like with the words around it.
std::string part(std::string_view before, const CompressedParts& kind, std::uint64_t number,
                 std::string_view behind = {}) {
  return number == 0 ? std::string() : fmt::format("{}{} {}{}", before, kind.part, number, behind);
}

}  // namespace

void fail_corrupt(const file::ByteFile& file, const CompressedParts& kind, std::uint64_t number,
                  std::uint64_t bytes) {
  file::fail_at({file.shown()},
                fmt::format("the {} data is corrupt{}, within the first {} bytes of the file; copy or "
                            "download the file again",
                            kind.format, part(" in ", kind, number), bytes));
}

void fail_truncated(const file::ByteFile& file, const CompressedParts& kind, std::uint64_t number) {
  const std::uint64_t bytes = file.file_bytes() > 0 ? file.file_bytes() : file.disk_bytes();
  file::fail_at({file.shown()},
                fmt::format("the {} data is truncated: the file ends {}after {} bytes; copy or download the "
                            "file again",
                            kind.format, part("inside ", kind, number, " "), bytes));
}

void fail_at_junk(const file::ByteFile& file, const CompressedParts& kind, std::uint64_t number,
                  std::string_view junk) {
  file::fail_at(
      {file.shown()},
      fmt::format("what follows {} {} {} is neither another {} nor the end of the file, but {}; the "
                  "file is damaged, or something was appended to it",
                  kind.format, kind.part, number, kind.part, file::quoted(junk, 8)));
}

void fail_too_large(const file::ByteFile& file, const CompressedParts& kind, std::uint64_t number,
                    unsigned megabytes, std::string_view converter) {
  file::fail_at(
      {file.shown()},
      fmt::format("the {} data takes more than {} MiB of memory to decompress{}; pipe it in, as in {}",
                  kind.format, megabytes, part(", in ", kind, number),
                  file::piped_in(converter, file.shown())));
}

void fail_without_bgzf_end(const file::ByteFile& file, std::string_view place) {
  file::fail_at(
      {file.shown()},
      fmt::format("the BGZF data is truncated {}: the empty block that marks its end is missing; copy "
                  "or download the file again, or write it again with bgzip or samtools if it is "
                  "complete",
                  place));
}

}  // namespace warpmer::io
