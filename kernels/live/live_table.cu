// A live table in the memory of one GPU or several.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/live/gate.h"
#include "backend/live/initial_shards.h"
#include "backend/live/live_table.h"
#include "backend/live/outgrowing_table.h"
#include "backend/live/read_totals.h"
#include "backend/live/table_loss.h"
#include "base/error.h"
#include "kernels/live/gpu_snapshot.cuh"
#include "kernels/live/live_input.cuh"
#include "kernels/live/live_station.cuh"
#include "kernels/live/paged_live_table.cuh"
#include "kernels/memory/held_memory.cuh"
#include "kernels/memory/key_width.cuh"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"
#include "table/slot_blocks.h"

namespace warpmer::gpu {

namespace {

using backend::InitialKmers;
using backend::LiveScheme;
using backend::LiveTablePlan;
using backend::Profile;

/// Takes the shards of one GPU.
template <class Key>
class OwnedShards : public ShardTaker {
 public:
  /// Takes so many bytes of the GPU meanwhile.
  OwnedShards(const DividedKmers<Key>& divided, std::uint32_t owner, std::uint64_t bytes)
      : OwnedShards(divided, owner, bytes,
                    {first_shard_of(owner, divided.owners(), kLiveShards),
                     first_shard_of(owner + 1, divided.owners(), kLiveShards)}) {}

 private:
  static constexpr std::uint32_t kLiveShards = 1u << kShardBits;

  /// Its memory on the GPU.
  struct OnGpu {
    OnGpu(const KmerParams& kmers, std::uint64_t bytes) : freezer(kmers, bytes) {}
    ShardFreezer<Key> freezer;
    Stream stream;
  };

  OwnedShards(const DividedKmers<Key>& divided, std::uint32_t owner, std::uint64_t bytes,
              const index::ShardRange& shards)
      : ShardTaker(shards),
        entries_(divided.of_owner(owner)),
        shards_(shards),
        on_gpu_(divided.gpus()[owner], divided.kmers(), bytes) {}

  ShardsOnHost freeze(std::uint32_t first, backend::Tally& tally) override {
    const CurrentDevice current(on_gpu_.ordinal());
    if (first == shards_.first) {
      note_counts(entries_, on_gpu_->stream, tally);
      on_gpu_->freezer.begin(entries_, shards_, on_gpu_->stream);
    }
    return on_gpu_->freezer.freeze(entries_, first, on_gpu_->stream);
  }

  const LiveEntries<Key>& entries_;
  const index::ShardRange shards_;
  const OnOneDevice<OnGpu> on_gpu_;
};

template <class Key>
class GpuLiveLookup : public backend::Lookup {
 public:
  /// `questions`: all that is asked passes it. `loss`: of the table.
  GpuLiveLookup(const LiveStations<Key>& stations, backend::Gate& questions, backend::TableLoss& loss,
                bool lenient)
      : Lookup(stations.kmers()),
        stations_(stations),
        questions_(questions),
        loss_(loss),
        lenient_(lenient) {}

  void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
    const backend::Gate::Pass question(questions_);
    loss_.check();
    stations_.serve_kmers(LiveAction::ask, kmers_of<Key>(texts, kmers()),
                          [&](std::size_t i, std::uint32_t answer) { counts[i] = answer; });
  }

  void profile(const io::Batch& batch, Profile& out) const override {
    const backend::Gate::Pass question(questions_);
    loss_.check();
    lay_out(batch, out);
    stations_.next().profile(batch, lenient_, out);
  }

  void summarise(const io::Batch& batch, backend::BatchSummary& out) const override {
    {
      const backend::Gate::Pass question(questions_);
      loss_.check();
      if (stations_.next().summarise(batch, lenient_, out.pieces)) return;
    }
    Lookup::summarise(batch, out);
  }

  /// Makes a change of all k-mers of a batch, and returns the answers in the place of counts.
  void change(LiveAction action, const io::Batch& batch, Profile& answers) const {
    lay_out(batch, answers);
    stations_.next().change(action, batch, answers, loss_);
  }

 private:
  const LiveStations<Key>& stations_;
  backend::Gate& questions_;
  backend::TableLoss& loss_;
  const bool lenient_;
};

/// Calls `visit(text, answer)` for every k-mer of a batch.
template <class Visit>
void for_each_answer(const io::Batch& batch, const Profile& answers, std::uint32_t k, Visit&& visit) {
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    const std::string_view bases = batch.bases(batch.pieces[i]);
    const std::span<const std::uint32_t> here = answers.narrow(i);
    for (std::size_t at = 0; at < here.size(); ++at) {
      if (here[at] != kNoKmerAnswer) visit(bases.substr(at, k), here[at]);
    }
  }
}

