#include "backend/lookup/kmer_text.h"

#include <fmt/format.h>

#include "base/error.h"
#include "file/input_error.h"
#include "kmer/alphabet.h"

namespace warpmer::backend {

void require_kmer(std::string_view text, std::uint32_t k) {
  const auto shown = [&] { return file::quoted(text, 80); };
  if (text.size() != k)
    throw UsageError(fmt::format("{} has {} bases, and k is {}", shown(), text.size(), k));
  for (const char c : text) {
    if (char_class(c) != CharClass::base)
      throw UsageError(fmt::format("{} is no k-mer: {} is not one of A C G T U", shown(), file::quoted(c)));
  }
}

}  // namespace warpmer::backend
