#include "io/hts/alignment_source.h"

#include <fmt/format.h>

#include "base/memory_text.h"
#include "file/input_error.h"
#include "io/fastx/text_reader.h"
#include "io/text/input_too_large.h"

namespace warpmer::io {

AlignmentSource::AlignmentSource(const file::ByteFile& file, std::string_view format,
                                 const InputOptions& options)
    : shown_(file.shown()), format_(format), longest_record_(TextReader::longest_record(options)) {}

bool AlignmentSource::next(bam1_t& record) {
  if (!read(record)) return false;
  ++records_;
  return true;
}

void AlignmentSource::fail(std::string_view what) const {
  file::fail_at({shown_, records_ + 1}, fmt::format("{}: {}", format_, what));
}

void AlignmentSource::check_size(std::uint64_t bytes) const {
  if (bytes > TextReader::kLongestRecord) {
    fail(fmt::format("the next record has {} bytes, and {} is as much as can be kept whole; or it is damaged",
                     bytes, TextReader::kLongestRecord));
  }
  if (bytes <= longest_record_) return;
  throw InputTooLarge(
      fmt::format("{}, record {}: it has {}, and -m allows {} for one; raise -m, or leave the file out "
                  "if it is damaged",
                  shown_, records_ + 1, mebibytes_needed(bytes), mebibytes(longest_record_)));
}

void AlignmentSource::refuse_long() const {
  if (longest_record_ == TextReader::kLongestRecord) check_size(longest_record_ + 1);
  throw InputTooLarge(
      fmt::format("{}, record {}: it does not end within {}, which is as much as -m allows for one; raise "
                  "-m, or leave the file out if it is damaged",
                  shown_, records_ + 1, mebibytes(longest_record_)));
}

}  // namespace warpmer::io
