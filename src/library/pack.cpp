// warpmer::pack and unpack: k-mers as texts and as integers.

#include <fmt/format.h>

#include "backend/lookup/kmer_text.h"
#include "base/error.h"
#include "kmer/kmer.h"
#include "kmer/packed_words.h"
#include "library/argument_checks.h"
#include "library/as_error.h"
#include "warpmer/warpmer.h"

namespace warpmer {

namespace {

void require_k(std::uint32_t k) {
  if (k < 1 || k > kLargestK) {
    throw UsageError(fmt::format("k is {}; k-mers have 1 to {} bases", k, kLargestK));
  }
}

}  // namespace

std::vector<std::uint64_t> pack(std::span<const std::string_view> kmers, std::uint32_t k) {
  return library::with_errors([&] {
    require_k(k);
    std::vector<std::uint64_t> words(kmers.size() * words_per_kmer(k));
    with_key_type(k, [&]<class Key>(Key kmer) {
      std::uint64_t* to = words.data();
      for (const std::string_view text : kmers) {
        backend::require_kmer(text, k);
        kmer_from_text(text, kmer);
        write_packed(kmer, to);
        to += kPackedWords<Key>;
      }
    });
    return words;
  });
}

std::string unpack(std::span<const std::uint64_t> kmers, std::uint32_t k) {
  return library::with_errors([&] {
    require_k(k);
    const std::size_t words = words_per_kmer(k);
    library::check_packed(kmers.size(), k);
    std::string texts(kmers.size() / words * k, '\0');
    with_key_type(k, [&]<class Key>(Key kmer) {
      char* to = texts.data();
      for (std::size_t i = 0; i + words <= kmers.size(); i += words, to += k) {
        read_packed(&kmers[i], kmer);
        if (kmer > key_mask<Key>(k)) {
          throw UsageError(
              fmt::format("packed k-mer {} has more than the {} bits of a {}-mer", i / words + 1, 2 * k, k));
        }
        kmer_to_text(kmer, k, to);
      }
    });
    return texts;
  });
}

}  // namespace warpmer
