#pragma once
/// Finds the files that a job reads: the command line's paths with lists expanded, and checked.

#include <cstdint>
#include <string>
#include <vector>

namespace warpmer::io {

struct InputFile {
  std::string path;
  std::string shown;             ///< for messages: the path, or "standard input"
  std::uint64_t disk_bytes = 0;  ///< 0 if it is a pipe
  bool is_regular = false;
  bool is_url = false;  ///< read through htslib; else as a pipe is
  /// Unless they are 0 and 0, the only bytes of a regular file that are read, as if it were those.
  std::uint64_t begin = 0, end = 0;

  [[nodiscard]] bool is_range() const noexcept { return end != 0; }
};

/// True for a file that can be read as often as one likes, and by any process: no pipe, no range of a file,
/// and no descriptor that this process was given ("-", /dev/fd/N), whatever that leads to.
bool can_be_opened_again(const InputFile& file);

/// Puts the paths that a list names (one a line; blank lines and lines that start with '#' are skipped) in
/// the place of "@list.txt". To be called once for what a command line says, since a list may be a pipe; read
/// line by line, and nothing behind the first wrong line. InputError for a list that cannot be read, or names
/// a file that cannot, with its line; UsageError for lists that name nothing; ResourceError for names that
/// take more than `most_bytes` in all that a job makes of them.
std::vector<std::string> expand_lists(const std::vector<std::string>& paths,
                                      std::uint64_t most_bytes = UINT64_MAX);

/// Checks each file without opening it; of a URL nothing is known before it is read. InputError names the
/// first that does not exist, is a folder or may not be read; UsageError for no input at all, and for a pipe
/// named twice.
std::vector<InputFile> list_inputs(const std::vector<std::string>& paths);

/// Returns the bytes of all files, if their names say that they are of one form, compressed or not (.fq,
/// .fq.gz): then a share of these bytes is about that of the bases. 0 where names differ in that, for CRAM,
/// of which no reader says how far it is, and where one is a pipe.
std::uint64_t bytes_of_alike(const std::vector<InputFile>& files);

}  // namespace warpmer::io
