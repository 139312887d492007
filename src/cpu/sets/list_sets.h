#pragma once
/// Set algebra on sorted lists: what an operation makes of the entries that its inputs have in some range of
/// keys.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "backend/indexes/set_session.h"
#include "base/error.h"
#include "cpu/count/sorted_merge.h"
#include "cpu/sets/sorted_lists.h"

namespace warpmer::cpu {

/// Calls `f(combine)` with the way to combine two counts.
template <class F>
inline void with_count_rule(backend::CountRule rule, F&& f) {
  switch (rule) {
    case backend::CountRule::sum:
    case backend::CountRule::samples:  // whose counts are all 1
      return f(AddCounts{});
    case backend::CountRule::min:
      return f(SmallerCount{});
    case backend::CountRule::max:
      return f(LargerCount{});
    case backend::CountRule::first:
      return f(LeftCount{});
    case backend::CountRule::last:
      return f(RightCount{});
    case backend::CountRule::difference:
      return f(CountLess{});
  }
}

/// Returns true when a sum was beyond 64 bits. It is an error if its k-mer comes into the result, which is
/// known at the end.
inline bool has_overflow(const AddCounts& combine) { return combine.overflow; }
template <class Combine>
bool has_overflow(const Combine&) {
  return false;
}

/// Throws the InputError for a k-mer of the result whose sum is beyond 64 bits.
[[noreturn]] inline void refuse_overflow() {
  throw InputError(
      "the counts of a k-mer add up to more than 2^64 - 1; use union --counts max, or leave large ones out "
      "(--input-max-count)");
}

/// One thread's working memory.
template <class Key>
class ListSets {
 public:
  using Buffer = ListBuffer<Key>;

  /// `grows` is called when there is more in `bytes`.
  ListSets(const backend::SetRule& rule, std::size_t inputs, std::function<void()> grows)
      : rule_(rule),
        inputs_(inputs),
        grows_(std::move(grows)),
        counts_samples_(counts_samples(rule, inputs)) {}

  /// True when the number of inputs that have a k-mer decides.
  static bool counts_samples(const backend::SetRule& rule, std::size_t inputs) {
    return rule.operation == SetOperation::unite
               ? rule.min_samples > 1
               : rule.operation == SetOperation::symmetric_difference && inputs > 2;
  }
  /// Returns what it holds, at most, for a result of up to `entries` from parts of up to `part_entries`.
  static std::uint64_t bytes_for(std::uint64_t entries, std::uint64_t part_entries, std::size_t inputs) {
    // A list for each depth of merges, the one that is merged into, and of `fold` three.
    const auto lists = static_cast<std::uint64_t>(std::bit_width(inputs)) + 2;
    return Buffer::bytes_for(entries, false) + lists * Buffer::bytes_for(part_entries, true);
  }

  /// Appends to the result what the operation gives for a range of keys behind all others. `read(i, list)`
  /// makes the list of input i there.
  template <class Read>
  void add(Read&& read) {
    const auto read_input = [&](std::size_t i, Buffer& out) {
      read(i, out);
      if (rule_.counts == CountRule::samples) std::fill_n(out.counts(), out.size, 1);
    };
    if (counts_samples_ || rule_.operation == SetOperation::unite) {
      unite(read_input);
    } else {
      fold(read_input);
    }
  }
  [[nodiscard]] Buffer& result() { return result_; }
  /// Begins another result.
  void begin() {
    result_.empty();
    has_overflow_ = false;
  }
  /// InputError when a sum of the first `kept` entries of the result, those that stay in it, is beyond 64
  /// bits. (Where there was such a sum, 2^64 - 1 is taken for one.)
  void check_sums(std::size_t kept) const {
    if (has_overflow_ &&
        std::find(result_.counts(), result_.counts() + kept, UINT64_MAX) != result_.counts() + kept)
      refuse_overflow();
  }

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t bytes = result_.bytes();
    for (const Level& level : buffers_) bytes += level.buffer.bytes();
    return bytes;
  }
  /// Gives memory back.
  void clear() {
    result_.clear();
    for (Level& level : buffers_) level.buffer.clear();
  }

 private:
  using CountRule = backend::CountRule;
  using SetOperation = backend::SetOperation;
  /// A merged list, and how many merges deep.
  struct Level {
    Buffer buffer;
    std::uint32_t depth = 0;
  };

