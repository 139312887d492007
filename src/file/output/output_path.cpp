#include "file/output/output_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.h"

namespace warpmer::file {
namespace {

namespace fs = std::filesystem;

/// Number of links that Linux follows.
constexpr int kMostLinks = 40;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ResourceError(fmt::format("cannot write '{}': {}", path, why));
}

/// A name that is too long is shown by its beginning: the message is to be read.
std::string shortened(const std::string& path) {
  constexpr std::size_t kShown = 60;
  return path.size() <= kShown ? path : path.substr(0, kShown) + "...";
}

void check_length(const std::string& path, const std::string& target) {
  const std::size_t length = fs::path(target).filename().string().size();
  const long limit = ::pathconf(parent_of(target).c_str(), _PC_NAME_MAX);
  const std::size_t most = limit > 0 ? static_cast<std::size_t>(limit) : NAME_MAX;
  if (length > most) {
    refuse(shortened(path), fmt::format("its name has {} bytes, and the file system takes names of up to {}; "
                                        "choose a shorter one",
                                        length, most));
  }
  if (target.size() >= PATH_MAX) {
    refuse(shortened(path), fmt::format("its path has {} bytes, and the system takes paths of less than {}; "
                                        "choose a shorter one",
                                        target.size(), PATH_MAX));
  }
}

}  // namespace

bool is_standard_output(const std::string& path) { return path == "-" || path == "/dev/stdout"; }

bool is_stream(const std::string& path) {
  struct stat status {};
  // The shell may have put standard output into a file; it is written in order all the same.
  return is_standard_output(path) || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

std::string resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real) return real.get();
  // There is no such file: perhaps there is a link to where it should be.
  fs::path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code not_a_link;
    const fs::path next = fs::read_symlink(target, not_a_link);
    if (not_a_link) return target.string();
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return path;  // a circle, which the system will refuse
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string creation_fault(const std::string& parent, int error) {
  struct stat status {};
  if (::stat(parent.c_str(), &status) != 0 && errno == ENOENT) {
    return fmt::format("the directory '{}' does not exist: create it first, or choose another output",
                       parent);
  }
  if (error == ENOTDIR) return fmt::format("'{}' is not a directory: choose another output", parent);
  if (error == EACCES || error == EPERM || error == EROFS) {
    return fmt::format("the directory '{}' is not writable ({}): choose another output", parent,
                       std::strerror(error));
  }
  return std::strerror(error);
}

const char* output_advice(int error, bool is_temporary) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return is_temporary ? ": free some space, or choose another --tmp-dir"
                          : ": free some space, or choose another output";
    case EFBIG:
      return ": raise the limit on file sizes (ulimit -f), or choose another output";
    case EPIPE:
      return ": the reading program has ended";
    default:
      return "";
  }
}

void check_output_path(const std::string& path) {
  if (path.empty()) throw ResourceError("cannot write an output: its path is empty");
  if (is_standard_output(path)) return;
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (!is_there && errno == ELOOP) refuse(path, "its symbolic links lead in a circle; choose another name");
  if (is_there && S_ISDIR(status.st_mode)) refuse(path, "it is a directory; give the name of a file");
  if (is_there && !S_ISREG(status.st_mode)) return;
  const std::string target = resolve(path);
  if (fs::path(target).filename().empty()) refuse(path, "it names a directory, not a file");
  check_length(path, target);
  const std::string parent = parent_of(target);
  if (::stat(parent.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
    errno = ENOTDIR;
  } else if (::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) == 0) {
    return;
  }
  const int error = errno;
  throw ResourceError(fmt::format("cannot create '{}': {}", path, creation_fault(parent, error)));
}

}  // namespace warpmer::file
