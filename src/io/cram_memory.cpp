#include "io/cram_memory.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "io/byte_file.h"

namespace warpmer::io {
namespace {

/// A slice in all its stages: compressed, decompressed, and as records.
constexpr std::uint64_t kAloneBytes = std::uint64_t{32} << 20;
/// With threads, each has one, and one or two more wait to be read.
constexpr std::uint64_t kThreadBytes = std::uint64_t{52} << 20;

/// Length of the longest sequence of a FASTA file by its index; without one, the file's size.
std::uint64_t longest_sequence(const std::string& reference) {
  std::ifstream index(reference + ".fai");
  std::uint64_t longest = 0, length = 0;
  while (index.ignore(std::numeric_limits<std::streamsize>::max(), '\t') && index >> length) {
    longest = std::max(longest, length);
    index.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  if (longest > 0) return longest;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(reference, error);
  return error ? 0 : size;
}

}  // namespace

bool is_cram(const std::string& path) {
  const int inherited = descriptor_in_path(path);
  const int file = inherited >= 0 ? inherited : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  char start[4] = {};
  const off_t at = inherited >= 0 ? ::lseek(file, 0, SEEK_CUR) : 0;
  const ssize_t n = at < 0 ? 0 : ::pread(file, start, sizeof start, at);
  if (inherited < 0) ::close(file);
  return n == sizeof start && std::string_view(start, sizeof start) == "CRAM";
}

std::uint64_t cram_memory_bytes(unsigned threads, const std::string& reference) {
  const std::uint64_t slices = threads > 1 ? threads * kThreadBytes : kAloneBytes;
  return slices + (reference.empty() ? 0 : 2 * longest_sequence(reference));
}

}  // namespace warpmer::io
