// A live table whose k-mers are children of paged tables, on one GPU or several, each of which pages the
// shards that it owns. Whatever the number of callers, one at a time works on the GPUs: additions wait there
// until they are many, and questions of callers that come meanwhile are answered together.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backend/live/gate.h"
#include "backend/live/read_totals.h"
#include "backend/live/table_loss.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "kernels/live/gpu_snapshot.cuh"
#include "kernels/live/live_input.cuh"
#include "kernels/live/paged_kmers.cuh"
#include "kernels/live/paged_live_table.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/key_width.cuh"
#include "kernels/text/joined_text.cuh"
#include "kmer/hash.h"
#include "kmer/ownership.h"

namespace warpmer::gpu {

namespace {

using backend::InitialKmers;
using backend::LiveScheme;
using backend::LiveTablePlan;
using backend::Profile;

constexpr std::uint32_t kLiveShards = 1u << kShardBits;

/// The paged tables of all GPUs.
template <class Key>
class PagedParts {
 public:
  PagedParts(const LiveTablePlan& plan, const std::vector<int>& gpus, std::uint64_t bytes,
             const InitialKmers* initial) {
    const auto owners = static_cast<std::uint32_t>(gpus.size());
    for (std::uint32_t owner = 0; owner < owners; ++owner) {
      const index::ShardRange shards{first_shard_of(owner, owners, kLiveShards),
                                     first_shard_of(owner + 1, owners, kLiveShards)};
      parts_.emplace_back(gpus[owner], PagedKmersPlan{.kmers = plan.kmers,
                                                      .shards = shards,
                                                      .device_bytes = bytes,
                                                      .host_bytes = plan.memory_bytes / owners,
                                                      .initial = initial});
    }
  }

  [[nodiscard]] std::uint32_t owners() const { return static_cast<std::uint32_t>(parts_.size()); }
  [[nodiscard]] int gpu(std::uint32_t owner) const { return parts_[owner].ordinal(); }
  [[nodiscard]] PagedKmers<Key>& operator[](std::uint32_t owner) const { return *parts_[owner]; }

  [[nodiscard]] bool have_failed() const {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->has_failed(); });
  }

  /// Calls `work(part, owner)` for all, side by side, each on its GPU.
  template <class Work>
  void on_all(Work&& work) const {
    run_team(
        owners(),
        [&](unsigned owner) {
          const CurrentDevice current(gpu(owner));
          work(*parts_[owner], owner);
        },
        [] {});
  }

 private:
  std::vector<OnOneDevice<PagedKmers<Key>>> parts_;
};

/// One caller after another works on the GPUs. An error that has lost k-mers is the end of the table: what
/// callers have been told is there is not.
template <class Key>
class PagedTurns {
 public:
  explicit PagedTurns(const PagedParts<Key>& parts) : parts_(parts) {}

  template <class Work>
  auto take(Work&& work) {
    const std::lock_guard lock(mutex_);
    loss_.check();
    try {
      return work();
    } catch (const std::exception& error) {
      if (!parts_.have_failed()) throw;
      loss_.lose(error);
    }
  }
  /// Does a part of the work that must not end half done.
  template <class Work>
  void wholly(Work&& work) {
    loss_.guard(work);
  }

 private:
  const PagedParts<Key>& parts_;
  std::mutex mutex_;  ///< guards all paged tables
  backend::TableLoss loss_;
};

/// Questions of several callers, which are answered together: whoever comes while others are answered waits,
/// and one of those who wait then asks for all.
template <class Key>
class PagedQuestions {
 public:
  PagedQuestions(const PagedParts<Key>& parts, PagedTurns<Key>& turns) : parts_(parts), turns_(turns) {
    most_ = parts[0].most_together();
    for (std::uint32_t owner = 1; owner < parts.owners(); ++owner)
      most_ = std::min(most_, parts[owner].most_together());
  }

  /// Returns the most that one question may ask for.
  [[nodiscard]] std::size_t most() const { return most_; }

  /// Answers one of `size` starts, or hashes.
  std::vector<std::uint32_t> ask(const io::Batch* batch, std::span<const Key> hashes, std::size_t size) {
    WaitingQuestion mine;
    for (std::uint32_t owner = 0; owner < parts_.owners(); ++owner)
      mine.at.push_back({batch, hashes, std::vector<std::uint32_t>(size)});
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    while (!mine.is_done) {
      if (is_asking_) {
        answered_.wait(lock);
      } else {
        ask_some(lock);
      }
    }
    if (mine.error) std::rethrow_exception(mine.error);
    return sum_of(mine);
  }

 private:
  struct WaitingQuestion {
    std::vector<PagedQuestion<Key>> at;  ///< by owner
    bool is_done = false;
    std::exception_ptr error;
  };

