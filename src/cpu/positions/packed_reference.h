#pragma once
/// The sequences of a job in memory, two bits a base, with what is not a base left out.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/simd/stretch_finder.h"
#include "index/positions/position_file.h"
#include "io/text/batch.h"

namespace warpmer::cpu {

/// Consecutive k-mers: they begin at positions [first, first + kmers).
struct KmerRun {
  std::uint64_t first = 0;
  std::uint64_t kmers = 0;
};

/// Takes batches in input order. Position 0 is the first base of the first sequence; sequences follow each
/// other without gaps.
class PackedReference {
 public:
  /// Pieces of one sequence must overlap by k - 1 bases.
  PackedReference(std::uint32_t k, bool lenient) : k_(k), stretches_(best_kernels(), k, lenient) {}

  /// InputError for characters that are no nucleotide code, unless lenient; ResourceError without memory.
  void add(const io::Batch& batch) {
    for (const io::Piece& piece : batch.pieces) add(batch, piece);
  }

  [[nodiscard]] const std::uint64_t* words() const { return words_.get(); }
  [[nodiscard]] const std::vector<KmerRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<index::IndexedSequence>& sequences() const { return sequences_; }
  [[nodiscard]] std::uint64_t bases() const { return bases_; }
  [[nodiscard]] std::uint64_t kmers() const { return kmers_; }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return bases_ / 4 + runs_.capacity() * sizeof(KmerRun) +
           sequences_.capacity() * sizeof(index::IndexedSequence) + long_name_bytes_;
  }

 private:
  struct FreeWords {
    void operator()(std::uint64_t* memory) const { std::free(memory); }
  };

  void add(const io::Batch& batch, const io::Piece& piece) {
    if (piece.first_base == 0) begin_sequence(std::string(batch.name(piece)));
    const std::uint64_t begin = sequence_begin_ + piece.first_base;
    const std::uint64_t end = begin + piece.length;
    reserve(end);
    bases_ = std::max(bases_, end);
    sequences_.back().length = bases_ - sequence_begin_;
    stretches_.for_each(
        batch, piece, [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
          store(packed, first, bases, begin + at);
          add_run({begin + at, bases - k_ + 1});
        });
  }

  void begin_sequence(std::string name) {
    if (sequences_.size() == UINT32_MAX) {
      throw InputError(
          "there are more than 4294967295 sequences, which is as many as an index of positions numbers");
    }
    sequence_begin_ = bases_;
    if (name.capacity() > sizeof(std::string)) long_name_bytes_ += name.capacity();
    sequences_.push_back({std::move(name), 0});
  }

  void add_run(const KmerRun& run) {
    kmers_ += run.kmers;
    // Long stretches come in parts.
    if (!runs_.empty() && runs_.back().first + runs_.back().kmers == run.first &&
        runs_.back().first >= sequence_begin_) {
      runs_.back().kmers += run.kmers;
    } else {
      runs_.push_back(run);
    }
  }

  /// Makes room for so many bases, zeros where nothing was stored. Large blocks grow without being copied,
  /// and what was never written to takes no memory.
  void reserve(std::uint64_t bases) {
    const std::uint64_t wanted = bases / 32 + 2;
    if (wanted > capacity_) {
      const std::uint64_t grown = std::max(wanted, capacity_ + capacity_ / 2);
      void* memory = std::realloc(words_.get(), static_cast<std::size_t>(grown) * sizeof(std::uint64_t));
      if (memory == nullptr) throw std::bad_alloc();
      (void)words_.release();
      words_.reset(static_cast<std::uint64_t*>(memory));
      capacity_ = grown;
    }
    for (; zeroed_ < wanted; ++zeroed_) words_[zeroed_] = 0;
  }

  /// Writes packed bases to their positions; where they overlap what is there, they are the same.
  void store(const std::uint64_t* packed, std::size_t first, std::size_t bases, std::uint64_t to) {
    std::uint64_t* words = words_.get();
    for (std::size_t done = 0; done < bases;) {
      const std::uint64_t at = to + done, from = first + done;
      const std::size_t n = std::min<std::size_t>(
          {bases - done, static_cast<std::size_t>(32 - at % 32), static_cast<std::size_t>(32 - from % 32)});
      const std::uint64_t mask = n == 32 ? ~std::uint64_t{0} : (std::uint64_t{1} << (2 * n)) - 1;
      words[at / 32] |= ((packed[from / 32] >> (2 * (from % 32))) & mask) << (2 * (at % 32));
      done += n;
    }
  }

  std::uint32_t k_;
  StretchFinder stretches_;
  std::unique_ptr<std::uint64_t[], FreeWords> words_;
  std::uint64_t capacity_ = 0;
  std::uint64_t zeroed_ = 0;
  std::vector<KmerRun> runs_;
  std::vector<index::IndexedSequence> sequences_;
  std::uint64_t sequence_begin_ = 0;
  std::uint64_t bases_ = 0;
  std::uint64_t kmers_ = 0;
  std::uint64_t long_name_bytes_ = 0;
};

}  // namespace warpmer::cpu
