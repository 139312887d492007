#pragma once
/// Counted k-mers that wait to be sorted: for each shard a list of pages of bytes, appended to by any thread.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "cpu/memory/page_pool.h"
#include "cpu/memory/scratch.h"

namespace warpmer::cpu {

/// An entry as bytes: the bits of a key, then its count, seven bits a byte, the lowest first, the top bit
/// set in all but the last.
template <class Key>
class EntryCodec {
 public:
  /// Most bytes that `encode` and `decode` may touch, from where they begin.
  static constexpr std::size_t kMostBytes = sizeof(Key) + 10;

  explicit EntryCodec(std::uint32_t key_bits) : key_bytes_((key_bits + 7) / 8) {}

  char* encode(Key key, std::uint64_t count, char* out) const {
    std::memcpy(out, &key, sizeof key);
    out += key_bytes_;
    for (; count >= 0x80; count >>= 7) *out++ = static_cast<char>(count | 0x80);
    *out++ = static_cast<char>(count);
    return out;
  }
  const char* decode(const char* in, Key& key, std::uint64_t& count) const {
    key = 0;
    std::memcpy(&key, in, sizeof key);
    key &= static_cast<Key>(~Key{0} >> (8 * (sizeof(Key) - key_bytes_)));
    in += key_bytes_;
    count = 0;
    for (std::uint32_t shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(*in++);
      count |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return in;
    }
  }
  /// Returns the bytes of an entry with a small count.
  [[nodiscard]] std::size_t least_bytes() const { return key_bytes_ + 1; }

 private:
  std::size_t key_bytes_;
};

class EntryStore {
 public:
  explicit EntryStore(std::uint32_t shards) : number_(shards), shards_(new ShardPages[shards]) {}

  /// Appends `entries` entries, of `bytes` bytes together.
  void append(std::uint32_t shard, const char* data, std::size_t bytes, std::size_t entries) {
    ShardPages& s = shards_[shard];
    while (s.busy.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    s.entries += entries;
    s.bytes += bytes;
    while (bytes > 0) {
      if (s.in_last == kPageBytes) add_page(s);
      const std::size_t part = std::min(bytes, kPageBytes - s.in_last);
      std::memcpy(s.last->bytes + s.in_last, data, part);
      s.in_last += part;
      data += part;
      bytes -= part;
    }
    s.end.store(s.last->bytes + s.in_last, std::memory_order_relaxed);
    s.busy.clear(std::memory_order_release);
  }

  /// Fetches what the next `append` to this shard will write to.
  void prefetch(std::uint32_t shard) const {
    __builtin_prefetch(shards_[shard].end.load(std::memory_order_relaxed), 1);
  }

  /// Copies all of a shard to `out` and gives its pages back. Returns how many entries that is.
  std::size_t take(std::uint32_t shard, Scratch<char>& out, std::size_t read_ahead_bytes) {
    ShardPages& s = shards_[shard];
    char* at = out.get(s.bytes + read_ahead_bytes);
    for (const EntryPage* page = s.first; page != nullptr; page = page->next) {
      const std::size_t part = page == s.last ? s.in_last : kPageBytes;
      std::memcpy(at, page->bytes, part);
      at += part;
    }
    std::fill_n(at, read_ahead_bytes, '\0');
    if (s.first != nullptr) pool_.release(s.first, s.last, s.pages);
    s.first = s.last = nullptr;
    return s.entries;
  }

  [[nodiscard]] std::uint64_t entries(std::uint32_t shard) const { return shards_[shard].entries; }
  /// Returns the bytes of all shards that have not been taken.
  [[nodiscard]] std::uint64_t entry_bytes() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t shard = 0; shard < number_; ++shard) bytes += shards_[shard].bytes;
    return bytes;
  }
  [[nodiscard]] std::uint64_t bytes_in_use() const { return pool_.bytes_in_use(); }
  /// Returns what the pages will take, at most, for so many entries of so many bytes together.
  [[nodiscard]] std::uint64_t most_bytes(std::uint64_t entries, std::uint64_t bytes) const {
    return bytes + std::min<std::uint64_t>(entries, number_) * PagePool::kPageBytes;
  }

 private:
  static constexpr std::size_t kPageBytes = PagePool::kPageBytes - sizeof(void*);
  struct EntryPage {
    EntryPage* next;  ///< first, which PagePool relies on
    char bytes[kPageBytes];
  };
  static_assert(sizeof(EntryPage) == PagePool::kPageBytes);

  struct ShardPages {
    std::atomic_flag busy;  ///< held for some hundred nanoseconds, and seldom contended
    EntryPage* first = nullptr;
    EntryPage* last = nullptr;
    std::size_t in_last = kPageBytes;
    std::size_t pages = 0;
    std::uint64_t entries = 0, bytes = 0;
    std::atomic<const char*> end{nullptr};  ///< a hint
  };

  void add_page(ShardPages& s) {
    auto* page = static_cast<EntryPage*>(pool_.acquire());
    page->next = nullptr;
    (s.last == nullptr ? s.first : s.last->next) = page;
    s.last = page;
    s.in_last = 0;
    ++s.pages;
  }

  PagePool pool_;
  const std::uint32_t number_;
  std::unique_ptr<ShardPages[]> shards_;
};

}  // namespace warpmer::cpu
