#pragma once
/// Pending super-k-mers: for each shard a list of pages, appended to by any thread.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

/// A shard's list: all pages are full but the last.
template <int Words>
struct PendingList {
  PendingPage<Words>* first = nullptr;
  PendingPage<Words>* last = nullptr;
  std::uint32_t in_last = 0;  ///< words in the last page
  std::uint32_t pages = 0;

  [[nodiscard]] std::uint64_t size() const {
    return pages == 0 ? 0 : std::uint64_t{pages - 1} * PendingPage<Words>::kCapacity + in_last;
  }

  /// Calls `visit(words, n)` for each page.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    for (const auto* page = first; page != nullptr; page = page == last ? nullptr : page->next)
      visit(page->words, page == last ? in_last : PendingPage<Words>::kCapacity);
  }
};

template <int Words>
class PendingStore {
 public:
  PendingStore(PagePool& pool, std::uint32_t shards) : pool_(pool), shards_(new Shard[shards]) {}

  /// Appends `n` words to a shard.
  void append(std::uint32_t shard, const SuperKmer<Words>* words, std::size_t n) {
    Shard& s = shards_[shard];
    const Lock lock(s);
    while (n > 0) {
      if (s.list.pages == 0 || s.list.in_last == PendingPage<Words>::kCapacity) add_page(s.list);
      const std::size_t part = std::min<std::size_t>(n, PendingPage<Words>::kCapacity - s.list.in_last);
      stream_copy(s.list.last->words + s.list.in_last, words, part);
      s.list.in_last += static_cast<std::uint32_t>(part);
      words += part;
      n -= part;
    }
  }

  /// Takes a shard's list away; it is empty afterwards. Give it back with `release`.
  PendingList<Words> take(std::uint32_t shard) {
    Shard& s = shards_[shard];
    const Lock lock(s);
    return std::exchange(s.list, {});
  }

  void release(const PendingList<Words>& list) noexcept {
    if (list.pages > 0) pool_.release(list.first, list.last, list.pages);
  }

  /// Pages of a shard; a hint while others append.
  [[nodiscard]] std::uint32_t pages(std::uint32_t shard) {
    const Lock lock(shards_[shard]);
    return shards_[shard].list.pages;
  }

 private:
  struct Shard {
    std::atomic_flag busy;
    PendingList<Words> list;
  };

  /// Held for a few hundred nanoseconds at most: spinning beats sleeping.
  class Lock {
   public:
    explicit Lock(Shard& shard) : shard_(shard) {
      while (shard_.busy.test_and_set(std::memory_order_acquire)) {
#if defined(__x86_64__)
        _mm_pause();
#endif
      }
    }
    ~Lock() { shard_.busy.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Shard& shard_;
  };

  void add_page(PendingList<Words>& list) {
    auto* page = static_cast<PendingPage<Words>*>(pool_.acquire());
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

  /// Past the caches: a page is read again only when its shard is counted.
  static void stream_copy(SuperKmer<Words>* to, const SuperKmer<Words>* from, std::size_t n) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    auto* out = reinterpret_cast<__m128i*>(to);
    const auto* in = reinterpret_cast<const __m128i*>(from);
    for (std::size_t i = 0; i < n * sizeof(SuperKmer<Words>) / 16; ++i)
      _mm_stream_si128(out + i, _mm_load_si128(in + i));
    _mm_sfence();  // streamed stores are not ordered by the lock's release
#else
    std::memcpy(to, from, n * sizeof(SuperKmer<Words>));
#endif
  }

  PagePool& pool_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace warpmer::cpu