template <class Key>
class CudaLiveTable : public backend::LiveTable {
 public:
  /// Takes so many bytes of each GPU. Begins with `initial`, or is empty when that is null.
  CudaLiveTable(const LiveTablePlan& plan, const std::vector<int>& gpus, std::uint64_t bytes,
                const InitialKmers* initial)
      : threads_(plan.threads),
        is_automatic_(plan.scheme == LiveScheme::automatic),
        scheme_(is_automatic_ ? LiveScheme::warpdrive : plan.scheme),
        freezing_bytes_(freezing_bytes(bytes)),
        stations_(gpus, scheme_, plan.kmers, bytes - freezing_bytes_, plan.threads),
        lookup_(stations_, questions_, loss_, false),
        lenient_lookup_(stations_, questions_, loss_, true),
        reads_(initial) {
    if (initial != nullptr) load(*initial);
  }

  /// Returns how many of the bytes of each of so many GPUs are not the table's, at least.
  static std::uint64_t other_bytes(std::size_t gpus, unsigned threads, std::uint64_t bytes) {
    return LiveStations<Key>::bytes_besides(static_cast<std::uint32_t>(gpus), threads) +
           freezing_bytes(bytes) + (std::uint64_t{64} << 20);
  }
  /// Returns how many of so many bytes are kept for shards that are frozen. The table is gone through once
  /// for each time that they are full.
  static std::uint64_t freezing_bytes(std::uint64_t bytes) { return std::max(kLeastFreezing, bytes / 32); }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    if (!lenient) io::check_bases(batch);
    Inserted inserted = insert(batch);
    // Once more, where others were removed; not of a batch that has no room then, either.
    if (inserted.refused > 0 && inserted.too_many == 0 && drop_removed()) inserted = insert(batch);
    if (inserted.refused + inserted.too_many > 0) throw_refused(inserted.too_many > 0);
    return inserted.done;
  }

  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    if (!lenient) io::check_bases(batch);
    const backend::Gate::Pass change(gate_);
    const backend::Gate::Stop no_additions(additions_);
    Profile answers;
    lookup_.change(LiveAction::remove, batch, answers);
    backend::Removal removal;
    bool is_short = false;
    for (const std::uint32_t answer : answers.counts) {
      removal.kmers += answer != kNoKmerAnswer ? 1 : 0;
      is_short = is_short || answer == kLiveRefused;
    }
    if (is_short) loss_.guard([&] { removal.shortfall = shortfall_of(batch, answers); });
    reads_.remove(batch, stations_.kmers().k, removal);
    return removal;
  }

  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_lookup_ : lookup_;
  }

  [[nodiscard]] backend::LiveTally tally() override {
    const backend::Gate::Stop view(gate_);
    loss_.check();
    const DividedKmers<Key>& divided = stations_.divided();
    backend::LiveTally tally{backend::Tally(), reads_.get()};
    for (std::uint32_t owner = 0; owner < divided.owners(); ++owner) {
      const CurrentDevice current(divided.gpus()[owner]);
      note_counts(divided.of_owner(owner), Stream(), tally);
    }
    return tally;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return reads_.get(); }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    return std::make_unique<GpuLiveSnapshot>(gate_, reads_, [&] {
      loss_.check();
      const DividedKmers<Key>& divided = stations_.divided();
      ShardTakers takers;
      for (std::uint32_t owner = 0; owner < divided.owners(); ++owner)
        takers.push_back(std::make_unique<OwnedShards<Key>>(divided, owner, freezing_bytes_));
      return takers;
    });
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override {
    const DividedKmers<Key>& divided = stations_.divided();
    std::uint64_t bytes = 0;
    for (std::uint32_t owner = 0; owner < divided.owners(); ++owner) bytes += divided.of_owner(owner).bytes();
    return bytes;
  }
  [[nodiscard]] std::string describe() const override {
    return in_memory(
        is_automatic_ ? "a WarpDrive table, which is asked faster than a slab hash and holds more," : name());
  }

 private:
  [[nodiscard]] std::string name() const {
    return scheme_ == LiveScheme::slab ? "a slab hash" : "a WarpDrive table";
  }
  /// Returns what the table is called, and where it is.
  [[nodiscard]] std::string in_memory(const std::string& what) const {
    const DividedKmers<Key>& divided = stations_.divided();
    std::string text = what + " in " + megabytes(divided.of_owner(0).bytes()) +
                       (divided.owners() == 1 ? " of " : " of each of ");
    for (const int gpu : divided.gpus()) text += "cuda:" + std::to_string(gpu) + ", ";
    return text.substr(0, text.size() - 2);
  }

  static constexpr std::uint64_t kLeastFreezing = std::uint64_t{1} << 30;

  /// The fate of a batch's k-mers; it has been taken back unless all were inserted.
  struct Inserted {
    std::uint64_t done = 0, refused = 0, too_many = 0;
  };
  Inserted insert(const io::Batch& batch) {
    const backend::Gate::Pass change(gate_);
    const backend::Gate::Pass addition(additions_);
    Profile answers;
    lookup_.change(LiveAction::insert, batch, answers);
    Inserted inserted;
    for (const std::uint32_t answer : answers.counts) {
      inserted.done += answer == kLiveDone ? 1 : 0;
      inserted.refused += answer == kLiveRefused ? 1 : 0;
      inserted.too_many += answer == kLiveTooMany ? 1 : 0;
    }
    if (inserted.refused + inserted.too_many > 0) {
      loss_.guard([&] { undo(batch, answers); });
    } else {
      reads_.add(batch, stations_.kmers().k);
    }
    return inserted;
  }

  /// Makes the room of removed k-mers free, on all GPUs, while nobody inserts or removes, or asks, if need
  /// be. Returns whether there was any.
  bool drop_removed() {
    const backend::Gate::Stop no_changes(gate_, true);
    const DividedKmers<Key>& divided = stations_.divided();
    std::optional<backend::Gate::Stop> no_questions;
    if (!divided.of_owner(0).drops_beside_questions()) no_questions.emplace(questions_);
    std::uint64_t dropped = 0;
    for (std::uint32_t owner = 0; owner < divided.owners(); ++owner) {
      const CurrentDevice current(divided.gpus()[owner]);
      dropped += divided.of_owner(owner).drop_removed(Stream());
    }
    return dropped > 0;
  }

  [[noreturn]] void throw_refused(bool too_many) const {
    if (too_many) {
      throw ResourceError("a k-mer occurs more than " + std::to_string(kMostLiveCount) +
                          " times, which a live table on a GPU cannot count; use --device cpu");
    }
    throw backend::LiveTableFull(
        "the table, " + in_memory(name()) +
        ", is full, and nothing of this batch has been added; give it more --device-memory, or use "
        "--table starfish or --device cpu");
  }

  /// Takes back what was done of an addition.
  void undo(const io::Batch& batch, const Profile& answers) const {
    const KmerParams& kmers = stations_.kmers();
    std::vector<Key> done;
    for_each_answer(batch, answers, kmers.k, [&](std::string_view text, std::uint32_t answer) {
      if (answer == kLiveDone) done.push_back(kmer_of<Key>(text, kmers));
    });
    stations_.serve_kmers(LiveAction::remove, done, [](std::size_t, std::uint32_t answer) {
      if (answer != kLiveDone) throw InternalError("a k-mer that was added could not be taken back");
    });
  }

  [[nodiscard]] backend::Shortfall shortfall_of(const io::Batch& batch, const Profile& answers) const {
    struct Times {
      std::uint64_t done = 0, missing = 0;
    };
    std::map<Key, Times> times;
    const KmerParams& kmers = stations_.kmers();
    for_each_answer(batch, answers, kmers.k, [&](std::string_view text, std::uint32_t answer) {
      if (answer == kLiveRefused) ++times[kmer_of<Key>(text, kmers)].missing;
    });
    for_each_answer(batch, answers, kmers.k, [&](std::string_view text, std::uint32_t answer) {
      if (answer != kLiveDone) return;
      const auto found = times.find(kmer_of<Key>(text, kmers));
      if (found != times.end()) ++found->second.done;
    });
    backend::Shortfall shortfall;
    for (const auto& [kmer, of_kmer] : times) shortfall.note(of_kmer.done, of_kmer.missing);
    return shortfall;
  }

  /// Inserts all k-mers to begin with.
  void load(const InitialKmers& initial) {
    backend::for_each_initial_shard<Key>(initial, threads_, [&](const backend::InitialShard<Key>& shard) {
      if (shard.largest > kMostLiveCount) throw_refused(true);
      const std::uint32_t owner =
          owner_of(shard.number, stations_.divided().owners(), initial.params().shards());
      stations_.owner(owner).serve_kmers(LiveAction::insert, shard.kmers, shard.counts.data(),
                                         [&](std::size_t, std::uint32_t answer) {
                                           if (answer != kLiveDone) throw_refused(answer == kLiveTooMany);
                                         });
    });
  }

  const unsigned threads_;
  const bool is_automatic_;
  const LiveScheme scheme_;
  const std::uint64_t freezing_bytes_;
  backend::Gate gate_;
  /// Additions pass it, and removals, any number of them, stop it: they would take k-mers for there that are
  /// taken back for want of room, and these could not be taken back any more.
  backend::Gate additions_;
  mutable backend::Gate questions_;
  backend::TableLoss loss_;
  const LiveStations<Key> stations_;
  const GpuLiveLookup<Key> lookup_, lenient_lookup_;
  backend::LiveReadTotals reads_;
};

