#include "system/huge_pages.h"

namespace warpmer::system {

void prefer_huge_pages(void* begin, std::size_t bytes) noexcept { ::madvise(begin, bytes, MADV_HUGEPAGE); }
void avoid_huge_pages(void* begin, std::size_t bytes) noexcept { ::madvise(begin, bytes, MADV_NOHUGEPAGE); }
void give_back_pages(void* begin, std::size_t bytes) noexcept { ::madvise(begin, bytes, MADV_DONTNEED); }

}  // namespace warpmer::system
