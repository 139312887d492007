#pragma once
/// Pending super-k-mers: for each shard a list of pages, appended to by any thread.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "cpu/memory/page_pool.h"
#include "cpu/simd/word_format.h"
#include "groups/flanked_word.h"

namespace warpmer::cpu {

/// The content of a page.
struct PageContent {
  std::uint16_t bytes = 0;
  std::uint16_t words = 0;
  std::uint32_t kmers = 0;  ///< in the words
};

/// A page of words, written as WordFormat does. The link comes first, which PagePool relies on.
template <class Word>
struct PendingPage {
  static constexpr std::size_t kBytes = PagePool::kPageBytes - 16;
  /// Words that any page has room for.
  static constexpr std::uint32_t kCapacity = static_cast<std::uint32_t>(kBytes / sizeof(Word));
  /// Bytes beyond which it may have no room for another word.
  static constexpr std::size_t kFullBytes = kBytes - WordFormat<Word>::kMostBytes;

  PendingPage* next;
  PageContent content;  ///< valid when the page is full; else the list knows
  char data[kBytes];
};
static_assert(sizeof(PendingPage<groups::FlankedWord<2>>) == PagePool::kPageBytes);
static_assert(PendingPage<groups::FlankedWord<2>>::kBytes <= UINT16_MAX);

/// Reads `words` words from `data`, and calls `visit(words, n)` for some at a time, at most as many as any
/// page has room for.
template <class Word, class Visit>
void for_each_word(const WordFormat<Word>& format, const char* data, std::uint64_t words, Visit&& visit) {
  constexpr std::uint64_t kMost = PendingPage<Word>::kCapacity;
  typename WordFormat<Word>::Stored some[kMost];
  while (words > 0) {
    const std::uint64_t n = std::min(words, kMost);
    for (std::uint64_t i = 0; i < n; ++i) data = format.read(data, some[i]);
    visit(std::as_const(some), static_cast<std::size_t>(n));
    words -= n;
  }
}

/// A shard's list of pages: all are full but the last.
template <class Word>
struct PendingList {
  PendingPage<Word>* first = nullptr;
  PendingPage<Word>* last = nullptr;
  PageContent in_last;  ///< the last page need not say it itself: appending would fetch it for that
  std::uint32_t pages = 0;
  std::uint64_t words = 0;  ///< on all pages
  std::uint64_t kmers = 0;  ///< in all words

  /// Returns what is on a page of the list.
  [[nodiscard]] PageContent content(const PendingPage<Word>* page) const {
    return page == last ? in_last : page->content;
  }

  /// Takes the first pages away that have `n` words, at least one, or all if there are fewer.
  PendingList take_front(std::uint64_t n) {
    if (n >= words) return std::exchange(*this, {});
    return take_until([&](const PendingList& front) { return front.words >= n; });
  }
  /// Takes the first `n` pages away, at least one, or all if there are fewer.
  PendingList take_pages(std::uint32_t n) {
    if (n >= pages) return std::exchange(*this, {});
    return take_until([&](const PendingList& front) { return front.pages >= n; });
  }

  /// Calls `visit(data, content)` for each page.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    for (const auto* page = first; page != nullptr; page = page == last ? nullptr : page->next) {
      // Within a page the processor, or the visitor, sees what comes next; here neither would.
      for (int line = 0; line < 16 && page != last; ++line)
        __builtin_prefetch(reinterpret_cast<const char*>(page->next) + 64 * line);
      visit(static_cast<const char*>(page->data), content(page));
    }
  }

 private:
  template <class IsEnough>
  PendingList take_until(IsEnough&& is_enough) {
    PendingList front;
    front.first = first;
    for (auto* page = first;; page = page->next) {
      front.last = page;
      front.in_last = content(page);
      front.pages += 1;
      front.words += front.in_last.words;
      front.kmers += front.in_last.kmers;
      if (page == last) return std::exchange(*this, {});
      if (is_enough(front)) break;
    }
    first = front.last->next;
    pages -= front.pages;
    words -= front.words;
    kmers -= front.kmers;
    return front;
  }
};

/// The words of a list.
template <class Word>
struct ListedWords {
  const WordFormat<Word>& format;
  const PendingList<Word>& list;

  [[nodiscard]] std::uint64_t size() const { return list.words; }
  /// Calls `visit(words, n)` for some at a time, at most as many as any page has room for.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    list.for_each_page([&](const char* data, const PageContent& content) {
      for_each_word(format, data, content.words, visit);
    });
  }
};

