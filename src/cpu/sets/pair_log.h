#pragma once
/// Pairs that wait until it is known whether they count, in memory and, beyond a share of it, in a file.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "file/checksum.h"
#include "file/spill_file.h"

namespace warpmer::cpu {

/// The facts of the two k-mers.
struct LoggedPair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// Blocks of pairs, in any order.
class PairLog {
 public:
  PairLog(std::uint64_t memory_bytes, std::string directory)
      : memory_bytes_(memory_bytes), directory_(std::move(directory)) {}

  /// Returns what a thread that writes or reads holds besides.
  static constexpr std::uint64_t kBytesOfThread = (std::uint64_t{1} << 12) * sizeof(LoggedPair);

  /// Brings one thread's pairs.
  class PairWriter {
   public:
    explicit PairWriter(PairLog& log) : log_(log) { block_.reserve(kPairsOfBlock); }
    void put(const LoggedPair& pair) {
      block_.push_back(pair);
      if (block_.size() == kPairsOfBlock) flush();
    }
    void flush() {
      if (!block_.empty()) log_.add(block_);
      block_.clear();
    }

   private:
    PairLog& log_;
    std::vector<LoggedPair> block_;
  };

  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  /// Returns the pairs of a block, in `buffer` if they come from the file. Nothing is written any more.
  std::span<const LoggedPair> block(std::size_t number, std::vector<LoggedPair>& buffer) {
    const PairBlock& block = blocks_[number];
    if (block.in_file.bytes == 0) return block.pairs;
    buffer.resize(block.in_file.bytes / sizeof(LoggedPair));
    file_->read(block.in_file, buffer.data());
    return buffer;
  }

 private:
  struct PairBlock {
    std::vector<LoggedPair> pairs;
    file::Spilled in_file;
  };
  static constexpr std::size_t kPairsOfBlock = kBytesOfThread / sizeof(LoggedPair);

  void add(const std::vector<LoggedPair>& pairs) {
    const std::uint64_t bytes = pairs.size() * sizeof(LoggedPair);
    {
      const std::lock_guard lock(mutex_);
      if (held_bytes_ + bytes <= memory_bytes_) {
        held_bytes_ += bytes;
        blocks_.push_back({pairs, {}});
        return;
      }
      if (!file_) file_ = std::make_unique<file::SpillFile>(directory_);
    }
    const file::Spilled place{file_->allocate(bytes), bytes, file::checksum(pairs.data(), bytes)};
    const file::WritePiece piece{pairs.data(), bytes};
    file_->write(place.offset, {&piece, 1});
    const std::lock_guard lock(mutex_);
    blocks_.push_back({{}, place});
  }

  const std::uint64_t memory_bytes_;
  const std::string directory_;
  std::mutex mutex_;
  std::vector<PairBlock> blocks_;
  std::uint64_t held_bytes_ = 0;
  std::unique_ptr<file::SpillFile> file_;
};

}  // namespace warpmer::cpu
