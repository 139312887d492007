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

bool is_of_disk(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

[[noreturn]] void fail(const std::string& index, int error) {
  throw ResourceError(
      fmt::format("cannot write {}, the index of the reference: {}; {}name a copy of the "
                  "reference elsewhere",
                  index, std::strerror(error), is_of_disk(error) ? "free space, or " : ""));
}

/// Makes a file for an index. False where there may be none.
bool take(file::TemporaryName& temporary, const std::string& index) {
  const int error = temporary.take(index, make_file);
  if (is_of_disk(error)) fail(index, error);
  return error == 0;
}

/// Gives an index its name, unless it is empty: only BGZF has one of its blocks.
void name(file::TemporaryName& temporary, const std::string& index) {
  std::error_code error;
  if (std::filesystem::file_size(temporary.path(), error) == 0) return;
  if (std::rename(temporary.path().c_str(), index.c_str()) != 0) fail(index, errno);
  temporary.release();
}

}  // namespace

void index_reference(const std::string& reference) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::string index = reference + ".fai", blocks = reference + ".gzi";
  std::error_code failed;
  if (!std::filesystem::is_regular_file(reference, failed) || std::filesystem::exists(index, failed)) return;
  // htslib takes the name of an index for that of the reference, too.
  if (reference.ends_with(".fai") || ::access(reference.c_str(), R_OK) != 0) return;
  silence_htslib();
  file::TemporaryName new_index, new_blocks;
  if (!take(new_index, index) || !take(new_blocks, blocks)) return;
  errno = 0;
  if (fai_build3(reference.c_str(), new_index.path().c_str(), new_blocks.path().c_str()) != 0) {
    if (is_of_disk(errno)) fail(index, errno);
    if (errno == EIO)
      throw InputError(fmt::format("the reference {} cannot be read: {}", reference, std::strerror(EIO)));
    throw InputError(fmt::format(
        "no index can be made of the reference {}; it must be FASTA, plain or BGZF, with lines that "
        "are equally long in each sequence",
        reference));
  }
  name(new_blocks, blocks);
  name(new_index, index);
}

}  // namespace warpmer::io