/// Returns the least of so many bytes of each GPU that make sense.
std::uint64_t least_bytes_of_live(const LiveTablePlan& plan, std::size_t gpus, std::uint64_t bytes) {
  return with_key_type(plan.kmers.k, [&]<class Key>(Key) {
    return CudaLiveTable<Key>::other_bytes(gpus, plan.threads, bytes);
  });
}

/// Says whether a table, with the k-mers that it begins with, is more than so many bytes of each GPU hold. A
/// tenth of the room is for others.
bool is_too_large(const LiveTablePlan& plan, std::size_t gpus, std::uint64_t bytes) {
  const std::uint64_t least = least_bytes_of_live(plan, gpus, bytes);
  if (bytes < least || plan.base == nullptr) return bytes < least;
  return with_key_type(plan.kmers.k, [&]<class Key>(Key) {
    const std::uint64_t slots = plan.base->totals().stored_distinct / 9 * 10;
    const std::uint64_t needed = slots / table::CountBlock<Key>::kSlots * table::kSlotBlockBytes;
    return needed / gpus > bytes - least;
  });
}

std::unique_ptr<backend::LiveTable> make_table_in_memory(const LiveTablePlan& plan,
                                                         const std::vector<int>& gpus, std::uint64_t bytes,
                                                         const InitialKmers* initial) {
  return with_key_type(plan.kmers.k, [&]<class Key>(Key) -> std::unique_ptr<backend::LiveTable> {
    return std::make_unique<CudaLiveTable<Key>>(plan, gpus, bytes, initial);
  });
}

