#pragma once
/// Looking up the k-mers of batches in a live table: like StringFinder (cpu/lookup), in the strings, and then
/// in what has changed since; what is pending in a shard that is asked is settled first.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "backend/lookup/lookup.h"
#include "cpu/live/live_shards.h"
#include "cpu/lookup/asked_batch.h"
#include "cpu/lookup/finder.h"
#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"

namespace warpmer::cpu {

/// Strings are looked at without a lock, so that shards need not follow one another. A shard that had no
/// changes when that was over is answered as it was then; else it is locked, and looked up again if it has
/// been folded meanwhile.
template <class Key, int Words>
class LiveFinder : public Finder {
 public:
  LiveFinder(LiveShards<Key, Words>& shards, LiveBudget& budget, const KmerParams& kmers, bool lenient)
      : live_(shards),
        kernels_(best_kernels()),
        k_(kmers.k),
        format_(kmers.k),
        asked_(kernels_, kmers.k, kmers.canonical, lenient),
        strings_(kShards, shards.no_strings()),
        folds_(kShards, kNotOpen),
        bytes_(budget, kShards * (sizeof(groups::ShardBits) + sizeof(std::uint64_t))) {}

  bool profile(const io::Batch& batch, backend::Profile& out) override {
    bool has_large = false;
    asked_.for_each_part(batch, out, [&] { has_large = look_up(out.counts.data()) || has_large; });
    if (asked_.used_bytes() > asked_bytes_) {
      bytes_.set(bytes_.bytes() + asked_.used_bytes() - asked_bytes_);
      asked_bytes_ = asked_.used_bytes();
    }
    return has_large;
  }

 private:
  static constexpr std::size_t kShards = LiveShards<Key, Words>::kShards;
  static constexpr std::uint64_t kNotOpen = UINT64_MAX;
  /// Super-k-mers whose k-mers are looked up in changes at a time.
  static constexpr std::size_t kWordsAtOnce = 64;
  static constexpr std::size_t kKmersAtOnce = kWordsAtOnce * kMostWordKmers<Words> + 8;

  /// Returns whether a count is large.
  bool look_up(std::uint32_t* counts) {
    there_.clear();
    for (std::uint32_t i = 0, first = live_.next_first(); i < kShards; ++i) {
      const std::uint32_t shard = (first + i) % kShards;
      if (!asked_.of_shard(shard).empty()) there_.push_back(static_cast<std::uint16_t>(shard));
    }
    live_.for_each_free_first(there_, busy_, [&](std::uint16_t shard) { open(shard); });
    bool has_large = find_strings(kernels_, strings_.data(), k_, asked_.all(), counts);
    live_.for_each_free_first(
        there_, busy_, [&](std::uint16_t shard) { has_large = add_changes(shard, counts) || has_large; });
    close();
    return has_large;
  }

  /// Remembers the strings of a shard as they are now. What is pending there is settled before: else strings
  /// would be looked up that are folded next.
  void open(std::uint32_t number) {
    const LiveShard<Key, Words>& shard = live_[number];
    if (const ShardMoment now = shard.moment(); folds_[number] == now.folds && !now.has_changes) return;
    live_.ask(number, [&] {
      if (folds_[number] != shard.moment().folds) open_locked(number);
    });
  }
  void open_locked(std::uint32_t number) {
    const LiveShard<Key, Words>& shard = live_[number];
    strings_[number] = live_.strings(number);
    folds_[number] = shard.moment().folds;
    if (shard.folded == nullptr) return;  // the base's stay
    kept_.push_back(shard.folded);
    opened_.push_back(number);
  }
  /// Lets go of strings that may be folded.
  void close() {
    for (const std::uint32_t number : opened_) folds_[number] = kNotOpen;
    opened_.clear();
    kept_.clear();
  }

  bool add_changes(std::uint32_t number, std::uint32_t* counts) {
    const LiveShard<Key, Words>& shard = live_[number];
    if (const ShardMoment now = shard.moment(); now.folds == folds_[number] && !now.has_changes) return false;
    return live_.ask(number, [&] { return add_changes_locked(number, counts); });
  }
  bool add_changes_locked(std::uint32_t number, std::uint32_t* counts) {
    const LiveShard<Key, Words>& shard = live_[number];
    const auto asked = asked_.of_shard(number);
    bool has_large = false;
    if (shard.moment().folds != folds_[number]) {
      open_locked(number);
      has_large = find_strings(kernels_, strings_.data(), k_, asked, counts);
    }
    if (!shard.moment().has_changes) return has_large;
    for (std::size_t at = 0; at < asked.size(); at += kWordsAtOnce) {
      const auto some = asked.subspan(at, std::min(kWordsAtOnce, asked.size() - at));
      has_large = add_changes_to(*shard.changes.store, some, counts) || has_large;
    }
    return has_large;
  }
  bool add_changes_to(const ChangeTable<Key>& changes, std::span<const AskedSuperKmer<Words>> asked,
                      std::uint32_t* counts) {
    for (std::size_t i = 0; i < asked.size(); ++i)
      format_.write(asked[i].word, reinterpret_cast<char*>(words_[i].word));
    HashList<Key> list{hashes_.get(kKmersAtOnce), low_.get(kKmersAtOnce), 0, 0};
    std::uint64_t* const found = changes_.get(kKmersAtOnce);
    kernels_.shard<Key, Words>().append(words_, nullptr, asked.size(), k_, list);
    changes.find(list.keys, list.size, list.weights, found);
    bool has_large = false;
    std::size_t at = 0;
    for (const AskedSuperKmer<Words>& super : asked) {
      const std::uint32_t kmers = format_.kmers(super.word);
      std::uint32_t* const place = counts + super.start;
      for (std::uint32_t i = 0; i < kmers; ++i) {
        const std::uint64_t change = found[at++];
        if (change == 0) continue;
        std::uint32_t& count = place[super.is_forward ? i : kmers - 1 - i];
        // A large count of strings is not known exactly, and stays one.
        const std::uint64_t now = count_after(change, [&] { return std::uint64_t{count}; });
        count = backend::narrow_count(now);
        has_large = has_large || now >= kLargeCount;
      }
    }
    return has_large;
  }

  LiveShards<Key, Words>& live_;
  const Kernels& kernels_;
  const std::uint32_t k_;
  const WordFormat<groups::FlankedWord<Words>> format_;
  AskedBatch<Words> asked_;
  std::vector<groups::ShardBits> strings_;
  std::vector<std::uint64_t> folds_;         ///< which strings of a shard these are
  std::vector<std::uint16_t> there_, busy_;  ///< shards that are asked; those that are held meanwhile
  std::vector<std::uint32_t> opened_;
  std::vector<std::shared_ptr<const FoldedStrings>> kept_;  ///< strings of these
  StoredFlankedWord<Words> words_[kWordsAtOnce];
  Scratch<Key> hashes_;
  Scratch<std::uint32_t> low_;
  Scratch<std::uint64_t> changes_;
  LiveBytes bytes_;
  std::uint64_t asked_bytes_ = 0;  ///< of these, those of `asked_`
};

}  // namespace warpmer::cpu
