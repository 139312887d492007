#pragma once
/// Set algebra on shards of strings, group by group.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/indexes/set_session.h"
#include "backend/tally.h"
#include "cpu/count/tally_filter.h"
#include "cpu/sets/group_sets.h"
#include "cpu/sets/list_sets.h"
#include "cpu/sets/sorted_lists.h"
#include "groups/group_key.h"
#include "groups/shard_reader.h"

namespace warpmer::cpu {

/// One thread's part of a job.
///
/// A group that decides alone, as of a union one that no other input has, keeps its strings as they are.
/// Others are compared string by string (group_sets.h). Where these are too many, or the number of inputs
/// that have a k-mer matters, the k-mers of a group are listed and merged (list_sets.h).
template <class Key, class Flanks>
class StringSetWorker {
  using SetOperation = backend::SetOperation;
  using CountRule = backend::CountRule;

 public:
  StringSetWorker(const backend::SetPlan& plan, const std::vector<index::IndexFile>& inputs,
                  MemoryBudget& budget)
      : rule_(plan.rule),
        bounds_(plan.of_inputs),
        inputs_(inputs),
        budget_(budget),
        keys_(inputs.front().params().k),
        rests_(inputs.size()),
        sets_(keys_.shape().flank_bases(), plan.rule.counts == CountRule::samples),
        kmers_(keys_.shape().flank_bases()),
        lists_(plan.rule, inputs.size(), [this] { account(); }),
        needs_lists_(ListSets<Key>::counts_samples(plan.rule, inputs.size())),
        encoder_(inputs.front().params().k),
        tally_(plan.rule.of_result) {
    copies_ = rule_.counts != CountRule::samples && rule_.of_result.contains_all();
    for (const backend::CountBounds& bounds : bounds_) copies_ &= bounds.contains_all();
  }

  /// Returns what it holds, at most, while it makes a shard of up to `entries` of groups of up to
  /// `group_entries`.
  static std::uint64_t bytes_for(std::uint64_t entries, std::uint64_t group_entries, std::size_t inputs) {
    // Of a k-mer that is alone in its string: that, its count, and the group; twice, as a vector grows.
    constexpr std::uint64_t kEncoderBytes = 2 * (sizeof(groups::GroupString<Flanks>) + 40);
    const std::uint64_t of_group = std::min(entries, group_entries);
    return entries * kEncoderBytes + ListSets<Key>::bytes_for(of_group, of_group, inputs);
  }
  /// Returns the entries of all inputs that it takes at a time, at most: those of a group.
  static std::uint64_t most_part_entries(std::span<const index::IndexFile> inputs) {
    const groups::GroupShape shape(inputs.front().params().k);
    const std::uint64_t most_inline =
        inputs.size() * groups::kMostInlineStrings * (shape.flank_bases() + std::uint64_t{1});
    std::uint64_t most = most_inline;
    for (std::uint32_t shard = 0; shard < inputs.front().params().shards(); ++shard) {
      if (has_large_groups(inputs, shard)) most = std::max(most, entries_in(inputs, shard));
    }
    return most;
  }

  /// Returns the shard of the result.
  index::FrozenShard make(std::uint32_t shard) {
    open(shard);
    encoder_.begin();
    std::uint64_t groups = 0;
    while (find_next()) {
      if (!add_group()) add_group_of_lists();
      for (const std::uint32_t input : present_) move_on(input);
      if (++groups % kGroupsBetweenChecks == 0) after_some(shard);
    }
    for (const auto& input : inputs_) input.release(shard);
    account();
    groups::EncodedShard encoded = encoder_.finish();
    trim();
    return {{}, std::move(encoded.payload), {}, std::nullopt, encoded.sizes};
  }

  [[nodiscard]] const backend::Tally& tally() const { return tally_; }

 private:
  using Buffer = ListBuffer<Key>;
  static constexpr std::uint64_t kGroupsBetweenChecks = 1024;
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{8} << 20;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Checks the shard in all inputs, and goes to its first groups.
  void open(std::uint32_t shard) {
    cursors_.clear();
    std::uint64_t bytes = 0;
    for (const auto& input : inputs_) bytes += input.sizes(shard).words * sizeof(std::uint64_t);
    gives_pages_back_ = bytes > backend::kMappedBytesOfThread;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      cursors_.emplace_back(inputs_[i].strings(shard));
      rests_[i] = cursors_[i].has_group() ? cursors_[i].rest() : kNone;
      if (gives_pages_back_) inputs_[i].release(shard);
    }
  }
  /// Finds the next group, and the inputs that have it.
  bool find_next() {
    const std::uint32_t rest = *std::min_element(rests_.begin(), rests_.end());
    if (rest == kNone) return false;
    rest_ = rest;
    present_.clear();
    for (std::uint32_t i = 0; i < rests_.size(); ++i) {
      if (rests_[i] == rest) present_.push_back(i);
    }
    return true;
  }
  void move_on(std::uint32_t input) {
    cursors_[input].next();
    rests_[input] = cursors_[input].has_group() ? cursors_[input].rest() : kNone;
  }
  void after_some(std::uint32_t shard) {
    account();
    if (!gives_pages_back_) return;
    for (const auto& input : inputs_) input.release(shard);
  }

