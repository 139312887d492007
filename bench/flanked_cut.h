#pragma once
/// Cutting sequence into super-k-mers around their minimizers: the definition, one base after the other,
/// which tests compare with what cuts fast.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/group_shape.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"

namespace warpmer::bench {

/// A super-k-mer and where its k-mers are in the sequence.
template <class Flanks>
struct CutSuperKmer {
  groups::FlankedSuperKmer<Flanks> super;
  std::size_t first;  ///< number of its first k-mer in the sequence
  std::uint32_t kmers;
  bool is_forward;  ///< the left flank stands first in the sequence; else the last k-mer is the leftmost
};

/// Cuts sequences, given as base codes. One per thread; its memory is reused.
template <class Key, class Flanks>
class FlankedCut {
 public:
  /// A super-k-mer that has more than `most_bases` in both flanks is cut in several.
  FlankedCut(std::uint32_t k, bool canonical, std::uint32_t most_bases = UINT32_MAX)
      : shape_(k), canonical_(canonical), most_kmers_(most_bases - shape_.flank_bases() + 1) {}

  /// Calls `visit(CutSuperKmer)` for stretches that have each k-mer of a sequence once, in order.
  template <class Visit>
  void cut(std::span<const std::uint8_t> codes, Visit&& visit) {
    if (codes.size() < shape_.k) return;
    hash_mmers(codes);
    const std::size_t kmers = codes.size() - shape_.k + 1, window = shape_.flank_bases() + 1;
    minima_.clear();
    std::size_t head = 0;
    std::uint32_t current = 0;
    for (std::size_t i = 0, run = 0; i < hashes_.size(); ++i) {
      // A queue of numbers whose hashes rise: the first is the minimum of the window.
      while (minima_.size() > head && hashes_[minima_.back()] > hashes_[i]) minima_.pop_back();
      minima_.push_back(i);
      if (i + 1 < window) continue;
      const std::size_t kmer = i + 1 - window;
      const std::uint32_t before = current;
      while (minima_[head] < kmer) ++head;
      current = hashes_[minima_[head]];
      if (kmer > 0 && before != current) {
        emit(codes, run, kmer, before, visit);
        run = kmer;
      }
      if (kmer + 1 == kmers) emit(codes, run, kmers, current, visit);
    }
  }

 private:
  void hash_mmers(std::span<const std::uint8_t> codes) {
    hashes_.clear();
    const std::uint32_t m = shape_.m;
    const std::uint64_t mask = key_mask<Key64>(m);
    std::uint64_t mmer = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      mmer = (mmer >> 2) | std::uint64_t{codes[i]} << (2 * (m - 1));
      if (i + 1 < m) continue;
      const auto as_read = static_cast<std::uint32_t>(mmer & mask);
      hashes_.push_back(minimizer_hash(canonical_ ? canonical_mmer(as_read, m) : as_read));
    }
  }

  /// Passes on k-mers [from, to), which have the same minimizer.
  template <class Visit>
  void emit(std::span<const std::uint8_t> codes, std::size_t from, std::size_t to, std::uint32_t hash,
            Visit& visit) {
    const std::size_t mmers_end = to + shape_.flank_bases();
    const auto begin = hashes_.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(mmers_end);
    const auto found = std::find(begin + static_cast<std::ptrdiff_t>(from), end, hash);
    if (std::find(found + 1, end, hash) == end) {
      for (std::size_t first = from; first < to; first += most_kmers_) {
        visit(
            around(codes, first, std::min(first + most_kmers_, to), static_cast<std::size_t>(found - begin)));
      }
      return;
    }
    // It stands there more than once, and which place counts may change from k-mer to k-mer.
    for (std::size_t i = from; i < to; ++i) {
      Key kmer = 0;
      for (std::uint32_t base = 0; base < shape_.k; ++base)
        kmer = static_cast<Key>(kmer << 2) | codes[i + base];
      const groups::FlankedKmer<Flanks> flanked = groups::flanked_kmer<Flanks>(kmer, shape_, canonical_);
      visit(CutSuperKmer<Flanks>{groups::super_kmer_of(flanked, shape_.flank_bases()), i, 1,
                                 groups::kmer_of<Key>(flanked, shape_) == kmer});
    }
  }

  /// Returns the super-k-mer of k-mers [from, to) around the m-mer at `at`.
  [[nodiscard]] CutSuperKmer<Flanks> around(std::span<const std::uint8_t> codes, std::size_t from,
                                            std::size_t to, std::size_t at) const {
    const std::size_t end = to - 1 + shape_.k, behind = at + shape_.m;
    Flanks before = 0, after = 0;
    for (std::size_t i = from; i < at; ++i) before = static_cast<Flanks>(before << 2) | codes[i];
    for (std::size_t i = end; i-- > behind;) after = static_cast<Flanks>(after << 2) | codes[i];
    std::uint32_t mmer = 0;
    for (std::size_t i = behind; i-- > at;) mmer = mmer << 2 | codes[i];
    const auto left = static_cast<std::uint32_t>(at - from), right = static_cast<std::uint32_t>(end - behind);
    const std::uint32_t other = other_strand(mmer, shape_.m);
    const auto kmers = static_cast<std::uint32_t>(to - from);
    if (!canonical_ || mmer < other) return {{mmer, left, right, before, after}, from, kmers, true};
    return {{other, right, left, static_cast<Flanks>(~after & key_mask<Flanks>(right)),
             static_cast<Flanks>(~before & key_mask<Flanks>(left))},
            from,
            kmers,
            false};
  }

  groups::GroupShape shape_;
  bool canonical_;
  std::size_t most_kmers_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::size_t> minima_;
};

}  // namespace warpmer::bench
