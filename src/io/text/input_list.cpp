#include "io/text/input_list.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "file/byte_file.h"
#include "file/input_error.h"
#include "io/text/line_reader.h"

namespace warpmer::io {
namespace {

/// True for "https://..." and the like, if there is no file of this name.
bool is_url(const std::string& path) {
  constexpr std::string_view kOfScheme = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+";
  const std::size_t end = path.find("://");
  return end != std::string::npos && end > 0 && path.find_first_not_of(kOfScheme) == end &&
         ::access(path.c_str(), F_OK) != 0;
}

InputFile check_file(const std::string& path) {
  if (path.empty()) throw UsageError("one of the inputs has an empty name");
  InputFile file;
  file.path = path;
  file.shown = path == "-" ? std::string(file::kStandardInput) : path;
  file.is_url = is_url(path);
  if (file.is_url) return file;
  struct stat status {};
  const int descriptor = file::descriptor_in_path(path);
  const int result = descriptor >= 0 ? ::fstat(descriptor, &status) : ::stat(path.c_str(), &status);
  if (result != 0)
    file::fail_at({file.shown}, fmt::format("cannot be opened: {}", file::system_message(errno)));
  if (S_ISDIR(status.st_mode)) file::fail_at({file.shown}, "is a folder; name the files in it");
  if (descriptor < 0 && ::access(path.c_str(), R_OK) != 0) {
    file::fail_at({file.shown}, fmt::format("cannot be opened: {}", file::system_message(errno)));
  }
  file.is_regular = S_ISREG(status.st_mode);
  file.disk_bytes = file.is_regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  return file;
}

/// Names of files may have such characters, too, but not those that people list: these are files of another
/// kind.
bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return (code < 0x20 && character != '\t') || code == 0x7f;
}

/// Adds the file, unless it is one that can be read only once and is there already.
void add_file(std::vector<InputFile>& files, const std::string& path) {
  InputFile file = check_file(path);
  const int descriptor = file::descriptor_in_path(path);
  for (const InputFile& other : files) {
    const bool is_same = descriptor >= 0 ? descriptor == file::descriptor_in_path(other.path)
                                         : !file.is_regular && !file.is_url && path == other.path;
    if (is_same) {
      throw UsageError(fmt::format("{} is named twice, but can be read only once; name it once", file.shown));
    }
  }
  files.push_back(std::move(file));
}

constexpr LineLimit kLongestName{
    4096, "this line is too long for the name of a file; '@' is for text that names inputs, one a line"};

/// Bytes that a job keeps of each name besides its characters, and how often it keeps these: as they were
/// given, checked, in the report, and in the index.
constexpr std::uint64_t kBytesOfFile = 512, kCopiesOfName = 8;

/// Adds the paths in a list, each of a file that can be read. `bytes_left` is what names may still take.
void add_listed(std::vector<std::string>& paths, const std::string& list, std::uint64_t& bytes_left) {
  if (list.empty()) throw UsageError("'@' must be followed by the name of a file that lists inputs");
  check_file(list);
  LineReader lines(list, 1, kLongestName);
  for (std::string_view name; lines.next_entry(name);) {
    if (std::any_of(name.begin(), name.end(), is_control)) {
      lines.fail(fmt::format("{} is no name of a file; '@' is for text that names inputs, one a line",
                             file::quoted(name)));
    }
    const std::uint64_t bytes = kBytesOfFile + kCopiesOfName * name.size();
    if (bytes > bytes_left) {
      throw ResourceError(
          fmt::format("{}, line {}: the names of {} files are all that fit into memory; raise -m, or list "
                      "fewer",
                      lines.shown(), lines.line(), paths.size()));
    }
    bytes_left -= bytes;
    try {
      check_file(paths.emplace_back(name));
    } catch (const InputError& error) {
      const bool are_sequences = name.starts_with('>') || name.starts_with('@');
      throw InputError(fmt::format("{} (line {} of {}{})", error.what(), lines.line(), lines.shown(),
                                   are_sequences ? "; a file of sequences is named without '@'" : ""));
    }
  }
}

/// Returns what a name ends in: ".fq", or ".fq.gz".
std::string form_of(const std::filesystem::path& path) {
  const std::string ending = path.extension();
  const bool is_compressed = ending == ".gz" || ending == ".bgz" || ending == ".bgzf";
  return is_compressed ? path.stem().extension().string() + ending : ending;
}

}  // namespace

bool can_be_opened_again(const InputFile& file) {
  return file.is_regular && !file.is_range() && file::descriptor_in_path(file.path) < 0;
}

std::vector<std::string> expand_lists(const std::vector<std::string>& paths, std::uint64_t most_bytes) {
  std::vector<std::string> expanded;
  for (const std::string& path : paths) {
    if (path.starts_with('@')) {
      add_listed(expanded, path.substr(1), most_bytes);
    } else {
      expanded.push_back(path);
    }
  }
  if (expanded.empty() && !paths.empty()) throw UsageError("no input: the lists of files are empty");
  return expanded;
}

std::vector<InputFile> list_inputs(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) add_file(files, path);
  if (files.empty()) throw UsageError("no input; name files, or '-' for standard input");
  return files;
}

std::uint64_t bytes_of_alike(const std::vector<InputFile>& files) {
  std::uint64_t bytes = 0;
  for (const InputFile& file : files) {
    const std::string form = form_of(file.path);
    const bool is_read_ahead = form == ".cram";  // by htslib, it is not known how far
    if (!file.is_regular || is_read_ahead || form != form_of(files.front().path)) return 0;
    bytes += file.disk_bytes;
  }
  return bytes;
}

}  // namespace warpmer::io
