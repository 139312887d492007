#pragma once
/// Large memory whose pages are made while nobody needs the processors, before it is known how much of it
/// there has to be.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/huge_pages.h"

namespace warpmer {

/// The system clears a page when it is touched for the first time, which takes longer than filling it does.
/// Those that are made here are there already. (So they count for the resident set, taken or not.)
class PagesAhead {
 public:
  /// Threads begin to make pages for so many bytes. Where the system has no such memory, or no such threads,
  /// there will be less, or nothing.
  PagesAhead(std::size_t bytes, unsigned threads)
      : bytes_(whole_huge_pages(bytes)), begin_(map_huge_pages(bytes_)), end_(begin_) {
    if (begin_ == nullptr) return;
    end_ += bytes_;
    try {
      for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this, first = begin_] { make(first); });
    } catch (const std::system_error&) {  // those that have begun will do
    }
  }
  ~PagesAhead() {
    stop();
    keep(0);
  }
  PagesAhead(const PagesAhead&) = delete;
  PagesAhead& operator=(const PagesAhead&) = delete;

  /// Bytes that have been made, or are just being made.
  [[nodiscard]] std::size_t made() const noexcept { return std::min(bytes_, next_.load()); }
  /// Ends it. What has not been made by then goes.
  void stop() noexcept {
    if (is_stopped_.exchange(true)) return;
    for (std::thread& thread : threads_) thread.join();
    keep(made());
  }

  // Once it is stopped, for any number of threads.

  /// Bytes that are there, and that nobody has taken.
  [[nodiscard]] std::size_t left() const noexcept {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(end_ - begin_);
  }
  /// Of these, what is more than so many goes.
  void keep(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    const auto more = static_cast<std::size_t>(end_ - begin_) - std::min<std::size_t>(bytes, end_ - begin_);
    if (more == 0) return;
    end_ -= more;
    unmap_huge_pages(end_, more);
  }
  /// Takes so many bytes, whole pages of zero bytes, which `unmap_huge_pages` gives back. Null when there are
  /// fewer left.
  char* take(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::size_t>(end_ - begin_) < bytes) return nullptr;
    char* const taken = begin_;
    begin_ += bytes;
    return taken;
  }

 private:
  /// One huge page after the other, and all of its pages, should it be none.
  void make(char* first) noexcept {
    const std::size_t page = system_page_bytes();
    while (!is_stopped_) {
      const std::size_t at = next_.fetch_add(kHugePageBytes);
      if (at >= bytes_) return;
      for (std::size_t i = 0; i < kHugePageBytes; i += page) *static_cast<volatile char*>(first + at + i) = 0;
    }
  }

  const std::size_t bytes_;
  std::atomic<std::size_t> next_{0};  ///< bytes of pages that a thread has made, or is at
  std::atomic<bool> is_stopped_{false};
  mutable std::mutex mutex_;  ///< guards what follows
  char* begin_;               ///< of what nobody has taken
  char* end_;                 ///< of what is there
  std::vector<std::thread> threads_;
};

}  // namespace warpmer
