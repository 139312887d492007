#include "backend/lookup/kmer_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "file/input_error.h"
#include "kmer/alphabet.h"

namespace warpmer::backend {

void require_kmer(std::string_view text, std::uint32_t k) {
  const auto shown = [&] { return file::quoted(text, 80); };
  if (text.size() != k)
    throw UsageError(fmt::format("{} has {} bases, and k is {}", shown(), text.size(), k));
  const auto is_base = [](char c) { return char_class(c) == CharClass::base; };
  // To look at all of them is faster than to look for the first that is none.
  bool are_bases = true;
  for (const char c : text) are_bases &= is_base(c);
  if (are_bases) return;
  const char other = *std::find_if_not(text.begin(), text.end(), is_base);
  throw UsageError(fmt::format("{} is no k-mer: {} is not one of A C G T U", shown(), file::quoted(other)));
}

}  // namespace warpmer::backend
