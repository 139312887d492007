#pragma once
/// The file an index is written to: one that gets its name when it is complete, or a stream.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "file/output/shared_memory_file.h"
#include "file/output/temporary_name.h"
#include "file/write_behind.h"
#include "file/write_pieces.h"

namespace warpmer::file {

/// Writes a file without a name, which gets `path` when it is complete: until then, nothing is left of it
/// however the process ends. Where the file system has no such files (NFS), and for other processes that are
/// to write, too, it has a temporary name beside `path`, and is renamed. A file that replaces another has its
/// owner and mode, as far as that can be. "-", and anything that exists under `path` but is no regular file
/// (a pipe, a device), is written to directly and in order. A file's content is on the disk before it gets
/// its name. All failures are ResourceErrors that name the path, and those of writing also say what is
/// written and what is still needed, as far as that is known.
class OutputFile {
 public:
  /// `writers` is how many threads will call `write` at once.
  explicit OutputFile(const std::string& path, unsigned writers = 1);
  /// Opens the temporary file of another process, which gives it its name: for writing ranges of it. Unless
  /// this one, too, is to remove it when the job fails, it must live until the other's `commit` has returned.
  struct PartOf {
    const std::string& temporary;
  };
  OutputFile(const std::string& path, const PartOf& other);
  /// Nothing is left unless `commit` has returned.
  ~OutputFile();

  /// True when only writes in order are possible; then `offset` in `write` must be what was written so far.
  /// Streams are so, but for the null device, where order does not matter.
  [[nodiscard]] bool is_ordered() const noexcept { return is_stream_ && !is_null_; }

  /// The name under which other processes find the file until `commit`: it has one from now on. Empty for
  /// streams.
  [[nodiscard]] const std::string& temporary();

  /// Gives the file these rights. One that replaces another gets those of that one when it is complete. What
  /// the file system does not take is passed over, as with a stream.
  void set_mode(unsigned mode) noexcept;

  /// Says how much is to be written in all, about: so a full disk's error can say how much is needed.
  void expect(std::uint64_t bytes) noexcept { expected_ = bytes; }

  /// Writes the pieces one after the other from `offset` on. Where order does not matter, several threads may
  /// write different ranges at once.
  void write(std::uint64_t offset, std::span<const WritePiece> pieces);

  /// Keeps what is written to a file from now on out of the page cache.
  void leave_cache() noexcept { write_behind_.leave_cache(); }

  /// Waits until a file is on the disk and closes it. Everything that may fail late has then been done:
  /// outputs that belong together are all completed before the first gets its name. InputError when a mapped
  /// input has been changed: what was made of it is not to be kept.
  void complete();
  /// Gives the file its final name, at once or together with others (OutputGroup); completes it before,
  /// unless that has been done. Nothing more may be done with it.
  void commit();

 private:
  void open_stream();
  void create();
  bool create_without_name();
  void sync();
  /// Throws the error of a write of `bytes` bytes, of which `written` have been written.
  [[noreturn]] void fail_writing(int error, std::uint64_t bytes, std::uint64_t written) const;
  [[noreturn]] void fail(const std::string& doing, int error) const;

  std::string path_;         ///< path that the user knows
  std::string target_;       ///< path that the file goes to: `path_` with links resolved
  TemporaryName temporary_;  ///< empty: it has no name yet
  bool is_stream_ = false, is_null_ = false;
  bool is_part_ = false;    ///< another process names it
  bool is_shared_ = false;  ///< other processes know its temporary name
  bool is_complete_ = false;
  int fd_ = -1;
  std::optional<SharedMemoryFile> shared_;  ///< for large writes, where that is faster
  std::atomic<std::uint64_t> end_{0};       ///< end of what is written
  std::atomic<std::uint64_t> written_{0}, expected_{0};
  WriteBehind write_behind_;
};

}  // namespace warpmer::file
