#pragma once
/// Pending super-k-mers: for each shard a list of pages, appended to by any thread.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "core/super_kmer.h"
#include "cpu/page_pool.h"

namespace warpmer::cpu {

/// A page of words. The first word's place holds the link, which PagePool relies on.
template <int Words>
struct PendingPage {
  static constexpr std::uint32_t kCapacity =
      static_cast<std::uint32_t>(PagePool::kPageBytes / sizeof(SuperKmer<Words>) - 1);
  PendingPage* next;
  std::uint64_t unused;
  alignas(sizeof(SuperKmer<Words>) > 16 ? 32 : 16) SuperKmer<Words> words[kCapacity];
};
static_assert(sizeof(PendingPage<2>) == PagePool::kPageBytes);
static_assert(sizeof(PendingPage<4>) == PagePool::kPageBytes);

template <int Words>
std::uint64_t kmers_in(const SuperKmer<Words>* words, std::size_t n) {
  std::uint64_t kmers = 0;
  for (std::size_t i = 0; i < n; ++i) kmers += words[i].kmers();
  return kmers;
}

/// A shard's list: all pages are full but the last.
template <int Words>
struct PendingList {
  PendingPage<Words>* first = nullptr;
  PendingPage<Words>* last = nullptr;
  std::uint32_t in_last = 0;  ///< words in the last page
  std::uint32_t pages = 0;
  std::uint64_t kmers = 0;  ///< in all words

  [[nodiscard]] std::uint64_t size() const {
    return pages == 0 ? 0 : std::uint64_t{pages - 1} * PendingPage<Words>::kCapacity + in_last;
  }

  /// Takes the first `n` pages away, at least one, or all if there are fewer.
  PendingList take_front(std::uint32_t n) {
    if (n >= pages) return std::exchange(*this, {});
    PendingList front{first, first, PendingPage<Words>::kCapacity, n,
                      kmers_in(first->words, PendingPage<Words>::kCapacity)};
    for (std::uint32_t i = 1; i < n; ++i) {
      front.last = front.last->next;
      front.kmers += kmers_in(front.last->words, PendingPage<Words>::kCapacity);
    }
    first = front.last->next;
    pages -= n;
    kmers -= front.kmers;
    return front;
  }

  /// Calls `visit(words, n)` for each page.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    for (const auto* page = first; page != nullptr; page = page == last ? nullptr : page->next) {
      // Within a page the processor, or who visits, sees what comes next; here nobody would.
      for (int line = 0; line < 16 && page != last; ++line)
        __builtin_prefetch(reinterpret_cast<const char*>(page->next) + 64 * line);
      visit(page->words, page == last ? in_last : PendingPage<Words>::kCapacity);
    }
  }
};

template <int Words>
class PendingStore {
 public:
  PendingStore(PagePool& pool, std::uint32_t shards) : pool_(pool), shards_(new Shard[shards]) {}

  /// Appends `n` words to a shard, on pages from a stock of the same pool.
  void append(std::uint32_t shard, const SuperKmer<Words>* words, std::size_t n, PageStock& stock) {
    stock.provide(n / PendingPage<Words>::kCapacity + 1);
    const std::uint64_t kmers = kmers_in(words, n);
    Shard& s = shards_[shard];
    const Lock lock(s);
    s.list.kmers += kmers;
    while (n > 0) {
      if (s.list.pages == 0 || s.list.in_last == PendingPage<Words>::kCapacity)
        add_page(s.list, stock.take());
      const std::size_t part = std::min<std::size_t>(n, PendingPage<Words>::kCapacity - s.list.in_last);
      std::memcpy(s.list.last->words + s.list.in_last, words, part * sizeof(SuperKmer<Words>));
      s.list.in_last += static_cast<std::uint32_t>(part);
      words += part;
      n -= part;
    }
    s.end.store(s.list.last->words + s.list.in_last, std::memory_order_relaxed);
    s.pages.store(s.list.pages, std::memory_order_relaxed);
  }

  /// Fetches what the next `append` to this shard will write to. Taking a lock waits for all stores
  /// before it, so a miss among them would cost its full time.
  void prefetch(std::uint32_t shard) const {
    const SuperKmer<Words>* end = shards_[shard].end.load(std::memory_order_relaxed);
    if (end == nullptr) return;
    __builtin_prefetch(end, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(end) + 64, 1);
  }

  /// Takes a shard's list away; it is empty afterwards. Give it back with `release`.
  PendingList<Words> take(std::uint32_t shard) {
    Shard& s = shards_[shard];
    const Lock lock(s);
    s.pages.store(0, std::memory_order_relaxed);
    return std::exchange(s.list, {});
  }

  void release(const PendingList<Words>& list) noexcept {
    if (list.pages > 0) pool_.release(list.first, list.last, list.pages);
  }

  /// Pages of a shard; a hint while others append.
  [[nodiscard]] std::uint32_t pages(std::uint32_t shard) const {
    return shards_[shard].pages.load(std::memory_order_relaxed);
  }

 private:
  struct Shard {
    std::atomic_flag busy;
    PendingList<Words> list;
    std::atomic<const SuperKmer<Words>*> end{nullptr};  ///< of the list, or of what it was; a hint
    std::atomic<std::uint32_t> pages{0};                ///< of the list, for who has no lock
  };

  /// Held for a few hundred nanoseconds and seldom contended: 4096 of them, taken in the same order by
  /// threads that started at different times.
  class Lock {
   public:
    explicit Lock(Shard& shard) : shard_(shard) {
      while (shard_.busy.test_and_set(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
    }
    ~Lock() { shard_.busy.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Shard& shard_;
  };

  static void add_page(PendingList<Words>& list, void* memory) {
    auto* page = static_cast<PendingPage<Words>*>(memory);
    page->next = nullptr;
    if (list.pages == 0) {
      list.first = page;
    } else {
      list.last->next = page;
    }
    list.last = page;
    list.in_last = 0;
    ++list.pages;
  }

  PagePool& pool_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace warpmer::cpu