  /// False where k-mers have to be listed.
  bool add_group() {
    const bool has_first = present_.front() == 0;
    switch (rule_.operation) {
      case SetOperation::intersect:
        if (present_.size() < inputs_.size()) return true;
        break;
      case SetOperation::subtract:
        if (!has_first) return true;
        break;
      case SetOperation::unite:
      case SetOperation::symmetric_difference:
        break;
    }
    if (needs_lists_) return false;
    TallyFilter filter(tally_);
    if (present_.size() == 1 && copies_) {
      encoder_.add_group(rest_, [&](auto& strings, auto& counts) {
        return copy_group(cursors_[present_.front()], keys_.shape().flank_bases(), filter, strings, counts);
      });
      return true;
    }
    sets_.clear();
    has_overflow_ = false;
    for (const std::uint32_t input : present_) {
      if (!(input == present_.front() ? sets_.read(cursors_[input], bounds_[input]) : merge(input)))
        return false;
      if (sets_.is_empty() && rule_.operation != SetOperation::unite &&
          rule_.operation != SetOperation::symmetric_difference)
        return true;
    }
    if (has_overflow_ && rule_.of_result.contains(UINT64_MAX) && sets_.has_count(UINT64_MAX))
      refuse_overflow();
    bool has_room = true;
    encoder_.add_group(rest_, [&](auto& strings, auto& counts) {
      std::uint64_t kmers = 0;
      has_room = sets_.finish(filter, strings, counts, kmers);
      return kmers;
    });
    return has_room;
  }
  bool merge(std::uint32_t input) {
    switch (rule_.operation) {
      case SetOperation::unite:
        return merge_by_rule<kUnion>(input);
      case SetOperation::intersect:
        return merge_by_rule<kIntersection>(input);
      case SetOperation::subtract: {
        if (rule_.counts == CountRule::difference) return merge<kLeft>(input, CountLess{});
        return merge<kLeftOnly>(input, LeftCount{});
      }
      case SetOperation::symmetric_difference:
        return merge<kEitherOnly>(input, LeftCount{});
    }
    return false;
  }
  template <Keep kKeep>
  bool merge_by_rule(std::uint32_t input) {
    bool has_room = false;
    with_count_rule(rule_.counts, [&](auto combine) { has_room = merge<kKeep>(input, combine); });
    return has_room;
  }
  template <Keep kKeep, class Combine>
  bool merge(std::uint32_t input, Combine combine) {
    const bool has_room = sets_.template merge<kKeep>(cursors_[input], bounds_[input], combine);
    has_overflow_ |= has_overflow(combine);
    return has_room;
  }

  void add_group_of_lists() {
    Buffer& result = lists_.result();
    lists_.begin();
    lists_.add([&](std::size_t input, Buffer& out) { list(input, out); });
    const std::size_t kept = tally_.filter(result.hashes(), result.counts(), result.size);
    lists_.check_sums(kept);
    encoder_.add({result.hashes(), kept}, {result.counts(), kept},
                 [&](std::size_t bytes) { account(bytes); });
  }
  /// Lists what an input has of the group.
  void list(std::size_t input, Buffer& out) {
    out.empty();
    if (rests_[input] != rest_) return;
    kmers_.take(cursors_[input]);
    if (kmers_.size() > kPartEntries) {
      out.reserve(kmers_.size(), 0, false);
      account();
    }
    const auto [keys, counts] = out.extend(kmers_.size());
    kmers_.write(
        keys, counts, 2 * (keys_.shape().flank_bases() - 1),
        [](std::uint32_t, Flanks flanks) { return flanks; },
        [&](Flanks flanks, std::uint32_t layer) { return keys_.pack(rest_, layer, flanks); });
    if (!bounds_[input].contains_all()) keep_within(bounds_[input], out);
  }

  void account(std::uint64_t more = 0) {
    budget_.change(held_, lists_.bytes() + encoder_.memory_bytes() + more);
  }
  void trim() {
    if (held_ > kKeptBytes) {
      lists_.clear();
      encoder_.clear();
    }
    account();
  }

  const backend::SetRule rule_;
  const std::vector<backend::CountBounds>& bounds_;
  const std::vector<index::IndexFile>& inputs_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  groups::GroupKeys<Key, Flanks> keys_;
  std::vector<groups::GroupCursor<Flanks>> cursors_;
  std::vector<std::uint32_t> rests_;    ///< of the groups that cursors are at, kNone behind the last
  std::uint32_t rest_ = 0;              ///< of the group at hand
  std::vector<std::uint32_t> present_;  ///< inputs that have it
  bool gives_pages_back_ = false;
  GroupSets<Flanks> sets_;
  groups::GroupKmers<Flanks> kmers_;
  ListSets<Key> lists_;
  bool needs_lists_;
  bool has_overflow_ = false;  ///< a sum of the group at hand was beyond 64 bits
  bool copies_ = false;
  groups::KeyEncoder<Key, Flanks> encoder_;
  backend::Tally tally_;
};

}  // namespace warpmer::cpu