  /// Takes input after input: what is left of the first one gets less and less.
  template <class Read>
  void fold(Read& read) {
    Buffer& left = buffer(0).buffer;
    Buffer& right = buffer(1).buffer;
    Buffer& merged = buffer(2).buffer;
    read(0, left);
    for (std::size_t i = 1; i + 1 < inputs_ && left.size > 0; ++i) {
      read(i, right);
      merged.empty();
      merge_into(left, right, merged, false);
      std::swap(left, merged);
    }
    // With nothing left of the first, what only the last one has still counts where either will do.
    const bool is_pair = inputs_ == 2;
    if (inputs_ == 1) {
      append(left);
    } else if (left.size > 0 || is_pair) {
      read(inputs_ - 1, right);
      merge_into(left, right, result_, false);
    }
  }

  /// Lists of about the same size, as in a merge sort: equal k-mers become one as soon as they meet.
  template <class Read>
  void unite(Read& read) {
    std::size_t lists = 0;  // those waiting to be merged are buffers 0 to lists - 1
    for (std::size_t i = 0; i < inputs_; ++i) {
      Level& leaf = buffer(lists);
      leaf.depth = 0;
      read(i, leaf.buffer);
      if (counts_samples_) leaf.buffer.set_samples(1);
      const bool is_last = i + 1 == inputs_;
      ++lists;
      while (lists > 1 && (is_last || buffer(lists - 2).depth == buffer(lists - 1).depth)) {
        if (is_last && lists == 2 && !counts_samples_) {
          merge_into(buffer(0).buffer, buffer(1).buffer, result_, false);
          return;
        }
        merge_last_two(lists--);
      }
    }
    append(buffer(0).buffer);
  }

  void merge_last_two(std::size_t lists) {
    Buffer& merged = buffer(lists).buffer;
    merged.empty();
    Level& left = buffer(lists - 2);
    merge_into(left.buffer, buffer(lists - 1).buffer, merged, counts_samples_);
    std::swap(left.buffer, merged);
    left.depth = std::max(left.depth, buffer(lists - 1).depth) + 1;
  }

  /// Appends to `out` what the operation makes of two lists.
  void merge_into(const Buffer& left, const Buffer& right, Buffer& out, bool with_samples) {
    const std::size_t most = rule_.operation == SetOperation::intersect  ? std::min(left.size, right.size)
                             : rule_.operation == SetOperation::subtract ? left.size
                                                                         : left.size + right.size;
    out.reserve(most, out.size, with_samples);
    grows_();
    const auto go = [&]<Keep kKeep>(auto combine) {
      out.size +=
          merge<kKeep>(left.list(with_samples), right.list(with_samples), out.target(with_samples), combine);
      has_overflow_ |= has_overflow(combine);
    };
    switch (rule_.operation) {
      case SetOperation::unite:
        return with_count_rule(rule_.counts, [&](auto combine) { go.template operator()<kUnion>(combine); });
      case SetOperation::intersect:
        return with_count_rule(rule_.counts,
                               [&](auto combine) { go.template operator()<kIntersection>(combine); });
      case SetOperation::subtract:
        if (rule_.counts == CountRule::difference) return go.template operator()<kLeft>(CountLess{});
        return go.template operator()<kLeftOnly>(LeftCount{});
      case SetOperation::symmetric_difference:
        // With more than two, it is known at the end only which of them have a k-mer.
        if (with_samples) return go.template operator()<kUnion>(LeftCount{});
        return go.template operator()<kEitherOnly>(LeftCount{});
    }
  }

  /// Adds to the result what is in as many inputs as it should be.
  void append(const Buffer& list) {
    result_.reserve(list.size, result_.size, false);
    grows_();
    const MergeTarget<Key> to = result_.target();
    const bool exactly_one = rule_.operation == SetOperation::symmetric_difference;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < list.size; ++i) {
      to.hashes[kept] = list.hashes()[i];
      to.counts[kept] = list.counts()[i];
      const std::uint32_t samples = counts_samples_ ? list.samples()[i] : rule_.min_samples;
      kept += (exactly_one ? samples == 1 : samples >= rule_.min_samples) ? 1 : 0;
    }
    result_.size += kept;
  }

  Level& buffer(std::size_t i) {
    while (buffers_.size() <= i) buffers_.emplace_back();
    return buffers_[i];
  }

  const backend::SetRule rule_;
  const std::size_t inputs_;
  const std::function<void()> grows_;
  const bool counts_samples_;
  std::deque<Level> buffers_;
  Buffer result_;
  bool has_overflow_ = false;  ///< a sum was beyond 64 bits since `begin`
};

}  // namespace warpmer::cpu
