#pragma once
/// Counted shards that are larger than memory: their k-mers go to the spill file in canonical order, and come
/// back from there, as often as it takes, as the payloads of frozen shards.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/count/freezer.h"
#include "cpu/count/spilled_runs.h"
#include "cpu/simd/kernels.h"
#include "file/checksum.h"
#include "file/spill_file.h"
#include "index/frozen_shard.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

/// A shard in the spill file: frozen in blocks, each of which is read as a whole.
template <class Key>
class SpilledShard : public index::PayloadSource {
 public:
  SpilledShard(file::SpillFile& file, std::uint32_t k) : file_(file), k_(k) {}

  [[nodiscard]] index::ShardShape shape() const { return index::choose_shape(entries_, widths_, k_); }

  void read(const Take& take) const override {
    ReadBuffer buffer(take);
    index::pack_payload<Key>(shape(), k_, BufferEnd{&buffer}, [this](auto&& visit) {
      for (const SpilledRun& spilled : blocks_) {
        index::FrozenShard block;
        read_run(file_, spilled, block);
        const index::ShardView view{block.shape, block.payload.data(), block.payload.size()};
        index::ShardReader<Key>(view, k_).for_each(visit);
      }
    });
    buffer.flush();
  }

 private:
  template <class>
  friend class ShardSpill;

  /// Words on their way to a reader, some at a time.
  class ReadBuffer {
   public:
    explicit ReadBuffer(const Take& take) : take_(take), words_(kWords) {}
    void push(std::uint64_t word) {
      words_[size_++] = word;
      if (size_ == kWords) flush();
    }
    void flush() {
      if (size_ > 0) take_(words_.data(), size_);
      size_ = 0;
    }

   private:
    static constexpr std::size_t kWords = std::size_t{1} << 13;
    const Take& take_;
    std::vector<std::uint64_t> words_;
    std::size_t size_ = 0;
  };
  /// An output iterator that appends to it.
  struct BufferEnd {
    ReadBuffer* buffer;
    BufferEnd& operator*() { return *this; }
    BufferEnd& operator++(int) { return *this; }
    BufferEnd& operator=(std::uint64_t word) {
      buffer->push(word);
      return *this;
    }
  };

  file::SpillFile& file_;
  std::uint32_t k_;
  std::vector<SpilledRun> blocks_;
  std::uint64_t entries_ = 0;
  index::CountWidths widths_{};
};

/// Writes a shard to the spill file.
template <class Key>
class ShardSpill {
 public:
  /// Adds to `written_bytes` what is written. The file must live as long as what `finish` returns.
  ShardSpill(const Kernels& kernels, std::uint32_t k, file::SpillFile& file,
             std::atomic<std::uint64_t>& written_bytes)
      : kernels_(kernels),
        file_(file),
        written_bytes_(written_bytes),
        shard_(std::make_shared<SpilledShard<Key>>(file, k)) {}

  /// Appends entries in increasing order of their hashes, which are larger than all before.
  void append(const Key* hashes, const std::uint64_t* counts, std::size_t n, Freezer& freezer) {
    kernels_.count_widths(counts, n, shard_->widths_.data());
    shard_->entries_ += n;
    for (std::size_t i = 0; i < n; i += kBlockEntries) {
      blocks_.push_back(freezer.freeze(hashes + i, counts + i, std::min(kBlockEntries, n - i)));
      bytes_ += blocks_.back().payload.size() * sizeof(std::uint64_t);
      if (bytes_ >= kWriteBytes) write();
    }
  }

  /// Returns the shard, with a payload that is read from the file.
  index::FrozenShard finish() {
    write();
    return {shard_->shape(), {}, shard_};
  }

 private:
  /// A block is small enough that a thread can hold one without being asked.
  static constexpr std::size_t kBlockEntries = std::size_t{1} << 12;
  /// The file is written about so many bytes at a time.
  static constexpr std::uint64_t kWriteBytes = std::uint64_t{1} << 20;

  void write() {
    if (blocks_.empty()) return;
    std::vector<file::WritePiece> pieces;
    const std::uint64_t begin = file_.allocate(bytes_);
    std::uint64_t at = begin;
    for (const index::FrozenShard& block : blocks_) {
      const std::uint64_t bytes = block.payload.size() * sizeof block.payload[0];
      pieces.push_back({block.payload.data(), bytes});
      shard_->blocks_.push_back({block.shape, {at, bytes, file::checksum(block.payload.data(), bytes)}});
      at += bytes;
    }
    file_.write(begin, pieces);
    written_bytes_ += bytes_;
    blocks_.clear();
    bytes_ = 0;
  }

  const Kernels& kernels_;
  file::SpillFile& file_;
  std::atomic<std::uint64_t>& written_bytes_;
  std::shared_ptr<SpilledShard<Key>> shard_;
  std::vector<index::FrozenShard> blocks_;  ///< not yet written
  std::uint64_t bytes_ = 0;                 ///< bytes of these
};

}  // namespace warpmer::cpu
