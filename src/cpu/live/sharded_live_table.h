#pragma once
/// The live table for k > 12: shards of strings, with what has changed since and what is pending.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/index_params.h"
#include "backend/live/gate.h"
#include "backend/live/live_table.h"
#include "backend/live/read_totals.h"
#include "base/buffer_pool.h"
#include "base/byte_room.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/thread_team.h"
#include "cpu/live/cut_batch.h"
#include "cpu/live/live_budget.h"
#include "cpu/live/live_finder.h"
#include "cpu/live/live_shards.h"
#include "cpu/memory/scratch.h"
#include "cpu/sets/shard_keys.h"
#include "cpu/simd/kernels.h"
#include "groups/string_lookup.h"

namespace warpmer::cpu {

/// Returns the count that strings have of a k-mer, given by its key.
template <class Key>
std::uint64_t count_in(const groups::ShardBits& strings, const groups::GroupKeys<Key, Key>& keys, Key key) {
  const groups::FlankedKmer<Key> kmer{0, keys.layer(key), keys.flanks(key)};
  return groups::count_of(strings, keys.rest(key), groups::super_kmer_of(kmer, keys.shape().flank_bases()));
}

/// The questions to a live table.
template <class Key, int Words>
class ShardedLiveLookup : public backend::Lookup {
 public:
  ShardedLiveLookup(LiveShards<Key, Words>& shards, LiveBudget& budget, const KmerParams& kmers, bool lenient,
                    unsigned threads)
      : Lookup(kmers),
        shards_(shards),
        budget_(budget),
        lenient_(lenient),
        keys_(kmers.k),
        hash_(kmers.k),
        most_(threads) {}

  void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
    std::vector<AskedKmer> block;
    block.reserve(std::min(texts.size(), kAskedAtOnce));
    for (; !texts.empty(); texts = texts.subspan(block.size())) {
      block.clear();
      for (const std::string_view text : texts.first(std::min(texts.size(), kAskedAtOnce)))
        block.push_back(asked(text));
      for (const AskedKmer& kmer : block) {
        if (kmer.strings) kmer.strings->prefetch_bucket(keys_.rest(kmer.place.key));
      }
      for (const AskedKmer& kmer : block) *counts++ = count_of(kmer);
    }
  }

  void profile(const io::Batch& batch, backend::Profile& out) const override {
    lay_out(batch, out);
    finders_.use([&](auto& finder) {
      if (finder.profile(batch, out)) widen(batch, out);
    });
  }

 private:
  /// K-mers whose groups are on their way from memory at a time.
  static constexpr std::size_t kAskedAtOnce = 32;

  using Place = typename groups::GroupKeys<Key, Key>::Place;

  /// A k-mer on its way to its group.
  struct AskedKmer {
    Place place;
    std::optional<groups::ShardBits> strings;  ///< those of its shard, if it was untouched
  };

  [[nodiscard]] AskedKmer asked(std::string_view text) const {
    Key kmer = 0;
    kmer_from_text(text, kmer);
    const auto place = keys_.place(kmer, kmers().canonical);
    const auto strings = shards_.untouched_strings(place.shard);
    if (strings) strings->prefetch_offset(keys_.rest(place.key));
    return {place, strings};
  }
  [[nodiscard]] std::uint64_t count_of(const AskedKmer& kmer) const {
    const auto& place = kmer.place;
    if (kmer.strings) return count_in(*kmer.strings, keys_, place.key);
    return shards_.ask(place.shard, [&] { return count_locked(place); });
  }
  [[nodiscard]] std::uint64_t count_locked(const Place& place) const {
    const LiveShard<Key, Words>& shard = shards_[place.shard];
    const auto in_strings = [&] { return count_in(shards_.strings(place.shard), keys_, place.key); };
    if (!shard.moment().has_changes) return in_strings();
    const Key hash = hash_(place.key);
    std::uint32_t low = 0;
    std::uint64_t change = 0;
    shard.changes.store->find(&hash, 1, &low, &change);
    return count_after(change, in_strings);
  }

  LiveShards<Key, Words>& shards_;
  LiveBudget& budget_;
  const bool lenient_;
  const groups::GroupKeys<Key, Key> keys_;
  const KmerHash<Key> hash_;
  const std::size_t most_;
  mutable BufferPool<Finder> finders_{[this]() -> std::unique_ptr<Finder> {
                                        return std::make_unique<LiveFinder<Key, Words>>(shards_, budget_,
                                                                                        kmers(), lenient_);
                                      },
                                      most_};
};

