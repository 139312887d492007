#pragma once
/// Finds places where a deflate stream could be entered.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace warpmer::io {

/// `find_block` looks at this many bytes behind the place where a block starts, at most.
constexpr std::size_t kBlockHeaderBytes = 300;

/// Returns the first bit of `data`, from `begin` to before `end`, at which a deflate block with codes of its
/// own seems to start that is not the last of its stream (RFC 1951, 3.2.7): its codes are complete. That is
/// true of a few places in 10^10 that are none. Nothing if there is no such place, or too near to the end of
/// `data`. Bits of a byte are numbered from the lowest.
std::optional<std::uint64_t> find_block(std::string_view data, std::uint64_t begin, std::uint64_t end);

}  // namespace warpmer::io