  /// Asks for as many of those that wait as can be asked for together.
  void ask_some(std::unique_lock<std::mutex>& lock) {
    std::vector<WaitingQuestion*> some;
    std::size_t size = 0;
    while (!waiting_.empty() && size + waiting_.front()->at[0].answers.size() <= most_) {
      size += waiting_.front()->at[0].answers.size();
      some.push_back(waiting_.front());
      waiting_.erase(waiting_.begin());
    }
    is_asking_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      turns_.take([&] {
        parts_.on_all([&](PagedKmers<Key>& part, std::uint32_t owner) {
          std::vector<PagedQuestion<Key>*> questions;
          for (WaitingQuestion* const one : some) questions.push_back(&one->at[owner]);
          part.ask(questions);
        });
      });
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    is_asking_ = false;
    for (WaitingQuestion* const one : some) {
      one->error = error;
      one->is_done = true;
    }
    answered_.notify_all();
  }

  /// A k-mer has an answer that is not 0 at its owner alone.
  static std::vector<std::uint32_t> sum_of(WaitingQuestion& question) {
    std::vector<std::uint32_t> sum = std::move(question.at[0].answers);
    for (std::size_t owner = 1; owner < question.at.size(); ++owner) {
      const std::vector<std::uint32_t>& more = question.at[owner].answers;
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = more[i] == kNoKmerAnswer ? sum[i] : sum[i] + more[i];
    }
    return sum;
  }

  const PagedParts<Key>& parts_;
  PagedTurns<Key>& turns_;
  std::size_t most_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable answered_;
  std::vector<WaitingQuestion*> waiting_;
  bool is_asking_ = false;
};

[[noreturn]] void throw_large_batch(std::uint64_t bases, std::size_t most) {
  throw ResourceError(std::to_string(bases) + " bases come at once, and there is room for " +
                      std::to_string(most) + " on a GPU; give it more --device-memory");
}

template <class Key>
class PagedLookup : public backend::Lookup {
 public:
  PagedLookup(const KmerParams& kmers, PagedQuestions<Key>& questions, bool lenient)
      : Lookup(kmers), questions_(questions), hash_(kmers.k), lenient_(lenient) {}