/// Makes a table in memory that gives its place to child tables when it is full.
std::unique_ptr<backend::LiveTable> make_table_that_outgrows(LiveTablePlan plan, const std::vector<int>& gpus,
                                                             std::uint64_t bytes,
                                                             const InitialKmers* initial) {
  auto table = make_table_in_memory(plan, gpus, bytes, initial);
  plan.base = nullptr;  // later it is of no use
  backend::LargerTable larger;
  larger.name = "child tables (Starfish)";
  larger.check_room = [plan, gpus](std::uint64_t kmers, std::uint64_t kept_bytes) {
    check_paged_room(plan, gpus.size(), kmers, kept_bytes);
  };
  larger.make = [plan, gpus, bytes](const InitialKmers& kept) {
    const CurrentDevice current(gpus.front());
    return make_paged_live_table(plan, gpus, bytes, &kept);
  };
  larger.remake = [plan, gpus, bytes](const InitialKmers& kept) {
    const CurrentDevice current(gpus.front());
    return make_table_in_memory(plan, gpus, bytes, &kept);
  };
  return backend::make_outgrowing_table(std::move(table), std::move(larger), plan.kmers, plan.threads);
}

}  // namespace

}  // namespace warpmer::gpu

namespace warpmer::backend {

std::unique_ptr<LiveTable> make_cuda_live_table(const LiveTablePlan& plan, const Devices& devices) {
  if (plan.kmers.k <= kMaxDenseK) {
    throw ResourceError("live tables on a GPU are for k of " + std::to_string(kMaxDenseK + 1) +
                        " and more; use --device cpu");
  }
  for (const int gpu : devices.gpus) gpu::check_key_width(plan.kmers.k, gpu);
  const gpu::CurrentDevice current(devices.gpus.front());
  const std::uint64_t usable = gpu::usable_bytes_of_each(devices.gpus);
  const std::uint64_t bytes = devices.memory_bytes == 0 ? usable : std::min(usable, devices.memory_bytes);
  const bool is_automatic = plan.scheme == LiveScheme::automatic;
  const bool is_paged = plan.scheme == LiveScheme::starfish ||
                        (is_automatic && gpu::is_too_large(plan, devices.gpus.size(), bytes));
  const std::uint64_t least = is_paged ? gpu::least_bytes_of_paged(plan.kmers.k)
                                       : gpu::least_bytes_of_live(plan, devices.gpus.size(), bytes);
  if (bytes < least) {
    throw ResourceError("a live table needs " + gpu::megabytes_up(least) +
                        (devices.gpus.size() == 1 ? " of the GPU's memory" : " of each GPU's memory") +
                        ", and " + gpu::megabytes(bytes) +
                        " can be had; raise --device-memory, or use --device cpu");
  }
  std::optional<IndexedKmers> base;
  if (plan.base != nullptr) base.emplace(*plan.base);
  const InitialKmers* const initial = base ? &*base : nullptr;
  if (is_paged) return gpu::make_paged_live_table(plan, devices.gpus, bytes, initial);
  if (!is_automatic) return gpu::make_table_in_memory(plan, devices.gpus, bytes, initial);
  try {
    return gpu::make_table_that_outgrows(plan, devices.gpus, bytes, initial);
  } catch (const LiveTableFull&) {  // by the k-mers to begin with
    return gpu::make_paged_live_table(plan, devices.gpus, bytes, initial);
  }
}

}  // namespace warpmer::backend
