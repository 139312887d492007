#pragma once
/// A regular file in chunks of equal size, to be read by any number of threads.

#include <atomic>
#include <cstdint>
#include <string>

namespace warpmer::file {

class ChunkedFile {
 public:
  /// Chunks are about `most_bytes` long, none is longer. `shown` is the file's name for messages. A file that
  /// cannot be opened has no chunks; one of less than `known_bytes` is BecameShorter.
  ChunkedFile(const std::string& path, std::string shown, std::uint64_t most_bytes,
              const std::atomic<bool>& cancelled, std::uint64_t known_bytes = 0);
  ~ChunkedFile();
  ChunkedFile(const ChunkedFile&) = delete;
  ChunkedFile& operator=(const ChunkedFile&) = delete;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_; }
  /// Returns the offset of a chunk; that of the one behind the last is the size of the file.
  [[nodiscard]] std::uint64_t begin(std::uint64_t chunk) const noexcept {
    return chunk < chunks_ ? chunk * chunk_bytes_ : size_;
  }

  /// Reads [offset, offset + size) of the file. Throws InputError when that is not to be had, BecameShorter
  /// where the file has ended before, and Cancelled.
  void read(std::uint64_t offset, std::size_t size, char* into) const;

 private:
  const std::string shown_;
  const std::atomic<bool>& cancelled_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t chunk_bytes_ = 0;
};

}  // namespace warpmer::file
