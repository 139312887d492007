#include "cli/kmer_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace warpmer::cli {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
/// A line this long holds no k-mer; without a limit a binary file would be read into memory whole.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

}  // namespace

KmerList::KmerList(const std::string& path) : name_(path == "-" ? "standard input" : path) {
  descriptor_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw InputError("cannot open '" + path + "': " + std::strerror(errno));
  }
  struct stat status {};
  if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
}

KmerList::~KmerList() {
  if (descriptor_ > STDERR_FILENO) {
    close(descriptor_);
  }
}

bool KmerList::next(KmerChunk& chunk) {
  const std::scoped_lock lock(mutex_);
  chunk.text = std::exchange(rest_, {});
  std::size_t lines_end = std::string::npos;
  while (!ended_ && lines_end == std::string::npos) {
    const std::size_t before = chunk.text.size();
    ended_ = !read_more(chunk.text);
    const std::size_t last = chunk.text.rfind('\n');
    if (last != std::string::npos && last >= before) {
      lines_end = last;
    }
    if (lines_end == std::string::npos && chunk.text.size() > kLongestLine) {
      throw InputError(name_ + ":" + std::to_string(next_line_) + ": this line is too long for a k-mer");
    }
  }
  if (!ended_) {
    rest_ = chunk.text.substr(lines_end + 1);
    chunk.text.resize(lines_end + 1);
  }
  chunk.ordinal = next_ordinal_;
  chunk.first_line = next_line_;
  next_line_ += static_cast<std::uint64_t>(std::count(chunk.text.begin(), chunk.text.end(), '\n'));
  if (chunk.text.empty()) {
    return false;
  }
  ++next_ordinal_;
  return true;
}

bool KmerList::read_more(std::string& text) {
  const std::size_t before = text.size();
  text.resize(before + kChunkBytes);
  ssize_t got = 0;
  do {
    got = read(descriptor_, text.data() + before, kChunkBytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    throw InputError("cannot read " + name_ + ": " + std::strerror(errno));
  }
  text.resize(before + static_cast<std::size_t>(got));
  return got > 0;
}

std::string_view kmer_of_line(std::string_view line) { return line.substr(0, line.find_first_of(" \t\r")); }

}  // namespace warpmer::cli
