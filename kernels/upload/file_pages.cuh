#pragma once
/// The pages that hold an index's payloads, pinned once for all GPUs.

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "index/index_file.h"

namespace warpmer::gpu {

/// Pinning reads the whole file, cannot be stopped, and is waited for in the end: it is begun when it is
/// known that the pages will be copied again and again. Thread-safe.
class FilePages {
 public:
  explicit FilePages(const index::IndexFile& index) : index_(index) {}
  /// Waits until pinning has ended. No copy from the pages may be under way.
  ~FilePages();

  /// Begins to pin all pages, in a thread of its own, unless that has been begun. If the file system refuses,
  /// or there is no room for a thread, nothing changes.
  void begin_to_pin();
  /// True when every device can copy from the pages by itself.
  [[nodiscard]] bool are_pinned() const { return are_pinned_; }

 private:
  void pin(int gpu);

  const index::IndexFile& index_;
  std::once_flag begun_;
  std::atomic<bool> are_pinned_{false};
  std::thread thread_;
};

/// Returns the pages of an index, or none if they are too many: no other process can use pinned pages, and
/// others shall have most of the memory, and half of the free memory.
std::shared_ptr<FilePages> pages_to_pin(const index::IndexFile& index);

}  // namespace warpmer::gpu
