/// Pages for pending super-k-mers, given back to the system.

#include "cpu/memory/page_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

using warpmer::cpu::PagePool;

namespace {

constexpr std::size_t kPages = 256;

/// All bytes of page number `n`.
unsigned char filling(std::size_t n) { return static_cast<unsigned char>(n % 251 + 1); }

bool is_intact(const void* page, std::size_t n) {
  const std::vector<unsigned char> expected(PagePool::kPageBytes, filling(n));
  return std::memcmp(page, expected.data(), expected.size()) == 0;
}

std::vector<void*> filled_pages(PagePool& pool) {
  std::vector<void*> pages;
  for (std::size_t n = 0; n < kPages; ++n) {
    pages.push_back(pool.acquire());
    std::memset(pages.back(), filling(n), PagePool::kPageBytes);
  }
  return pages;
}

/// The pages that share one of the system's with one that is kept.
template <class IsKept>
std::size_t pages_held(const std::vector<void*>& pages, IsKept&& is_kept, std::size_t system_page) {
  const auto place_of = [&](std::size_t n) {
    return reinterpret_cast<std::uintptr_t>(pages[n]) / std::max(system_page, PagePool::kPageBytes);
  };
  std::set<std::uintptr_t> held;
  for (std::size_t n = 0; n < kPages; ++n) {
    if (is_kept(n)) held.insert(place_of(n));
  }
  std::size_t number = 0;
  for (std::size_t n = 0; n < kPages; ++n) number += held.count(place_of(n));
  return number;
}

}  // namespace

TEST_CASE("pages in use keep what they hold when free ones beside them go back to the system") {
  // A system whose pages are larger than this one's takes back several of the pool's at once.
  for (const std::size_t times : {1, 4, 16}) {
    CAPTURE(times);
    const std::size_t system_page = times * warpmer::system::page_bytes();
    PagePool pool(system_page);
    const std::vector<void*> pages = filled_pages(pool);
    const auto is_kept = [](std::size_t n) { return n < kPages / 2 ? n % 4 == 3 : n >= kPages - 5; };
    std::size_t kept = 0;
    for (std::size_t n = kPages; n-- > 0;) {
      if (is_kept(n)) {
        ++kept;
      } else {
        pool.release(pages[n], pages[n], 1);
      }
    }
    pool.shrink(0);
    CHECK(pool.bytes_in_use() == kept * PagePool::kPageBytes);
    for (std::size_t n = 0; n < kPages; ++n) {
      if (is_kept(n)) CHECK(is_intact(pages[n], n));
    }
    CHECK(pool.bytes_resident() == pages_held(pages, is_kept, system_page) * PagePool::kPageBytes);

    // Pages that have gone back can be had again.
    std::vector<void*> again;
    for (std::size_t n = kept; n < kPages; ++n) {
      again.push_back(pool.acquire());
      std::memset(again.back(), 0xFF, PagePool::kPageBytes);
    }
    CHECK(pool.bytes_in_use() == kPages * PagePool::kPageBytes);
    for (std::size_t n = 0; n < kPages; ++n) {
      if (is_kept(n)) CHECK(is_intact(pages[n], n));
    }
    for (void* page : again) pool.release(page, page, 1);
    for (std::size_t n = 0; n < kPages; ++n) {
      if (is_kept(n)) pool.release(pages[n], pages[n], 1);
    }
    for (std::uint64_t left = kPages / 2; left > 0; left /= 2) {
      pool.shrink(left * PagePool::kPageBytes);
      CHECK(pool.bytes_resident() <= left * PagePool::kPageBytes);
    }
    pool.shrink(0);
    CHECK(pool.bytes_in_use() == 0);
    CHECK(pool.bytes_resident() == 0);
  }
}
