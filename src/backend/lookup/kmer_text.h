#pragma once
/// K-mers as users type them.

#include <cstdint>
#include <string_view>

namespace warpmer::backend {

/// UsageError when `text` is not exactly k characters of A C G T U, any case.
void require_kmer(std::string_view text, std::uint32_t k);

}  // namespace warpmer::backend
