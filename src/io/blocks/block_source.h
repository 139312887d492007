#pragma once
/// Text in blocks, one after another, for several threads at once: decompressed (`ReadAhead`), or as it is in
/// a file (`FileBlocks`).

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

namespace warpmer::io {

/// One block, which belongs to one thread until it is given back; at first, none.
struct BlockLease {
  std::uint64_t number = 0;      ///< number of the block, from 0
  bool is_end = true;            ///< there is no text, but the end of the stream, or no block
  std::exception_ptr error;      ///< nor here, but what is wrong where the text should be
  std::size_t size = 0;          ///< bytes of text
  const char* text = nullptr;    ///< its place, if it is in memory
  std::uint64_t disk_bytes = 0;  ///< bytes of the file that it accounts for
  std::uint64_t slot = 0;        ///< place where its source has it
};

class BlockSource {
 public:
  BlockSource() = default;
  virtual ~BlockSource() = default;
  BlockSource(const BlockSource&) = delete;
  BlockSource& operator=(const BlockSource&) = delete;

  /// Returns the most bytes in a block.
  [[nodiscard]] virtual std::size_t block_capacity() const noexcept = 0;
  /// Returns the next block, which may be empty; any number of threads may call it. Each must give its block
  /// back before it borrows another. After the end, or an error, the same comes again.
  virtual BlockLease borrow() = 0;
  virtual void give_back(const BlockLease& lease) = 0;
  /// Copies the block's text from `begin` on.
  virtual void copy(const BlockLease& lease, std::size_t begin, std::span<char> into) = 0;
};

}  // namespace warpmer::io
