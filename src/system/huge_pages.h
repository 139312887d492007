#pragma once
/// Large memory that is written all over, in huge pages where the system has them: fewer page faults, and the
/// processor's address translation keeps up.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace warpmer::system {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// `bytes` rounded up to whole huge pages.
constexpr std::size_t whole_huge_pages(std::size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

/// Returns the size in which the system maps memory and takes it back: 4 KiB on x86-64; kernels for aarch64
/// may have 16 or 64 KiB.
inline std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Asks for huge pages in mapped memory, or for none: only hints.
void prefer_huge_pages(void* begin, std::size_t bytes) noexcept;
void avoid_huge_pages(void* begin, std::size_t bytes) noexcept;

/// Maps zero bytes, from the boundary of a huge page on if there is one of them at least. They take memory as
/// they are touched. Null, with errno set, when the system has none.
inline char* map_huge_pages(std::size_t bytes) noexcept {
  const std::size_t more = bytes < kHugePageBytes ? 0 : kHugePageBytes;
  void* const memory =
      ::mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<char*>(memory);
  if (more > 0) {
    const std::size_t page = page_bytes();
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory) % kHugePageBytes;
    if (before > 0) ::munmap(begin, before);
    begin += before;
    const std::size_t mapped = (bytes + page - 1) / page * page;
    if (before < more) ::munmap(begin + mapped, more - before);
  }
  prefer_huge_pages(begin, bytes);
  return begin;
}

/// Whole pages of what was mapped take no memory until they are touched again, and are zero then. `begin` is
/// that of a page.
void give_back_pages(void* begin, std::size_t bytes) noexcept;

/// Unmaps what was mapped, with as many bytes.
inline void unmap_huge_pages(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

}  // namespace warpmer::system
