#pragma once
/// Mapped memory besides huge pages: mapped files, and a mapping that grows.

#include <cstddef>

namespace warpmer::system {

/// Tells the system that mapped pages of a file are about to be read, or are not needed again soon: what is
/// in memory of them then counts no longer for the process, as far as the system can do that. They come back
/// on the next touch. `begin` is that of a page.
void will_need_mapped(void* begin, std::size_t bytes) noexcept;
void release_mapped(void* begin, std::size_t bytes) noexcept;

/// Maps memory of `larger` bytes with the content of the `bytes` at `old`, which are no more then; `old` may
/// be null. Pages that are not touched take no memory. Null, with errno set, when the system has none: then
/// `old` is as it was.
void* grow_mapping(void* old, std::size_t bytes, std::size_t larger) noexcept;

}  // namespace warpmer::system
