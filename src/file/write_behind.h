#pragma once
/// Controls what becomes of a large file's pages in the page cache while it is written.

#include <atomic>
#include <cstdint>

namespace warpmer::file {

/// Has the kernel begin to write a file to the disk while it is still growing: left to itself, it lets a file
/// pile up in memory, and the thread that syncs it waits for all of it. And, where that is wanted, has it
/// give up the pages that are on the disk, so that the pages after them are the same memory again. That
/// matters beyond what others could do with the memory: on virtual machines whose hosts lend memory as it is
/// touched, a page that was never touched costs ten times what writing to it does. These are only hints,
/// which never fail; they are safe for several threads. (They wait for nothing: a thread that waits for the
/// disk takes a failed write's error away from the one that syncs.)
class WriteBehind {
 public:
  /// Keeps pages out of the cache from now on.
  void leave_cache() noexcept { leaves_cache_ = true; }

  /// To be called when `bytes` more have been written; the file ends at `end`, about.
  void note(int descriptor, std::uint64_t end, std::uint64_t bytes) noexcept;
  /// To be called when the file is on the disk as a whole.
  void complete(int descriptor) const noexcept;

 private:
  std::atomic<bool> leaves_cache_{false};
  std::atomic<std::uint64_t> unasked_bytes_{0};  ///< since the kernel was last asked to write
};

}  // namespace warpmer::file
