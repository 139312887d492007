#pragma once
/// K-mers that come to a live table on GPUs as texts.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Returns a k-mer given as text, which is one, as it is counted.
template <class Key>
Key kmer_of(std::string_view text, const KmerParams& kmers) {
  Key kmer = 0;
  kmer_from_text(text, kmer);
  return kmers.canonical ? canonical(kmer, kmers.k) : kmer;
}

/// Returns those that are asked for.
template <class Key>
std::vector<Key> kmers_of(std::span<const std::string_view> texts, const KmerParams& kmers) {
  std::vector<Key> all;
  all.reserve(texts.size());
  for (const std::string_view text : texts) all.push_back(kmer_of<Key>(text, kmers));
  return all;
}

}  // namespace warpmer::gpu
