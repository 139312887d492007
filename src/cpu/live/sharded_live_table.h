#pragma once
/// The live table for k > 12: shards of strings with what has changed since.

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
  ShardedLiveLookup(const LiveShards<Key>& shards, LiveBudget& budget, const KmerParams& kmers, bool lenient,
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

  /// A k-mer on its way to its group.
  struct AskedKmer {
    typename groups::GroupKeys<Key, Key>::Place place;
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
    const LiveShard<Key>& shard = shards_[place.shard];
    const std::shared_lock lock(shard.mutex);
    const auto in_strings = [&] { return count_in(shards_.strings(place.shard), keys_, place.key); };
    if (!shard.moment().has_changes) return in_strings();
    const Key hash = hash_(place.key);
    std::uint32_t low = 0;
    std::uint64_t change = 0;
    shard.changes->find(&hash, 1, &low, &change);
    return count_after(change, in_strings);
  }

  const LiveShards<Key>& shards_;
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
  using Shards = LiveShards<Key>;

 public:
  explicit ShardedLiveTable(const backend::LiveTablePlan& plan)
      : plan_(plan),
        kernels_(best_kernels()),
        params_(backend::params_for(plan.kmers.k, plan.kmers.canonical)),
        keys_(plan.kmers.k),
        hash_(plan.kmers.k),
        budget_(plan.memory_bytes),
        shards_(kernels_, plan, budget_),
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
      Reservation reservation(*this, changer, changer.cut.shards(), LiveUse::addition);
      reservation.use([&](std::uint16_t shard, std::size_t room) { add_to(shard, room, changer); });
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
      ShardFolder<Key> folder(kernels_.shard<Key, Words>(), params_);
      backend::Tally mine;
      for (std::uint32_t shard; numbers.take(shard);) note(shard, folder, mine);
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
  /// Super-k-mers that are made k-mers of at a time.
  static constexpr std::size_t kWordsAtOnce = 128;
  /// So many k-mers of a batch in one shard may be few that are there often, and are looked at twice.
  static constexpr std::size_t kMany = 4096;
  /// From batch to batch, all threads together keep one of so many parts of the memory, at most.
  static constexpr std::uint64_t kKeptShare = 8;
  /// Threads that go through shards in the same order get behind each other and stay there, waiting for one
  /// shard after the other. So each batch begins with another shard: the golden section of all further on,
  /// which is far from where the batches before it began.
  static constexpr std::uint32_t kFirstStep = 2531;

  /// Working memory of a thread that adds or removes.
  struct Changer {
    explicit Changer(ShardedLiveTable& table)
        : cut(table.kernels_, table.plan_.kmers),
          folder(table.kernels_.template shard<Key, Words>(), table.params_),
          bytes(table.budget_, 0) {
      std::fill_n(twos, kWordsAtOnce, 2u);
      get_room(0, false);
    }
    [[nodiscard]] std::uint64_t memory_bytes() const {
      return cut.memory_bytes() + hashes.bytes() + weights.bytes() + low.bytes() + changes.bytes();
    }
    /// Returns how many keys there is to be room for when a shard gets so many k-mers, and more words are
    /// made k-mers of.
    static std::size_t room_for(std::size_t kmers) {
      return std::bit_ceil(kmers + kWordsAtOnce * kMostWordKmers<Words> + 8);
    }
    /// Returns `memory_bytes` with room for so many k-mers of a shard.
    [[nodiscard]] std::uint64_t bytes_with_room(std::size_t kmers, bool removes) const {
      const std::size_t room = room_for(kmers), more = removes ? room : 0;
      const auto larger = [](const auto& scratch, std::size_t n) {
        return std::max<std::uint64_t>(scratch.bytes(), n * sizeof(*scratch.data()));
      };
      return cut.memory_bytes() + larger(hashes, room) + larger(weights, room) + larger(low, more) +
             larger(changes, more);
    }
    void get_room(std::size_t kmers, bool removes) {
      const std::size_t room = room_for(kmers);
      hashes.get(room);
      weights.get(room);
      if (!removes) return;
      low.get(room);
      changes.get(room);
    }
    /// Gives all memory back if it is more than `kept` bytes.
    void give_back(std::uint64_t kept) {
      if (memory_bytes() > kept) {
        cut.trim();
        hashes.clear();
        weights.clear();
        low.clear();
        changes.clear();
      }
      bytes.set(memory_bytes());
    }

    CutBatch<Words> cut;
    ShardFolder<Key> folder;
    LiveBytes bytes;
    TableLists<Key> lists;
    std::uint32_t twos[kWordsAtOnce];
    Scratch<Key> hashes;
    Scratch<std::uint32_t> weights, low;
    Scratch<std::uint64_t> changes;
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
      changer_.cut.cut(batch, lenient, table_.next_first_.fetch_add(kFirstStep),
                       [&](std::uint64_t bytes) { hold(others + bytes, use); });
      std::size_t kmers = 0;
      for (const std::uint16_t shard : changer_.cut.shards()) {
        const std::size_t of_shard = changer_.cut.kmers(shard);
        if (removes || of_shard > kMany) kmers = std::max(kmers, of_shard);
      }
      hold(changer_.bytes_with_room(kmers, removes), use);
      changer_.get_room(kmers, removes);
    }
    void give_back() { changer_.give_back(table_.budget_.most() / (kKeptShare * table_.plan_.threads)); }
    void hold(std::uint64_t bytes, LiveUse use) {
      if (changer_.bytes.try_set(bytes, use)) return;
      table_.make_room(bytes - changer_.bytes.bytes(), use, changer_);
      changer_.bytes.set(bytes);
    }

    ShardedLiveTable& table_;
    Changer& changer_;
  };

  /// Room for a batch in the tables of its shards, until they have been changed. When it is made nothing can
  /// fail any more for want of memory.
  class Reservation {
   public:
    Reservation(ShardedLiveTable& table, Changer& changer, std::span<const std::uint16_t> shards, LiveUse use)
        : table_(table), shards_(shards) {
      try {
        rooms_.reserve(shards.size());
        for (const std::uint16_t shard : shards) {
          const std::size_t room = table.most_keys(shard, changer);
          std::uint64_t wanted = 0;
          while (!table.shards_.reserve(shard, room, use, changer.folder, wanted))
            table.make_room(wanted, use, changer);
          rooms_.push_back(room);
        }
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
      for (; used_ < rooms_.size(); ++used_) change(shards_[used_], rooms_[used_]);
    }

   private:
    void release() {
      use([&](std::uint16_t number, std::size_t room) {
        auto& shard = table_.shards_[number];
        const std::lock_guard lock(shard.mutex);
        shard.reserved -= room;
      });
    }

    ShardedLiveTable& table_;
    const std::span<const std::uint16_t> shards_;
    std::vector<std::size_t> rooms_;
    std::size_t used_ = 0;
  };

  class Snapshot : public backend::LiveSnapshot {
   public:
    explicit Snapshot(ShardedLiveTable& table)
        : table_(table), view_(table.gate_, true), totals_(table.totals_.get()) {}

    void finish(unsigned /*thread*/, const backend::ShardSink& sink,
                const std::function<void()>& shard_done) override {
      ShardFolder<Key> folder(table_.kernels_.template shard<Key, Words>(), table_.params_);
      backend::Tally mine;
      for (std::uint32_t shard; (shard = next_.fetch_add(1)) < Shards::kShards; shard_done())
        sink(shard, table_.freeze(shard, folder, mine, sink.take_payload()));
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
    constexpr std::uint64_t kShardBytes = sizeof(LiveShard<Key>) + sizeof(groups::ShardBits) + 512;
    constexpr std::uint64_t kThreadBytes = std::uint64_t{2} << 20;
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
      reservation.emplace(*this, changer, changer.cut.shards(), LiveUse::addition);
    } catch (const ResourceError&) {
      return false;
    }
    reservation->use(
        [&](std::uint16_t shard, std::size_t room) { remove_from(shard, room, changer, shortfall); });
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
        reservation.emplace(*this, changer, std::span(&shard, 1), LiveUse::removal);
      } catch (...) {
        if (!is_begun) throw;
      }
      const auto remove = [&](std::uint16_t number, std::size_t room) {
        remove_from(number, room, changer, shortfall);
      };
      if (reservation) {
        reservation->use(remove);
      } else {
        remove(shard, shards_.reserve_anyway(shard, most_keys(shard, changer)));
      }
      is_begun = true;
    }
  }

  /// Takes back what idle changers have kept, and folds shards, until there are so many bytes. ResourceError
  /// when that is no help.
  void make_room(std::uint64_t bytes, LiveUse use, Changer& changer) {
    changers_.for_each_idle([](Changer& idle) { idle.give_back(0); });
    for (std::uint32_t tried = 0; tried < Shards::kShards && !budget_.has(bytes, use); ++tried)
      shards_.shrink(next_shrunk_.fetch_add(1) % Shards::kShards, changer.folder);
    if (budget_.has(bytes, use)) return;
    throw ResourceError(fmt::format("the live table holds {} of {} and has no room {}; {}",
                                    mebibytes_needed(budget_.held()), mebibytes(budget_.most()),
                                    use == LiveUse::addition ? "for more k-mers" : "to note what is removed",
                                    memory_advice(plan_.threads)));
  }

  /// Appends the hashes of the keys of all k-mers of words.
  void expand(std::span<const StoredFlankedWord<Words>> words, Changer& changer, HashList<Key>& list) const {
    const std::size_t room = list.size + words.size() * kMostWordKmers<Words> + 8;
    list.keys = changer.hashes.grow(room, list.size);
    list.weights = changer.weights.grow(room, list.size);
    kernels_.shard<Key, Words>().append(words.data(), changer.twos, words.size(), plan_.kmers.k, list);
  }

  /// Adds the words of a shard. All that a batch adds to one k-mer is seen at once. Only the first words are
  /// made k-mers of before the lock is taken: nearly always they are all.
  void add_to(std::uint32_t number, std::size_t room, Changer& changer) {
    auto words = changer.cut.words(number);
    HashList<Key> list{};
    const auto expand_next = [&] {
      const std::size_t n = std::min(kWordsAtOnce, words.size());
      list.size = 0;
      expand(words.first(n), changer, list);
      words = words.subspan(n);
    };
    expand_next();
    auto& shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    shard.changes->add(list, changer.lists);
    while (!words.empty()) {
      expand_next();
      shard.changes->add(list, changer.lists);
    }
    shard.reserved -= room;
    shard.set_moment({shard.moment().folds, true});
  }

  void remove_from(std::uint32_t number, std::size_t room, Changer& changer, backend::Shortfall& shortfall) {
    HashList<Key> list = distinct(number, changer);
    std::uint64_t* const changes = changer.changes.get(list.size);
    std::uint32_t* const low = changer.low.get(list.size);
    auto& shard = shards_[number];
    const std::lock_guard lock(shard.mutex);
    const groups::ShardBits strings = shards_.strings(number);
    shard.changes->find(list.keys, list.size, low, changes);
    for (std::size_t i = 0; i < list.size; ++i) {
      const Key hash = list.keys[i];
      const std::uint64_t wanted = list.weights[i], there = count_after(changes[i], [&] {
                                                      return count_in(strings, keys_, hash_.inverse(hash));
                                                    });
      if (wanted > there) shortfall.note(there, wanted - there);
      if (there == 0) continue;
      shard.changes->set(hash, changes[i], whole_change(there - std::min(there, wanted)), changer.lists);
    }
    shard.reserved -= room;
    if (shard.changes->size() > 0) shard.set_moment({shard.moment().folds, true});
  }

  /// Returns the distinct hashes of a shard's k-mers in a batch, in order, with their numbers.
  HashList<Key> distinct(std::uint32_t number, Changer& changer) const {
    HashList<Key> list{};
    const auto words = changer.cut.words(number);
    for (std::size_t at = 0; at < words.size(); at += kWordsAtOnce)
      expand(words.subspan(at, std::min(kWordsAtOnce, words.size() - at)), changer, list);
    std::sort(list.keys, list.keys + list.size);
    std::size_t size = 0;
    for (std::size_t i = 0, next = 0; i < list.size; i = next) {
      while (next < list.size && list.keys[next] == list.keys[i]) ++next;
      list.keys[size] = list.keys[i];
      list.weights[size++] = static_cast<std::uint32_t>(next - i);
    }
    list.size = size;
    return list;
  }
  /// Returns how many keys a batch may bring a shard, at most. Where there are many k-mers, few may be
  /// distinct.
  [[nodiscard]] std::size_t most_keys(std::uint32_t number, Changer& changer) const {
    const std::size_t kmers = changer.cut.kmers(number);
    return kmers <= kMany ? kmers : distinct(number, changer).size;
  }

  /// Returns the changes of a shard, or null; under its lock.
  [[nodiscard]] const ChangeTable<Key>* changes_of(std::uint32_t number) const {
    const LiveShard<Key>& shard = shards_[number];
    return shard.moment().has_changes ? shard.changes.get() : nullptr;
  }
  [[nodiscard]] std::uint64_t folding_bytes(std::uint32_t number) const {
    const ChangeTable<Key>* const changes = changes_of(number);
    return ShardFolder<Key>::bytes_for(shards_.string_kmers(number), changes ? changes->size() : 0);
  }

  void note(std::uint32_t number, ShardFolder<Key>& folder, backend::Tally& tally) {
    const std::shared_lock lock(shards_[number].mutex);
    const ByteRoom::Held room(budget_.folding_room(), folding_bytes(number));
    folder.note(shards_.strings(number), shards_.string_kmers(number), changes_of(number), tally);
  }
  [[nodiscard]] index::FrozenShard freeze(std::uint32_t number, ShardFolder<Key>& folder,
                                          backend::Tally& tally, std::vector<std::uint64_t>&& spent) {
    const std::shared_lock lock(shards_[number].mutex);
    const ByteRoom::Held room(budget_.folding_room(), folding_bytes(number));
    const groups::ShardBits strings = shards_.strings(number);
    const std::uint64_t kmers = shards_.string_kmers(number);
    groups::EncodedShard shard;
    if (const ChangeTable<Key>* const changes = changes_of(number)) {
      shard = folder.fold(strings, kmers, changes, tally, std::move(spent));
    } else {
      folder.note(strings, kmers, nullptr, tally);
      shard.sizes = shards_.sizes(number);
      shard.payload = std::move(spent);
      shard.payload.assign(strings.words, strings.words + shard.sizes.words);
    }
    return {{}, std::move(shard.payload), {}, std::nullopt, shard.sizes};
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
  std::atomic<std::uint32_t> next_shrunk_{0}, next_first_{0};
  BufferPool<Changer> changers_{[this] { return std::make_unique<Changer>(*this); }, plan_.threads};
  const ShardedLiveLookup<Key, Words> strict_, lenient_;
};

}  // namespace warpmer::cpu