  void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
    std::vector<Key> hashes = kmers_of<Key>(texts, kmers());
    std::transform(hashes.begin(), hashes.end(), hashes.begin(), hash_);
    for (std::size_t at = 0; at < hashes.size(); at += questions_.most()) {
      const auto some =
          std::span<const Key>(hashes).subspan(at, std::min(questions_.most(), hashes.size() - at));
      const std::vector<std::uint32_t> answers = questions_.ask(nullptr, some, some.size());
      std::copy(answers.begin(), answers.end(), counts + at);
    }
  }

  void profile(const io::Batch& batch, Profile& out) const override {
    if (!lenient_) io::check_bases(batch);
    lay_out(batch, out);
    const std::uint64_t bases = joined_bytes(batch);
    if (bases > questions_.most()) throw_large_batch(bases, questions_.most());
    if (bases == 0) return;
    const std::vector<std::uint32_t> answers = questions_.ask(&batch, {}, bases);
    for (JoinedPiece piece; piece.number < batch.pieces.size(); piece.go_to_next(batch)) {
      const std::size_t place = out.first[piece.number];
      std::copy_n(answers.begin() + static_cast<std::ptrdiff_t>(piece.at),
                  out.first[piece.number + 1] - place,
                  out.counts.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }

  /// Questions of more callers are answered together.
  [[nodiscard]] unsigned callers(unsigned threads) const override { return 2 * threads; }

 private:
  PagedQuestions<Key>& questions_;
  const KmerHash<Key> hash_;
  const bool lenient_;
};

/// Takes the shards of each child in turn.
template <class Key>
class ChildShards : public ShardTaker {
 public:
  ChildShards(const KmerParams& kmers, const PagedParts<Key>& parts, PagedTurns<Key>& turns)
      : ShardTaker({0, kLiveShards}), parts_(parts), turns_(turns) {
    turns.take([&] {
      for (std::uint32_t owner = 0; owner < parts.owners(); ++owner) {
        const CurrentDevice current(parts.gpu(owner));
        for (const index::ShardRange& child : parts[owner].children()) children_.push_back({owner, child});
        freezers_.emplace_back(parts.gpu(owner), kmers, parts[owner].freezing_bytes());
      }
    });
  }

 private:
  struct OwnedChild {
    std::uint32_t owner;
    index::ShardRange shards;
  };

  ShardsOnHost freeze(std::uint32_t first, backend::Tally& tally) override {
    return turns_.take([&] {
      while (children_[child_].shards.end <= first) ++child_;
      const auto& [owner, shards] = children_[child_];
      ShardFreezer<Key>& freezer = *freezers_[owner];
      const CurrentDevice current(parts_.gpu(owner));
      ShardsOnHost frozen;
      parts_[owner].with_child(shards.first, [&](const LiveEntries<Key>& entries, cudaStream_t stream) {
        if (first == shards.first) {
          note_counts(entries, stream, tally);
          freezer.begin(entries, shards, stream);
        }
        frozen = freezer.freeze(entries, first, stream);
      });
      return frozen;
    });
  }

  const PagedParts<Key>& parts_;
  PagedTurns<Key>& turns_;
  std::vector<OwnedChild> children_;  ///< in order of their shards
  std::size_t child_ = 0;
  std::vector<OnOneDevice<ShardFreezer<Key>>> freezers_;  ///< by owner
};

template <class Key>
class PagedLiveTable : public backend::LiveTable {
 public:
  PagedLiveTable(const LiveTablePlan& plan, const std::vector<int>& gpus, std::uint64_t bytes,
                 const InitialKmers* initial)
      : kmers_(plan.kmers),
        threads_(plan.threads),
        is_automatic_(plan.scheme == LiveScheme::automatic),
        parts_(plan, gpus, bytes, initial),
        turns_(parts_),
        questions_(parts_, turns_),
        lookup_(kmers_, questions_, false),
        lenient_lookup_(kmers_, questions_, true),
        reads_(initial) {
    if (initial != nullptr) load(*initial);
  }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    if (!lenient) io::check_bases(batch);
    const backend::Gate::Pass change(gate_);
    std::uint64_t kmers = 0;
    const Refusal refusal = turns_.take([&] { return try_to_add(batch, kmers); });
    if (refusal != Refusal::none) throw_refused(batch, refusal);
    reads_.add(batch, kmers_.k);
    return kmers;
  }

  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    if (!lenient) io::check_bases(batch);
    const backend::Gate::Pass change(gate_);
    if (joined_bytes(batch) > questions_.most()) throw_refused(batch, Refusal::batch);
    std::vector<backend::Removal> removals(parts_.owners());
    turns_.take([&] {
      parts_.on_all([&](PagedKmers<Key>& part, std::uint32_t /*owner*/) {
        part.serve();
        if (!part.collect(batch)) throw InternalError("a batch that has room was not removed");
      });
      turns_.wholly([&] {
        parts_.on_all([&](PagedKmers<Key>& part, std::uint32_t owner) {
          removals[owner].kmers = part.collected();
          part.remove(removals[owner].shortfall);
        });
      });
    });
    backend::Removal all;
    for (const backend::Removal& one : removals) {
      all.kmers += one.kmers;
      all.shortfall.merge(one.shortfall);
    }
    reads_.remove(batch, kmers_.k, all);
    return all;
  }

  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_lookup_ : lookup_;
  }

  [[nodiscard]] backend::LiveTally tally() override {
    const backend::Gate::Stop view(gate_);
    std::vector<backend::Tally> tallies(parts_.owners());
    turns_.take([&] {
      parts_.on_all(
          [&](PagedKmers<Key>& part, std::uint32_t owner) { part.note_all_counts(tallies[owner]); });
    });
    backend::LiveTally all{backend::Tally(), reads_.get()};
    for (const backend::Tally& one : tallies) all.merge(one);
    return all;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return reads_.get(); }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    return std::make_unique<GpuLiveSnapshot>(gate_, reads_, [&] {
      ShardTakers takers;
      takers.push_back(std::make_unique<ChildShards<Key>>(kmers_, parts_, turns_));
      return takers;
    });
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return turns_.take([&] {
      std::uint64_t bytes = 0;
      for (std::uint32_t owner = 0; owner < parts_.owners(); ++owner)
        bytes += parts_[owner].device_bytes() + parts_[owner].host_bytes();
      return bytes;
    });
  }
  [[nodiscard]] std::string describe() const override {
    std::string where;
    for (std::uint32_t owner = 0; owner < parts_.owners(); ++owner)
      where += (owner == 0 ? "cuda:" : ", cuda:") + std::to_string(parts_.gpu(owner));
    return "child tables (Starfish) that take turns in the memory of " + where +
           (is_automatic_ ? ", which has no room for a table of all k-mers" : "");
  }

 private:
  enum class Refusal : std::uint8_t { none, room, too_many, batch };

  /// A batch is added on all GPUs, or on none.
  Refusal try_to_add(const io::Batch& batch, std::uint64_t& kmers) {
    if (joined_bytes(batch) > questions_.most()) return Refusal::batch;
    Refusal refusal = collect(batch);
    if (refusal != Refusal::none) {
      // Those that wait may not be new, and then need no room.
      parts_.on_all([&](PagedKmers<Key>& part, std::uint32_t) { part.serve(); });
      refusal = collect(batch);
    }
    if (refusal != Refusal::none) {
      parts_.on_all([&](PagedKmers<Key>& part, std::uint32_t) { part.make_room(); });
      refusal = collect(batch);
    }
    if (refusal != Refusal::none) return refusal;
    for (std::uint32_t owner = 0; owner < parts_.owners(); ++owner) {
      parts_[owner].commit();
      kmers += parts_[owner].collected();
    }
    return Refusal::none;
  }
  /// Collects a batch on all GPUs, and says why it cannot be committed.
  Refusal collect(const io::Batch& batch) {
    using LiveRoom = typename PagedKmers<Key>::LiveRoom;
    std::vector<Refusal> refusals(parts_.owners(), Refusal::none);
    parts_.on_all([&](PagedKmers<Key>& part, std::uint32_t owner) {
      const LiveRoom room = part.collect(batch) ? part.room() : LiveRoom::none;
      refusals[owner] = room == LiveRoom::enough ? Refusal::none
                        : room == LiveRoom::none ? Refusal::room
                                                 : Refusal::too_many;
    });
    return *std::max_element(refusals.begin(), refusals.end());
  }

  [[noreturn]] void throw_refused(const io::Batch& batch, Refusal refusal) const {
    if (refusal == Refusal::batch) throw_large_batch(joined_bytes(batch), questions_.most());
    if (refusal == Refusal::too_many) {
      throw ResourceError("a k-mer may come to occur more than " + std::to_string(kMostLiveCount) +
                          " times, which a live table on a GPU cannot count; use --device cpu");
    }
    throw ResourceError(
        "the table, " + describe() +
        ", is full, and nothing of this batch has been added; raise -m and --device-memory, or use "
        "--device cpu");
  }

  /// Adds all k-mers to begin with, which fit.
  void load(const InitialKmers& initial) {
    std::mutex mutex;
    backend::for_each_initial_shard<Key>(initial, threads_, [&](const backend::InitialShard<Key>& shard) {
      if (shard.largest > kMostLiveCount) throw_refused({}, Refusal::too_many);
      const std::uint32_t owner = owner_of(shard.number, parts_.owners(), initial.params().shards());
      const std::lock_guard lock(mutex);
      const CurrentDevice current(parts_.gpu(owner));
      parts_[owner].load(shard);
    });
    parts_.on_all([](PagedKmers<Key>& part, std::uint32_t) { part.serve(); });
  }

  const KmerParams kmers_;
  const unsigned threads_;
  const bool is_automatic_;
  const PagedParts<Key> parts_;
  mutable PagedTurns<Key> turns_;
  PagedQuestions<Key> questions_;
  const PagedLookup<Key> lookup_, lenient_lookup_;
  backend::Gate gate_;
  backend::LiveReadTotals reads_;
};

}  // namespace

