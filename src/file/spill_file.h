#pragma once
/// The temporary file to which is written what a share of memory cannot hold.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/progress.h"
#include "file/write_behind.h"
#include "file/write_pieces.h"

namespace warpmer::file {

/// The place of a spill file.
struct SpillPlace {
  std::string directory = ".";
  bool is_chosen = false;                     ///< the user chose it: an error if it cannot do, needed or not
  std::function<Progress()> input_read = {};  ///< tells how much of the input has been read (SpillFile)
};

/// Bytes in a spill file.
struct Spilled {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3, 64 bits, as file::checksum
};

/// Tells a user what to do when a temporary file cannot be written: put it elsewhere, or have less of it.
struct SpillRemedies {
  const char* elsewhere = "choose another --tmp-dir";
  const char* less = ", or raise -m";  ///< empty where nothing makes it less
};

/// Returns a sentence for a system's error: why no temporary file can be made in this directory, and whether
/// $TMPDIR or --tmp-dir names it.
std::string tmp_directory_fault(const std::string& directory, int error, const SpillRemedies& remedies = {});

/// A file that has no name from the beginning, or none from just after it, so that the system
/// takes it back however the process ends. One descriptor; written from front to back, each byte once. Safe
/// to be used by several threads. All failures are ResourceErrors that name the directory, and what was still
/// to be written: by all threads, as far as that was known, and about, if what has been read tells.
class SpillFile {
 public:
  /// Creates it in `directory`, which is made if it is not there, and then, as nothing with a name is in it,
  /// removed again. `read` tells how much of the input has been read while the file is written to; then the
  /// error of a full disk says what the rest is going to take, if it goes on like this. Thread-safe.
  explicit SpillFile(const std::string& directory, std::function<Progress()> read = {},
                     SpillRemedies remedies = {});
  ~SpillFile();

  /// Keeps what is written from now on out of the page cache: for callers that say what they `will_need`.
  void leave_cache() noexcept { write_behind_.leave_cache(); }

  /// Returns room for so many bytes at the end of the file: where they are to be written.
  std::uint64_t allocate(std::uint64_t bytes) {
    const std::uint64_t offset = end_.fetch_add(bytes);
    if (offset == 0) read_before_ = share_read().done;
    return offset;
  }
  /// Writes the pieces, one after the other, to a place that `allocate` gave. The kernel is asked to pass
  /// them on to the disk, and no thread waits for that.
  void write(std::uint64_t offset, std::span<const WritePiece> pieces);
  /// Reads bytes back; ResourceError when they are not those that were written.
  void read(const Spilled& what, void* to);
  /// Tells the kernel that a range will be read soon, so that it reads ahead.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Tells it that a range has been read, so that its memory serves to read others.
  void give_up(std::uint64_t offset, std::uint64_t bytes) const noexcept;

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return written_; }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return read_; }

 private:
  void open();
  [[nodiscard]] Progress share_read() const { return share_read_ ? share_read_() : Progress{}; }
  [[nodiscard]] std::uint64_t bytes_of_the_rest(std::uint64_t written) const;
  [[noreturn]] void fail_writing(std::uint64_t written, int error) const;
  [[noreturn]] void fail(const std::string& doing, std::uint64_t bytes, std::uint64_t done, int error) const;

  std::string directory_;
  SpillRemedies remedies_;
  std::function<Progress()> share_read_;
  bool made_directory_ = false;
  int fd_ = -1;
  WriteBehind write_behind_;
  std::atomic<std::uint64_t> end_{0};
  std::atomic<std::uint64_t> read_before_{0};  ///< bytes of input, when the first bytes were to be written
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> read_{0};
};

}  // namespace warpmer::file