template <class Word>
class PendingStore {
 public:
  /// Makes a store for super-k-mers of this k.
  PendingStore(PagePool& pool, std::uint32_t shards, std::uint32_t k)
      : pool_(pool), format_(k), shards_(new PendingShard[shards]) {}

  [[nodiscard]] const WordFormat<Word>& format() const { return format_; }

  /// Appends `n` words to a shard, on pages from a stock of the same pool.
  void append(std::uint32_t shard, const Word* words, std::size_t n, PageStock& stock) {
    stock.provide(n / PendingPage<Word>::kCapacity + 1);
    PendingShard& s = shards_[shard];
    const ShardLock lock(s);
    while (n > 0) {
      if (s.list.pages == 0 || s.list.in_last.bytes > PendingPage<Word>::kFullBytes)
        add_page(s.list, stock.take());
      const std::size_t part = fill(s.list, words, n);
      words += part;
      n -= part;
    }
    s.end.store(s.list.last->data + s.list.in_last.bytes, std::memory_order_relaxed);
    s.pages.store(s.list.pages, std::memory_order_relaxed);
  }

  /// Fetches what the next `append` to this shard will write to. Taking a lock waits for all stores
  /// before it, so a miss among them would cost its full time.
  void prefetch(std::uint32_t shard) const {
    const char* end = shards_[shard].end.load(std::memory_order_relaxed);
    if (end == nullptr) return;
    __builtin_prefetch(end, 1);
    __builtin_prefetch(end + 64, 1);
  }

  /// Takes a shard's list away; it is empty afterwards. Give it back with `release`.
  PendingList<Word> take(std::uint32_t shard) {
    PendingShard& s = shards_[shard];
    const ShardLock lock(s);
    s.pages.store(0, std::memory_order_relaxed);
    return std::exchange(s.list, {});
  }

  void release(const PendingList<Word>& list) noexcept {
    if (list.pages > 0) pool_.release(list.first, list.last, list.pages);
  }

  /// Returns the number of pages of a shard; a hint while others append.
  [[nodiscard]] std::uint32_t pages(std::uint32_t shard) const {
    return shards_[shard].pages.load(std::memory_order_relaxed);
  }
  /// Returns the number of k-mers in a shard's words.
  [[nodiscard]] std::uint64_t kmers(std::uint32_t shard) const {
    const ShardLock lock(shards_[shard]);
    return shards_[shard].list.kmers;
  }

 private:
  /// The fields that appending looks at are in one line of the cache.
  struct alignas(64) PendingShard {
    std::atomic_flag busy;
    std::atomic<std::uint32_t> pages{0};  ///< pages of the list, for a thread that has no lock
    PendingList<Word> list;
    std::atomic<const char*> end{nullptr};  ///< end of the list, or of what it was; a hint
  };
  static_assert(sizeof(PendingShard) == 64);

  /// Held for a few hundred nanoseconds and seldom contended: 4096 of them, taken in the same order by
  /// threads that started at different times.
  class ShardLock {
   public:
    explicit ShardLock(PendingShard& shard) : shard_(shard) {
      while (shard_.busy.test_and_set(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
    }
    ~ShardLock() { shard_.busy.clear(std::memory_order_release); }
    ShardLock(const ShardLock&) = delete;
    ShardLock& operator=(const ShardLock&) = delete;

   private:
    PendingShard& shard_;
  };

  static void add_page(PendingList<Word>& list, void* memory) {
    auto* page = static_cast<PendingPage<Word>*>(memory);
    page->next = nullptr;
    if (list.pages == 0) {
      list.first = page;
    } else {
      list.last->next = page;
      list.last->content = list.in_last;
    }
    list.last = page;
    list.in_last = {};
    ++list.pages;
  }

  /// Writes the first of `n` words to a page, until it is full, and returns how many.
  std::size_t fill(PendingList<Word>& list, const Word* words, std::size_t n) const {
    char* at = list.last->data + list.in_last.bytes;
    const char* const full = list.last->data + PendingPage<Word>::kFullBytes;
    std::uint32_t kmers = 0;
    std::size_t i = 0;
    for (; i < n && at <= full; ++i) {
      at = format_.write(words[i], at);
      kmers += format_.kmers(words[i]);
    }
    list.in_last = {static_cast<std::uint16_t>(at - list.last->data),
                    static_cast<std::uint16_t>(list.in_last.words + i), list.in_last.kmers + kmers};
    list.words += i;
    list.kmers += kmers;
    return i;
  }

  PagePool& pool_;
  const WordFormat<Word> format_;
  std::unique_ptr<PendingShard[]> shards_;
};

}  // namespace warpmer::cpu