void check_paged_room(const LiveTablePlan& plan, std::size_t gpus, std::uint64_t kmers,
                      std::uint64_t other_bytes) {
  const std::uint64_t needed = other_bytes + with_key_type(plan.kmers.k, [&]<class Key>(Key) {
                                 return PagedKmers<Key>::host_bytes_for(kmers / gpus) * gpus;
                               });
  if (needed <= plan.memory_bytes) return;
  throw ResourceError("the child tables of a live table need " + megabytes_up(needed) +
                      " of host memory to begin with, and " + megabytes(plan.memory_bytes) +
                      " are for it; raise -m");
}

std::unique_ptr<backend::LiveTable> make_paged_live_table(const LiveTablePlan& plan,
                                                          const std::vector<int>& gpus, std::uint64_t bytes,
                                                          const InitialKmers* initial) {
  check_paged_room(plan, gpus.size(), initial == nullptr ? 0 : initial->totals().stored_distinct, 0);
  return with_key_type(plan.kmers.k, [&]<class Key>(Key) -> std::unique_ptr<backend::LiveTable> {
    try {
      return std::make_unique<PagedLiveTable<Key>>(plan, gpus, bytes, initial);
    } catch (const table::PagedTableFull& full) {
      throw ResourceError(std::string("a live table cannot begin with these k-mers: ") + full.what() +
                          "; raise --device-memory or -m, or use --device cpu");
    }
  });
}

std::uint64_t least_bytes_of_paged(std::uint32_t k) {
  return with_key_type(k, []<class Key>(Key) { return PagedKmers<Key>::least_device_bytes(); });
}

}  // namespace warpmer::gpu