template <class Key, int Words>
class ShardedLiveTable : public backend::LiveTable {
  using Shards = LiveShards<Key, Words>;

 public:
  explicit ShardedLiveTable(const backend::LiveTablePlan& plan)
      : plan_(plan),
        kernels_(best_kernels()),
        params_(backend::params_for(plan.kmers.k, plan.kmers.canonical)),
        keys_(plan.kmers.k),
        hash_(plan.kmers.k),
        budget_(plan.memory_bytes),
        shards_(kernels_, plan, params_, budget_),
        fixed_bytes_(budget_, fixed_bytes(plan)),
        totals_(plan.base),
        strict_(shards_, budget_, plan.kmers, false, plan.threads),
        lenient_(shards_, budget_, plan.kmers, true, plan.threads) {
    if (budget_.has(0, LiveUse::addition)) return;
    // Of 16 parts of the memory a budget keeps 3 free, at most.
    refuse_live_memory(plan, budget_.held() * 16 / 13);
  }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    return in_turn([&](Changer& changer) {
      const Work work(*this, changer, batch, lenient, LiveUse::addition);
      Reservation reservation(*this, changer, changer.cut.shards(), LiveUse::addition, true);
      reservation.use([&](std::uint16_t shard, ShardRoom room) { add_to(shard, room, changer); });
      totals_.add(batch, plan_.kmers.k);
      return changer.cut.kmers();
    });
  }

  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    return in_turn([&](Changer& changer) {
      const Work work(*this, changer, batch, lenient, LiveUse::removal);
      // What may be damaged is looked at before anything is changed.
      for (const std::uint16_t shard : changer.cut.shards()) {
        const std::shared_lock lock(shards_[shard].mutex);
        static_cast<void>(shards_.strings(shard));
      }
      backend::Removal removal{changer.cut.kmers(), {}};
      if (!remove_at_once(changer, removal.shortfall)) remove_one_by_one(changer, removal.shortfall);
      totals_.remove(batch, plan_.kmers.k, removal);
      return removal;
    });
  }

  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }

  [[nodiscard]] backend::LiveTally tally() override {
    const backend::Gate::Stop view(gate_);
    backend::LiveTally all{backend::Tally(), totals_.get()};
    std::mutex mutex;
    share_numbers(plan_.threads, 0, Shards::kShards, [&](unsigned /*thread*/, SharedNumbers& numbers) {
      backend::Tally mine;
      for (std::uint32_t shard; numbers.take(shard);) shards_.note(shard, mine);
      const std::lock_guard lock(mutex);
      all.merge(mine);
    });
    return all;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return totals_.get(); }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    return std::make_unique<Snapshot>(*this);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return budget_.held(); }
  [[nodiscard]] std::string describe() const override { return describe_live(plan_.scheme); }

 private:
  /// So many k-mers of a batch in one shard may be few that are there often, and are looked at twice.
  static constexpr std::size_t kMany = 4096;
  /// From batch to batch, all threads together keep one of so many parts of the memory, at most.
  static constexpr std::uint64_t kKeptShare = 8;

  /// Working memory of a thread that adds or removes.
  struct Changer {
    explicit Changer(ShardedLiveTable& table)
        : cut(table.kernels_, table.plan_.kmers),
          kmers(table.kernels_, table.plan_.kmers.k),
          bytes(table.budget_, 0) {}

    [[nodiscard]] std::uint64_t memory_bytes() const {
      return cut.memory_bytes() + kmers.memory_bytes() + low.bytes() + changes.bytes();
    }
    /// Returns `memory_bytes` with room for so many k-mers of a shard.
    [[nodiscard]] std::uint64_t bytes_with_room(std::size_t n, bool removes) const {
      const std::size_t room = removes ? kmers.room_for(n) : 0;
      return cut.memory_bytes() + kmers.bytes_with_room(n) +
             std::max<std::uint64_t>(low.bytes(), room * sizeof(std::uint32_t)) +
             std::max<std::uint64_t>(changes.bytes(), room * sizeof(std::uint64_t));
    }
    void get_room(std::size_t n, bool removes) {
      kmers.get_room(n);
      if (!removes) return;
      low.get(kmers.room_for(n));
      changes.get(kmers.room_for(n));
    }
    /// Gives all memory back if it is more than `kept` bytes.
    void give_back(std::uint64_t kept) {
      if (memory_bytes() > kept) {
        cut.trim();
        kmers.clear();
        low.clear();
        changes.clear();
      }
      bytes.set(memory_bytes());
    }

    CutBatch<Words> cut;
    WordKmers<Key, Words> kmers;
    LiveBytes bytes;
    TableLists<Key> lists;
    Scratch<std::uint32_t> low;
    Scratch<std::uint64_t> changes;
    std::vector<std::uint16_t> busy;
  };

  /// Memory to work on a batch, of which the budget knows before it is taken. If it is much, it is given
  /// back.
  class Work {
   public:
    /// Cuts the batch. ResourceError where there is no memory for it.
    Work(ShardedLiveTable& table, Changer& changer, const io::Batch& batch, bool lenient, LiveUse use)
        : table_(table), changer_(changer) {
      try {
        cut(batch, lenient, use);
      } catch (const std::bad_alloc&) {
        give_back();
        throw_no_memory();
      } catch (...) {
        give_back();
        throw;
      }
    }
    ~Work() { give_back(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    void cut(const io::Batch& batch, bool lenient, LiveUse use) {
      const bool removes = use == LiveUse::removal;
      const std::uint64_t others = changer_.memory_bytes() - changer_.cut.memory_bytes();
      changer_.cut.cut(batch, lenient, table_.shards_.next_first(),
                       [&](std::uint64_t bytes) { hold(others + bytes, use); });
      std::size_t kmers = 0;
      for (const std::uint16_t shard : changer_.cut.shards()) {
        const std::size_t of_shard = changer_.cut.kmers(shard);
        if (removes || (of_shard > kMany && !table_.can_be_pending(shard, changer_)))
          kmers = std::max(kmers, of_shard);
      }
      hold(changer_.bytes_with_room(kmers, removes), use);
      changer_.get_room(kmers, removes);
    }
    void give_back() { changer_.give_back(table_.budget_.most() / (kKeptShare * table_.plan_.threads)); }
    void hold(std::uint64_t bytes, LiveUse use) {
      if (changer_.bytes.try_set(bytes, use)) return;
      table_.make_room(bytes - changer_.bytes.bytes(), use);
      changer_.bytes.set(bytes);
    }

    ShardedLiveTable& table_;
    Changer& changer_;
  };

  /// Room for what a batch may bring to a shard: for k-mers among its changes, or for bytes of words that are
  /// pending.
  struct ShardRoom {
    std::size_t size;
    bool is_for_words;
  };

  /// Room for a batch in its shards, until they have been changed. When it is made nothing can fail any more
  /// for want of memory.
  class Reservation {
   public:
    Reservation(ShardedLiveTable& table, Changer& changer, std::span<const std::uint16_t> shards, LiveUse use,
                bool may_be_pending)
        : table_(table) {
      try {
        rooms_.reserve(shards.size());
        table.shards_.for_each_free_first(shards, changer.busy, [&](std::uint16_t shard) {
          rooms_.emplace_back(shard, table.reserve(shard, changer, use, may_be_pending));
        });
      } catch (const std::bad_alloc&) {
        release();
        throw_no_memory();
      } catch (...) {
        release();
        throw;
      }
    }
    ~Reservation() { release(); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    /// Calls `change(shard, room)` for all shards, one after the other, which is to give the room back.
    template <class Change>
    void use(Change&& change) {
      for (; used_ < rooms_.size(); ++used_) change(rooms_[used_].first, rooms_[used_].second);
    }

   private:
    void release() {
      use([&](std::uint16_t number, ShardRoom room) {
        auto& shard = table_.shards_[number];
        const std::lock_guard lock(shard.mutex);
        give_back(shard, room);
      });
    }

    ShardedLiveTable& table_;
    std::vector<std::pair<std::uint16_t, ShardRoom>> rooms_;
    std::size_t used_ = 0;
  };

  class Snapshot : public backend::LiveSnapshot {
   public:
    explicit Snapshot(ShardedLiveTable& table)
        : table_(table), view_(table.gate_, true), totals_(table.totals_.get()) {}

    void finish(unsigned /*thread*/, const backend::ShardSink& sink,
                const std::function<void()>& shard_done) override {
      backend::Tally mine;
      for (std::uint32_t shard; (shard = next_.fetch_add(1)) < Shards::kShards; shard_done())
        sink(shard, table_.shards_.freeze(shard, mine, sink.take_payload()));
      const std::lock_guard lock(mutex_);
      tally_.merge(mine);
    }
    [[nodiscard]] backend::Tally tally() const override { return tally_; }
    [[nodiscard]] backend::LiveTotals totals() const override { return totals_; }

   private:
    ShardedLiveTable& table_;
    const backend::Gate::Stop view_;
    const backend::LiveTotals totals_;
    std::atomic<std::uint32_t> next_{0};
    std::mutex mutex_;
    backend::Tally tally_;
  };

  static std::uint64_t fixed_bytes(const backend::LiveTablePlan& plan) {
    constexpr std::uint64_t kShardBytes = sizeof(LiveShard<Key, Words>) + sizeof(groups::ShardBits) + 512;
    constexpr std::uint64_t kThreadBytes = std::uint64_t{3} << 20;
    return Shards::kShards * kShardBytes + plan.threads * kThreadBytes;
  }

  [[noreturn]] static void throw_no_memory() {
    throw ResourceError("the system has no memory for more k-mers in a live table; lower -m or free memory");
  }

  /// Returns `change(changer)`. Batches under way hold memory that nobody can fold: where one finds none
  /// beside others, it is tried again alone. ResourceError when there is none then; nothing is changed.
  template <class Change>
  auto in_turn(const Change& change) {
    {
      const backend::Gate::Pass turn(gate_);
      const auto changer = changers_.take();
      try {
        return change(*changer);
      } catch (const ResourceError&) {
        if (turn.was_alone()) throw;
      }
    }
    // Only without a turn of its own may it wait for the turns of others, which have all memory meanwhile.
    const backend::Gate::Pass alone(gate_, true);
    return change(*changers_.take());
  }

  /// False when there is no room for a whole batch; then nothing is changed.
  bool remove_at_once(Changer& changer, backend::Shortfall& shortfall) {
    std::optional<Reservation> reservation;
    try {
      reservation.emplace(*this, changer, changer.cut.shards(), LiveUse::addition, false);
    } catch (const ResourceError&) {
      return false;
    }
    reservation->use(
        [&](std::uint16_t shard, ShardRoom room) { remove_from(shard, room, changer, shortfall); });
    return true;
  }
  /// Does so from shard to shard, in the memory that additions leave free. What has been removed makes room
  /// as soon as its shard is folded. An error comes before anything is changed; after that, a shard that
  /// finds no room gets some all the same, because a batch is removed as a whole.
  void remove_one_by_one(Changer& changer, backend::Shortfall& shortfall) {
    bool is_begun = false;
    for (const std::uint16_t& shard : changer.cut.shards()) {
      std::optional<Reservation> reservation;
      try {
        reservation.emplace(*this, changer, std::span(&shard, 1), LiveUse::removal, false);
      } catch (...) {
        if (!is_begun) throw;
      }
      const auto remove = [&](std::uint16_t number, ShardRoom room) {
        remove_from(number, room, changer, shortfall);
      };
      if (reservation) {
        reservation->use(remove);
      } else {
        remove(shard, {shards_.reserve_anyway(shard, most_keys(shard, changer)), false});
      }
      is_begun = true;
    }
  }

  /// Takes back what idle changers have kept, and folds shards, until there are so many bytes. ResourceError
  /// when that is no help.
  void make_room(std::uint64_t bytes, LiveUse use) {
    changers_.for_each_idle([](Changer& idle) { idle.give_back(0); });
    for (std::uint32_t tried = 0; tried < Shards::kShards && !budget_.has(bytes, use); ++tried)
      shards_.shrink(next_shrunk_.fetch_add(1) % Shards::kShards);
    if (budget_.has(bytes, use)) return;
    throw ResourceError(fmt::format("the live table holds {} of {} and has no room {}; {}",
                                    mebibytes_needed(budget_.held()), mebibytes(budget_.most()),
                                    use == LiveUse::addition ? "for more k-mers" : "to note what is removed",
                                    memory_advice(plan_.threads)));
  }

  [[nodiscard]] bool can_be_pending(std::uint32_t number, const Changer& changer) const {
    return shards_.can_be_pending(number, changer.cut.words(number).size(), changer.cut.kmers(number));
  }
  /// Returns room for what a batch brings to a shard; where there is none, other shards are folded.
  ShardRoom reserve(std::uint32_t number, Changer& changer, LiveUse use, bool may_be_pending) {
    std::uint64_t wanted = 0;
    if (may_be_pending && can_be_pending(number, changer)) {
      const std::size_t words = changer.cut.words(number).size();
      for (;; make_room(wanted, use)) {
        if (const auto bytes = shards_.reserve_words(number, words, changer.cut.kmers(number), wanted))
          return {*bytes, true};
      }
    }
    const std::size_t kmers = most_keys(number, changer);
    while (!shards_.reserve_kmers(number, kmers, use, wanted)) make_room(wanted, use);
    return {kmers, false};
  }
  static void give_back(LiveShard<Key, Words>& shard, ShardRoom room) {
    (room.is_for_words ? shard.pending.reserved : shard.changes.reserved) -= room.size;
  }

  /// Adds the words of a shard. All that a batch adds to one k-mer is seen at once. If they are not to be
  /// pending, only the first words are made k-mers of before the lock is taken: nearly always they are all.
  void add_to(std::uint32_t number, ShardRoom room, Changer& changer) {
    auto words = changer.cut.words(number);
    HashList<Key> list{};
    const auto next_kmers = [&] {
      const std::size_t n = std::min(changer.kmers.kWordsAtOnce, words.size());
      list.size = 0;
      changer.kmers.append(words.first(n), list);
      words = words.subspan(n);
    };
    if (!room.is_for_words) next_kmers();
    auto& shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    if (room.is_for_words) {
      shard.pending.store->append(words, changer.cut.kmers(number));
    } else {
      shard.changes.store->add(list, changer.lists);
      while (!words.empty()) {
        next_kmers();
        shard.changes.store->add(list, changer.lists);
      }
    }
    give_back(shard, room);
    shard.note_changes();
  }

  void remove_from(std::uint32_t number, ShardRoom room, Changer& changer, backend::Shortfall& shortfall) {
    const HashList<Key> list = changer.kmers.distinct(changer.cut.words(number));
    std::uint64_t* const changes = changer.changes.get(list.size);
    std::uint32_t* const low = changer.low.get(list.size);
    auto& shard = shards_[number];
    const WholeShardLock lock(shard);
    shards_.settle(number, LiveUse::removal);
    const groups::ShardBits strings = shards_.strings(number);
    ChangeTable<Key>& table = *shard.changes.store;
    table.find(list.keys, list.size, low, changes);
    for (std::size_t i = 0; i < list.size; ++i) {
      const Key hash = list.keys[i];
      const std::uint64_t wanted = list.weights[i], there = count_after(changes[i], [&] {
                                                      return count_in(strings, keys_, hash_.inverse(hash));
                                                    });
      if (wanted > there) shortfall.note(there, wanted - there);
      if (there == 0) continue;
      table.set(hash, changes[i], whole_change(there - std::min(there, wanted)), changer.lists);
    }
    give_back(shard, room);
    if (table.size() > 0) shard.note_changes();
  }

  /// Returns how many keys a batch may bring a shard, at most. Where there are many k-mers, few may be
  /// distinct.
  [[nodiscard]] std::size_t most_keys(std::uint32_t number, Changer& changer) const {
    const std::size_t kmers = changer.cut.kmers(number);
    return kmers <= kMany ? kmers : changer.kmers.distinct(changer.cut.words(number)).size;
  }

  const backend::LiveTablePlan plan_;
  const Kernels& kernels_;
  const index::IndexParams params_;
  const groups::GroupKeys<Key, Key> keys_;
  const KmerHash<Key> hash_;
  LiveBudget budget_;
  Shards shards_;
  const LiveBytes fixed_bytes_;
  backend::Gate gate_;
  backend::LiveReadTotals totals_;
  std::atomic<std::uint32_t> next_shrunk_{0};
  BufferPool<Changer> changers_{[this] { return std::make_unique<Changer>(*this); }, plan_.threads};
  const ShardedLiveLookup<Key, Words> strict_, lenient_;
};

}  // namespace warpmer::cpu
