#pragma once
/// The steps before cutting: packing text, finding stretches without breaks, refusing characters that are no
/// nucleotide codes. One per thread.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "cpu/simd/kernels.h"
#include "io/text/batch.h"
#include "kmer/alphabet.h"

namespace warpmer::cpu {

/// Packs pieces of text and finds their stretches of at least k bases; what cutting, dense counting
/// and lookups have in common.
class StretchFinder {
 public:
  StretchFinder(const Kernels& kernels, std::uint32_t k, bool lenient)
      : kernels_(kernels),
        k_(k),
        lenient_(lenient),
        packed_(kBefore + kGroupBases / 32 + 6),
        breaks_(kGroupBases / 64 + 1) {}

  /// Calls `visit(packed, first, bases, at)` for every stretch: its bases [first, first + bases) in
  /// the packed text, and the position `at` of its first base in the piece. Long pieces come in
  /// overlapping parts, so that each k-mer is visited once.
  template <class Visit>
  void for_each(const io::Batch& batch, const io::Piece& piece, Visit&& visit) {
    const char* text = batch.text.data() + piece.offset;
    const std::size_t step = kGroupBases - (k_ - 1);
    std::uint64_t* const packed = packed_.data() + kBefore;
    for (std::size_t at = 0; at + k_ <= piece.length || at == 0; at += step) {
      const std::size_t bases = std::min<std::size_t>(kGroupBases, piece.length - at);
      const bool any_break = kernels_.pack(text + at, bases, packed, breaks_.data());
      if (!any_break) {
        if (bases >= k_) visit(packed, std::size_t{0}, bases, at);
        continue;
      }
      if (!lenient_) refuse_bad_bases(batch, piece, at, bases);
      for_each_between_breaks(
          bases, [&](std::size_t first, std::size_t length) { visit(packed, first, length, at + first); });
    }
  }

  /// Cuts a piece: calls `cut(packed, first, bases)` for parts of at most kCutKmers k-mers, which appends to
  /// `list` what they are cut into, and before it `full()`, which must empty the list, whenever there may not
  /// be room for all of them among `capacity`. Makes `starts` in the list positions in the piece plus
  /// `origin`. Returns the number of k-mers.
  template <class List, class Full, class Cut>
  std::uint64_t cut_piece(const io::Batch& batch, const io::Piece& piece, std::uint32_t origin, List& list,
                          std::size_t capacity, Full&& full, Cut&& cut) {
    std::uint64_t kmers = 0;
    for_each(batch, piece,
             [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
               const std::size_t stretch_kmers = bases - k_ + 1;
               const auto shift = static_cast<std::uint32_t>(origin + at - first);
               kmers += stretch_kmers;
               for (std::size_t done = 0; done < stretch_kmers; done += kCutKmers) {
                 if (list.size + kCutKmers > capacity) full();
                 const std::size_t n = std::min(kCutKmers, stretch_kmers - done);
                 const std::size_t before = list.size;
                 cut(packed, first + done, n + k_ - 1);
                 if (shift != 0) {
                   for (std::size_t i = before; i < list.size; ++i) list.starts[i] += shift;
                 }
               }
             });
    return kmers;
  }

 private:
  /// Bases packed at a time; a multiple of 64.
  static constexpr std::size_t kGroupBases = 16384;
  /// Words before the packed text that kernels may read.
  static constexpr std::size_t kBefore = 2;

  void refuse_bad_bases(const io::Batch& batch, const io::Piece& piece, std::size_t at,
                        std::size_t bases) const {
    const char* text = batch.text.data() + piece.offset + at;
    for (std::size_t i = 0; i < bases; i += 64) {
      for (std::uint64_t mask = breaks_[i / 64]; mask != 0; mask &= mask - 1) {
        const std::size_t offset = i + static_cast<std::size_t>(std::countr_zero(mask));
        if (char_class(text[offset]) == CharClass::invalid) io::throw_bad_base(batch, piece, at + offset);
      }
    }
  }

  template <class Visit>
  void for_each_between_breaks(std::size_t bases, Visit&& visit) const {
    std::size_t first = 0;
    const auto close = [&](std::size_t end) {
      if (end - first >= k_) visit(first, end - first);
      first = end + 1;
    };
    for (std::size_t i = 0; i < bases; i += 64) {
      for (std::uint64_t mask = breaks_[i / 64]; mask != 0; mask &= mask - 1)
        close(i + static_cast<std::size_t>(std::countr_zero(mask)));
    }
    if (first < bases) close(bases);
  }

  const Kernels& kernels_;
  std::uint32_t k_;
  bool lenient_;
  std::vector<std::uint64_t> packed_;
  std::vector<std::uint64_t> breaks_;
};

}  // namespace warpmer::cpu
