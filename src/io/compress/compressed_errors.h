#pragma once
/// Messages about damaged zstd, bzip2, xz and BGZF, in the same words as of gzip.

#include <cstdint>
#include <string_view>

#include "file/byte_file.h"

namespace warpmer::io {

/// The parts that a kind of compression consists of. Where a part's number is 0, only the format is named.
struct CompressedParts {
  std::string_view format;  ///< such as "zstd"
  std::string_view part;    ///< such as "frame"
};

/// The part `number`, from 1, does not decompress; it ends within the first `bytes` of the file.
[[noreturn]] void fail_corrupt(const file::ByteFile& file, const CompressedParts& kind, std::uint64_t number,
                               std::uint64_t bytes);
/// The file ends inside the part `number`, which is after all that was taken of it.
[[noreturn]] void fail_truncated(const file::ByteFile& file, const CompressedParts& kind,
                                 std::uint64_t number);
/// Behind `number` parts there is something else, which begins with `junk`.
[[noreturn]] void fail_at_junk(const file::ByteFile& file, const CompressedParts& kind, std::uint64_t number,
                               std::string_view junk);
/// The part `number` takes more than `megabytes` of memory; `converter` is the command that reads it anyway.
[[noreturn]] void fail_too_large(const file::ByteFile& file, const CompressedParts& kind,
                                 std::uint64_t number, unsigned megabytes, std::string_view converter);
/// BGZF ends at `place`, such as "after 3 blocks", and not with the empty block that every writer puts there.
[[noreturn]] void fail_without_bgzf_end(const file::ByteFile& file, std::string_view place);

}  // namespace warpmer::io
