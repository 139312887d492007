#pragma once
/// A large file of text on disk, in blocks of about a batch. The text of a block is read by the thread that
/// has its lease.

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "file/chunked_file.h"
#include "io/blocks/block_source.h"

namespace warpmer::io {

class FileBlocks final : public BlockSource {
 public:
  /// Takes the same as ChunkedFile. It has no block if the file is empty or cannot be opened.
  FileBlocks(const std::string& path, std::string shown, std::size_t most_bytes,
             const std::atomic<bool>& cancelled, std::uint64_t known_bytes)
      : file_(path, std::move(shown), most_bytes, cancelled, known_bytes), capacity_(most_bytes) {}

  [[nodiscard]] bool is_empty() const noexcept { return file_.chunks() == 0; }
  [[nodiscard]] std::size_t block_capacity() const noexcept override { return capacity_; }

  BlockLease borrow() override {
    BlockLease lease;
    lease.number = std::min(next_++, file_.chunks());
    lease.is_end = lease.number == file_.chunks();
    lease.size = static_cast<std::size_t>(file_.begin(lease.number + 1) - file_.begin(lease.number));
    lease.disk_bytes = lease.size;
    return lease;
  }
  void give_back(const BlockLease& /*lease*/) override {}
  void copy(const BlockLease& lease, std::size_t begin, std::span<char> into) override {
    file_.read(file_.begin(lease.number) + begin, into.size(), into.data());
  }

 private:
  const file::ChunkedFile file_;
  const std::size_t capacity_;
  std::atomic<std::uint64_t> next_ = 0;
};

}  // namespace warpmer::io
