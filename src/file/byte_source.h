#pragma once
/// A source of bytes: a file as it is on disk, or what a decompressor makes of it.

#include <cstddef>
#include <cstdint>

namespace warpmer::file {

/// A stream of bytes, read once from start to end by one thread at a time.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Reads up to `size` bytes, at least one unless the stream has ended: 0 is the end, and stays so.
  virtual std::size_t read(char* into, std::size_t size) = 0;
  /// True, after 0, when that is not the end, but all there is for now.
  [[nodiscard]] virtual bool is_interrupted() const noexcept { return false; }

  /// Returns the bytes of the file on disk that what was read so far accounts for.
  [[nodiscard]] virtual std::uint64_t disk_bytes() const noexcept = 0;
};

}  // namespace warpmer::file
