#pragma once
/// A file's bytes in memory: mapped where possible, read where not (pipes).

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "file/mapped_inputs.h"

namespace warpmer::file {

/// The whole of a file, read-only, page-aligned. Keeps no descriptor of a file that has a name, unless it is
/// told to `read` it, so that any number of them can be open.
class MappedInput {
 public:
  /// Called with the first bytes of a pipe (all, if it has fewer than `early_bytes`) and `name()`, so that
  /// something else entirely is refused before it has been read into memory.
  using EarlyCheck = std::function<void(std::span<const std::byte>, const std::string&)>;

  /// "-" is standard input. InputError when the file cannot be read; ResourceError without a descriptor for
  /// it, or when it cannot be mapped and has more than `most_copied_bytes`.
  explicit MappedInput(const std::string& path, std::size_t early_bytes = 0,
                       const EarlyCheck& early_check = {}, std::uint64_t most_copied_bytes = UINT64_MAX);
  ~MappedInput();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  /// Returns the name that messages give the file: its quoted path or "standard input".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Throws an InputError: its name, and what is wrong with it.
  [[noreturn]] void refuse(const std::string& what) const;
  /// InputError when the file has become shorter than it was: its pages cannot be read.
  void check_size() const;
  /// Answers the same question, by system calls only, as a signal handler may ask.
  [[nodiscard]] bool is_shorter() const noexcept;
  /// Says why a page of it could not be read, in the words of an error, behind its name; by system calls
  /// only. (A file that is written anew is empty for a moment, and may have its size back when it is asked
  /// for.)
  [[nodiscard]] const char* why_unreadable() const noexcept;
  /// Says what has become of the file since it was opened, if it is not what it was: it is shorter, or ends
  /// in other bytes, as when it is written anew. The words are those of an error, beginning with its name.
  [[nodiscard]] std::optional<std::string> change() const;
  /// Tells the kernel that a range is about to be read, or is not needed again soon.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void release(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Copies a range without touching its mapped pages: to map them, and to give them back, takes longer than
  /// to copy them, where each is wanted once. InputError when they cannot be read, or are not there any more.
  /// Thread-safe.
  void read(std::uint64_t offset, std::size_t bytes, std::byte* into) const;

 private:
  void open(const std::string& path);
  bool map();
  void read_all(std::size_t early_bytes, const EarlyCheck& early_check, std::uint64_t most_bytes);
  void grow();
  using Advice = void (*)(void*, std::size_t) noexcept;
  void advise(std::uint64_t offset, std::uint64_t bytes, Advice advice) const noexcept;
  void reopen() const noexcept;
  [[nodiscard]] bool look(struct stat& status) const noexcept;
  [[nodiscard]] bool is_of_this_file(const struct stat& status) const noexcept;
  [[nodiscard]] std::uint64_t tail_checksum() const noexcept;
  [[noreturn]] void throw_shorter() const;
  [[noreturn]] void throw_too_large(std::uint64_t most_bytes) const;
  void close_descriptor() noexcept;
  void close() noexcept;

  std::string path_;
  std::string name_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  timespec modified_{};  ///< when it was opened
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;  ///< bytes mapped
  bool is_mapped_ = false;    ///< true when it points to the file, rather than holding a copy
  std::uint64_t tail_checksum_ = 0;
  std::atomic<bool> is_tail_known_{false};  ///< true from then on: others may ask while it is being opened
  std::optional<MappedInputs::Registration> registered_;  ///< while it is mapped
  mutable std::once_flag reopened_;
  /// Kept of standard input; of a file from when it is to be `read`, if that is still under its name.
  mutable std::atomic<int> fd_{-1};
};

}  // namespace warpmer::file
