#pragma once
/// The pages that hold an index's payloads, pinned once for all GPUs.

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "index/index_file.h"

namespace warpmer::gpu {

/// Pinning reads the whole file, cannot be stopped, and is waited for in the end: it is begun when somebody
/// knows that the pages will be copied again and again. Safe to be used by many threads.
class FilePages {
 public:
  /// Of a mapped file, which must outlive this.
  explicit FilePages(const index::IndexFile& index) : index_(index) {}
  /// Waits until pinning has ended. Nothing is copied from the pages any more.
  ~FilePages();
  FilePages(const FilePages&) = delete;
  FilePages& operator=(const FilePages&) = delete;

  /// Begins to pin all pages, in a thread of its own, unless that has been begun. File systems may refuse,
  /// and there may be no room for a thread: then nothing changes.
  void begin_to_pin();
  /// Whether every device can copy from them by itself.
  [[nodiscard]] bool are_pinned() const { return are_pinned_; }

 private:
  void pin(int gpu);

  const index::IndexFile& index_;
  std::once_flag begun_;
  std::atomic<bool> are_pinned_{false};
  std::thread thread_;
};

/// Those of an index, or none if they are too many: pinned pages are nobody else's, and others shall have
/// most of the memory, and half of what is free. `index` must outlive them.
std::shared_ptr<FilePages> pages_to_pin(const index::IndexFile& index);

}  // namespace warpmer::gpu
