#pragma once
/// Reads that belong together: mates from two files, or one after the other in one.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/ordered_batches.h"

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

/// Hands out reads with their mates to any number of threads, which read side by side.
class ReadPairs {
 public:
  /// `first` and `second` as in InputSet; `second` is empty unless reads come in two files. The options
  /// `in_order` and `whole_records` are taken to be set. With `one_caller` which reads come together depends
  /// on the files alone, though several threads may call `next`. `any_names`: mates are known by their order
  /// alone.
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
  using BatchState = OrderedBatches::BatchState;

  /// A group that is being put together, while there is not enough for it.
  struct GroupParts {
    std::vector<BatchPart> first, second;
    std::size_t text_bytes = 0;  ///< of the first
    std::size_t reads = 0;       ///< likewise
  };

  bool take_parts(GroupParts& parts, std::uint64_t& ordinal);
  /// Adds what there is to the group; true when it is complete.
  bool complete_group();
  bool complete_of_two();
  bool complete_interleaved();
  void add(const BatchPart& first);
  [[nodiscard]] OrderedBatches* to_read() const;
  void check_mates(const BatchPart& a, std::size_t i, const BatchPart& b, std::size_t j) const;
  [[noreturn]] void fail_alone(const OrderedBatches& has, const std::string& other) const;

  const Pairing pairing_;
  const bool any_names_;
  const std::size_t enough_bytes_;  ///< bytes of text that are enough for a group
  std::unique_ptr<InputSet> single_;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  ///< guards what follows, where reads are paired
  std::condition_variable changed_;
  std::unique_ptr<OrderedBatches> first_, second_;  ///< the latter of two files
  std::string last_file_[2];
  GroupParts parts_;
  std::uint64_t next_ordinal_ = 0;
  bool is_over_ = false;
};

}  // namespace warpmer::io
