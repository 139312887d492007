#pragma once
/// A file as it is on disk, a pipe, or what comes from elsewhere: opened once, read once, never sought.

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "file/byte_source.h"

namespace warpmer::file {

/// Reads a file descriptor. On pipes it waits with a timeout, so that a cancelled job does not hang
/// on a writer that has nothing to say.
class ByteFile final : public ByteSource {
 public:
  /// Opens `path`; "-" and /dev/fd/N are descriptors that are open already and are duplicated
  /// instead, because opening a pipe a second time loses track of its writers. `shown` is the name
  /// for messages. Reading throws Cancelled once `cancelled` is set, and BecameShorter when a regular file
  /// ends before where it ended when it was opened; so does opening one of less than `known_bytes`.
  ByteFile(const std::string& path, std::string shown, const std::atomic<bool>& cancelled,
           std::uint64_t known_bytes = 0);
  /// Reads from another source, as from a pipe.
  ByteFile(std::unique_ptr<ByteSource> source, std::string shown, const std::atomic<bool>& cancelled);
  ~ByteFile() override;

  /// Returns the next `size` bytes without taking them, fewer only if the file ends before. Valid until the
  /// next call.
  std::string_view peek(std::size_t size);
  /// Takes `size` bytes that were peeked at.
  void skip(std::size_t size);

  /// Makes a regular file, of which nothing has been read, end at `end` and begin at `begin`.
  void restrict_to(std::uint64_t begin, std::uint64_t end);

  std::size_t read(char* into, std::size_t size) override;
  /// Makes reading throw Cancelled from now on, also where another thread is waiting in it.
  void stop() noexcept { stopped_ = true; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override {
    return taken_bytes_.load(std::memory_order_relaxed);
  }
  /// Returns the size of the whole file; 0 for a pipe.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }

 private:
  std::size_t read_descriptor(char* into, std::size_t size);
  void wait_readable();
  void check_end() const;
  void throw_if_stopped() const;

  std::string shown_;
  const std::atomic<bool>& cancelled_;
  std::atomic<bool> stopped_ = false;
  std::unique_ptr<ByteSource> source_;  ///< null: the descriptor is read
  int descriptor_ = -1;
  bool is_regular_ = false;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t left_bytes_ = UINT64_MAX;  ///< bytes that may still be read
  std::string head_;                       ///< peeked bytes, of which `head_taken_` have been read
  std::size_t head_taken_ = 0;
  std::atomic<std::uint64_t> taken_bytes_ = 0;
};

/// Returns the number N of a path like /dev/fd/N (system/descriptors.h), /dev/stdin or "-", or -1 for any
/// other path.
int descriptor_in_path(std::string_view path);

}  // namespace warpmer::file
