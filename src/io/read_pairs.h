#pragma once
/// Reads that belong together: mates from two files, or one after the other in one.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/input_set.h"

namespace warpmer::io {

/// The way in which reads come.
enum class Pairing {
  single,       ///< each by itself
  two_files,    ///< the i-th of the first files is the mate of the i-th of the second
  interleaved,  ///< each followed by its mate
};

/// True when names can be those of mates: they are the same, or differ only in ending with 1 and 2 after one
/// of "/._:".
bool are_mate_names(std::string_view first, std::string_view second);

/// Some reads in input order. Interleaved, `first` has an even number of them; of two files, `second` has the
/// mates of those in `first`, one for one.
struct ReadGroup {
  Batch first;
  Batch second;
  std::uint64_t ordinal = 0;  ///< 0, 1, 2, ... in input order

  /// Returns the bytes of input that these reads account for (Batch::input_bytes).
  [[nodiscard]] std::uint64_t input_bytes() const { return first.input_bytes + second.input_bytes; }
};

/// Hands out reads with their mates to any number of threads.
class ReadPairs {
 public:
  /// `first` and `second` as in InputSet; `second` is empty unless reads come in two files. The options
  /// `in_order` and `whole_records` are taken to be set, and so is `one_caller` where there are pairs.
  /// `any_names`: mates are known by their order alone.
  ReadPairs(const std::vector<std::string>& first, const std::vector<std::string>& second, Pairing pairing,
            const InputOptions& options, bool any_names = false);

  /// Takes the next reads; false at the end. Throws as InputSet::next, and InputError for a read without a
  /// mate, mates whose names do not fit, and alignments in two files.
  bool next(ReadGroup& group);

  /// Returns the bytes of all inputs: see InputSet::alike_bytes.
  [[nodiscard]] std::uint64_t alike_bytes() const;

  /// Makes all present and future calls of `next` return false soon.
  void cancel() noexcept;

 private:
  /// An input of which a part of a batch may have been taken already.
  struct PairedInput {
    std::unique_ptr<InputSet> inputs;
    Batch batch;
    std::size_t taken = 0;

    [[nodiscard]] std::size_t ready() const { return batch.pieces.size() - taken; }
    [[nodiscard]] const Piece& next_piece() const { return batch.pieces[taken]; }
    /// Sees to it that reads are ready, or a header; false at the end.
    bool refill();
    void take(std::size_t count, Batch& to);
  };

  void check_mates(const Batch& a, std::size_t i, const Batch& b, std::size_t j) const;
  bool next_of_two(ReadGroup& group);
  bool next_interleaved(ReadGroup& group);
  [[noreturn]] void fail_alone(const PairedInput& has, const PairedInput& ended) const;

  const Pairing pairing_;
  const bool any_names_;
  const std::size_t enough_bytes_;  ///< bytes of text that are enough for a group
  std::mutex mutex_;                ///< guards what follows, where reads are paired
  PairedInput first_;
  PairedInput second_;
  bool is_over_ = false;
  std::string last_file_[2];
  std::uint64_t next_ordinal_ = 0;
};

}  // namespace warpmer::io
