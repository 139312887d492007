#include "io/hts/reference_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <htslib/faidx.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/error.h"
#include "file/output/temporary_name.h"
#include "io/hts/silence_htslib.h"

namespace warpmer::io {
namespace {

int make_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  ::close(descriptor);
  return 0;
}

/// Gives a file its name unless it is empty.
void name(file::TemporaryName& temporary, const std::string& path) {
  std::error_code error;
  if (std::filesystem::file_size(temporary.path(), error) == 0 || error) return;
  if (std::rename(temporary.path().c_str(), path.c_str()) == 0) temporary.release();
}

}  // namespace

void index_reference(const std::string& reference) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::string index = reference + ".fai", blocks = reference + ".gzi";
  std::error_code error;
  if (!std::filesystem::is_regular_file(reference, error) || std::filesystem::exists(index, error)) return;
  silence_htslib();
  file::TemporaryName new_index, new_blocks;
  if (new_index.take(index, make_file) != 0 || new_blocks.take(blocks, make_file) != 0) return;
  errno = 0;
  if (fai_build3(reference.c_str(), new_index.path().c_str(), new_blocks.path().c_str()) != 0) {
    if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO) {
      throw InputError(
          fmt::format("the reference {} cannot be used: no index can be made of it; it must be FASTA, plain "
                      "or BGZF, whose "
                      "lines are equally long in each sequence",
                      reference));
    }
    throw ResourceError(
        fmt::format("cannot write {}, the index of the reference: {}; free space, or give a copy "
                    "of the reference elsewhere",
                    index, std::strerror(errno)));
  }
  name(new_blocks, blocks);
  name(new_index, index);
}

}  // namespace warpmer::io
