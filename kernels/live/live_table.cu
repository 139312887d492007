// A live table in the memory of one GPU.

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/live/live_table.h"
#include "backend/live/read_totals.h"
#include "backend/live/update_gate.h"
#include "backend/lookup/kmer_text.h"
#include "base/buffer_pool.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "groups/group_key.h"
#include "kernels/live/live_slabs.cuh"
#include "kernels/lookup/lookup_lane.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/key_width.cuh"
#include "kmer/alphabet.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

namespace {

using backend::LiveTablePlan;
using backend::Profile;

void use_gpu(int gpu) { check(cudaSetDevice(gpu), "choosing a GPU"); }

/// An action on texts, as a LookupLane sees it.
template <class Key>
class SlabTexts : public DeviceIndex {
 public:
  SlabTexts(const LiveSlabs<Key>& slabs, SlabAction action) : slabs_(slabs), action_(action) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    slabs_.serve_text(action_, text, bytes, starts, answers, status, stream);
  }

 private:
  const LiveSlabs<Key>& slabs_;
  const SlabAction action_;
};

/// The way of k-mers that are not in texts to the table, and of the answers back.
template <class Key>
class KeyLane {
 public:
  static constexpr std::uint32_t kCapacity = 1u << 18;
  static constexpr std::uint64_t kDeviceBytes = kCapacity * (sizeof(Key) + 2 * sizeof(std::uint32_t));

  /// Returns the answers, until it is called again.
  std::span<const std::uint32_t> serve(const LiveSlabs<Key>& slabs, SlabAction action,
                                       std::span<const Key> keys, const std::uint32_t* counts) {
    const auto size = static_cast<std::uint32_t>(keys.size());
    std::copy(keys.begin(), keys.end(), host_keys_.data());
    copy_to_device(keys_.data(), host_keys_.data(), size, stream_);
    if (counts != nullptr) {
      std::copy_n(counts, size, host_counts_.data());
      copy_to_device(counts_.data(), host_counts_.data(), size, stream_);
    }
    slabs.serve_keys(action, keys_.data(), counts == nullptr ? nullptr : counts_.data(), size,
                     answers_.data(), stream_);
    copy_to_host(host_counts_.data(), answers_.data(), size, stream_);
    stream_.wait();
    return {host_counts_.data(), size};
  }

 private:
  PinnedArray<Key> host_keys_{kCapacity};
  PinnedArray<std::uint32_t> host_counts_{kCapacity};
  DeviceArray<Key> keys_{kCapacity};
  DeviceArray<std::uint32_t> counts_{kCapacity}, answers_{kCapacity};
  Stream stream_;
};

/// The table with the ways to it.
template <class Key>
class SlabStation {
 public:
  SlabStation(int gpu, KmerParams kmers, std::uint64_t bytes, unsigned threads)
      : gpu_(gpu), kmers_(kmers), hash_(kmers.k), slabs_(bytes, kmers), threads_(threads) {}
  SlabStation(const SlabStation&) = delete;
  SlabStation& operator=(const SlabStation&) = delete;
  /// Memory is given back to the device that is current.
  ~SlabStation() { cudaSetDevice(gpu_); }

  /// Returns the bytes that the ways may hold on the device.
  static std::uint64_t lanes_bytes(unsigned threads) {
    return threads * (kTextLanes * LaneShape{}.device_bytes() + KeyLane<Key>::kDeviceBytes);
  }

  [[nodiscard]] int gpu() const { return gpu_; }
  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  [[nodiscard]] const LiveSlabs<Key>& slabs() const { return slabs_; }

  /// Lanes for questions; bad characters are errors unless lenient.
  BufferPool<LookupLane>& questions(bool lenient) const { return lenient ? lenient_asks_ : asks_; }
  /// Lanes for changes of texts that have been checked.
  BufferPool<LookupLane>& changes(SlabAction action) const {
    return action == SlabAction::insert ? inserts_ : removes_;
  }

  /// Serves any number of k-mers: `note(i, answer)` for each.
  template <class Note>
  void serve_keys(SlabAction action, std::span<const Key> keys, const std::uint32_t* counts,
                  Note&& note) const {
    use_gpu(gpu_);
    const auto lane = keys_.take();
    for (std::size_t at = 0; at < keys.size(); at += KeyLane<Key>::kCapacity) {
      const auto some = keys.subspan(at, std::min<std::size_t>(KeyLane<Key>::kCapacity, keys.size() - at));
      const auto answers = lane->serve(slabs_, action, some, counts == nullptr ? nullptr : counts + at);
      for (std::size_t i = 0; i < answers.size(); ++i) note(at + i, answers[i]);
    }
  }

  /// Returns the hash of a k-mer given as text, which is one.
  [[nodiscard]] Key hash_of(std::string_view text) const {
    Key kmer = 0;
    kmer_from_text(text, kmer);
    return hash_(kmers_.canonical ? canonical(kmer, kmers_.k) : kmer);
  }
  [[nodiscard]] Key hash_of(Key kmer) const { return hash_(kmer); }

 private:
  static constexpr std::uint64_t kTextLanes = 4;

  std::unique_ptr<LookupLane> make_lane(const SlabTexts<Key>& texts, bool lenient) const {
    return std::make_unique<LookupLane>(texts, LaneShape{}, kmers_.k, lenient);
  }

  const int gpu_;
  const KmerParams kmers_;
  const KmerHash<Key> hash_;
  const LiveSlabs<Key> slabs_;
  const unsigned threads_;
  const SlabTexts<Key> asked_{slabs_, SlabAction::ask}, inserted_{slabs_, SlabAction::insert},
      removed_{slabs_, SlabAction::remove};
  mutable BufferPool<LookupLane> asks_{[this] { return make_lane(asked_, false); }, threads_},
      lenient_asks_{[this] { return make_lane(asked_, true); }, threads_},
      inserts_{[this] { return make_lane(inserted_, true); }, threads_},
      removes_{[this] { return make_lane(removed_, true); }, threads_};
  mutable BufferPool<KeyLane<Key>> keys_{[] { return std::make_unique<KeyLane<Key>>(); }, threads_};
};

template <class Key>
class SlabLookup : public backend::Lookup {
 public:
  SlabLookup(const SlabStation<Key>& station, bool lenient)
      : Lookup(station.kmers()), station_(station), lenient_(lenient) {}

  void find_all(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
    std::vector<Key> keys;
    keys.reserve(texts.size());
    for (const std::string_view text : texts) {
      backend::require_kmer(text, kmers().k);
      keys.push_back(station_.hash_of(text));
    }
    station_.serve_keys(SlabAction::ask, keys, nullptr,
                        [&](std::size_t i, std::uint32_t answer) { counts[i] = answer; });
  }

  void profile(const io::Batch& batch, Profile& out) const override {
    lay_out(batch, out);
    use_gpu(station_.gpu());
    station_.questions(lenient_).take()->profile(batch, out);
  }

  void summarise(const io::Batch& batch, backend::BatchSummary& out) const override {
    use_gpu(station_.gpu());
    const bool done = station_.questions(lenient_).take()->summarise(batch, out.pieces);
    if (!done) Lookup::summarise(batch, out);
  }

  /// Makes a change of all k-mers of a batch, and returns the answers in the place of counts.
  void change(SlabAction action, const io::Batch& batch, Profile& answers) const {
    lay_out(batch, answers);
    use_gpu(station_.gpu());
    station_.changes(action).take()->profile(batch, answers);
  }

 private:
  const SlabStation<Key>& station_;
  const bool lenient_;
};

/// Throws the InputError for the first character of a batch that is no nucleotide code.
void check_bases(const io::Batch& batch) {
  for (const io::Piece& piece : batch.pieces) {
    const std::string_view bases = batch.bases(piece);
    const auto bad =
        std::find_if(bases.begin(), bases.end(), [](char c) { return char_class(c) == CharClass::invalid; });
    if (bad != bases.end()) io::throw_bad_base(batch, piece, static_cast<std::size_t>(bad - bases.begin()));
  }
}

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

/// The k-mers of some shards, in host memory.
template <class Key>
struct ListedShards {
  std::uint32_t first = 0, end = 0, next = 0;
  std::vector<std::size_t> begins;  ///< of each shard, and the end of the last
  std::unique_ptr<PlacedKmer<Key>[]> kmers;

  [[nodiscard]] std::span<PlacedKmer<Key>> shard(std::uint32_t number) {
    return {kmers.get() + begins[number - first], kmers.get() + begins[number - first + 1]};
  }
};

/// Takes the table out of the device, a range of shards after another.
template <class Key>
class ShardLister {
 public:
  using Listed = ListedShards<Key>;

  explicit ShardLister(const SlabStation<Key>& station) : station_(station), sizes_(kShards + 1) {
    use_gpu(station.gpu());
    const Stream stream;
    const DeviceArray<unsigned long long> sizes(kShards);
    fill_bytes(sizes.data(), 0, kShards, stream);
    station.slabs().count_shards(sizes.data(), stream);
    copy_to_host(sizes_.data(), sizes.data(), kShards, stream);
    stream.wait();
  }

  /// Returns a shard that is not taken yet, with the list that it is in; null when there is none.
  std::shared_ptr<Listed> take(std::uint32_t& shard) {
    const std::lock_guard lock(mutex_);
    if (listed_ == nullptr || listed_->next == listed_->end) {
      if (first_ == kShards) return nullptr;
      listed_ = list();
    }
    shard = listed_->next++;
    return listed_;
  }

 private:
  static constexpr std::uint32_t kShards = 1u << kShardBits;
  static constexpr std::size_t kAtOnce = std::size_t{1} << 24;

  std::shared_ptr<Listed> list() {
    auto listed = std::make_shared<Listed>();
    listed->first = listed->next = first_;
    listed->begins = {0};
    while (first_ < kShards && (first_ == listed->first || listed->begins.back() + sizes_[first_] <= kAtOnce))
      listed->begins.push_back(listed->begins.back() + sizes_[first_++]);
    listed->end = first_;
    const std::size_t size = listed->begins.back();
    listed->kmers = std::make_unique_for_overwrite<PlacedKmer<Key>[]>(size);
    if (size > 0) download(*listed, size);
    return listed;
  }

  void download(Listed& listed, std::size_t size) const {
    use_gpu(station_.gpu());
    const Stream stream;
    const DeviceArray<PlacedKmer<Key>> kmers(size);
    const DeviceArray<unsigned long long> places(kShards);
    std::vector<unsigned long long> begins(kShards);
    std::copy(listed.begins.begin(), listed.begins.end() - 1, begins.begin() + listed.first);
    copy_to_device(places.data(), begins.data(), kShards, stream);
    station_.slabs().list_shards(listed.first, listed.end, places.data(), kmers.data(), stream);
    copy_to_host(listed.kmers.get(), kmers.data(), size, stream);
    stream.wait();
  }

  const SlabStation<Key>& station_;
  std::vector<unsigned long long> sizes_;
  std::mutex mutex_;  ///< guards what follows
  std::uint32_t first_ = 0;
  std::shared_ptr<Listed> listed_;
};

template <class Key>
class SlabSnapshot : public backend::LiveSnapshot {
 public:
  SlabSnapshot(const SlabStation<Key>& station, backend::UpdateGate& gate,
               const backend::LiveReadTotals& reads, unsigned threads)
      : view_(gate, true), lister_(station), reads_(reads.get()) {
    for (unsigned t = 0; t < threads; ++t) workers_.emplace_back(station.kmers().k);
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    SnapshotWorker& worker = workers_[thread];
    std::uint32_t shard = 0;
    while (const auto listed = lister_.take(shard)) {
      const std::span<PlacedKmer<Key>> kmers = listed->shard(shard);
      std::sort(kmers.begin(), kmers.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
      worker.keys.clear();
      worker.counts.clear();
      for (const PlacedKmer<Key>& kmer : kmers) {
        worker.keys.push_back(kmer.key);
        worker.counts.push_back(kmer.count);
      }
      worker.tally.note(worker.counts.data(), worker.counts.size());
      groups::EncodedShard encoded = worker.encoder.encode(worker.keys, worker.counts);
      sink(shard, {{}, std::move(encoded.payload), {}, std::nullopt, encoded.sizes});
      shard_done();
    }
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all;
    for (const SnapshotWorker& worker : workers_) all.merge(worker.tally);
    return all;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return reads_; }

 private:
  struct SnapshotWorker {
    explicit SnapshotWorker(std::uint32_t k) : encoder(k) {}
    groups::KeyEncoder<Key, Key> encoder;
    std::vector<Key> keys;
    std::vector<std::uint64_t> counts;
    backend::Tally tally;
  };

  const backend::UpdateGate::WholeView view_;
  ShardLister<Key> lister_;
  const backend::LiveTotals reads_;
  std::deque<SnapshotWorker> workers_;
};

template <class Key>
class CudaLiveTable : public backend::LiveTable {
 public:
  CudaLiveTable(const LiveTablePlan& plan, int gpu, std::uint64_t bytes)
      : threads_(plan.threads),
        station_(gpu, plan.kmers, bytes - SlabStation<Key>::lanes_bytes(plan.threads) - kListedBytes,
                 plan.threads),
        lookup_(station_, false),
        lenient_lookup_(station_, true),
        reads_(plan.base) {
    if (plan.base != nullptr) load(*plan.base);
  }

  /// Returns the least bytes of a device that make sense.
  static std::uint64_t least_bytes(unsigned threads) {
    return SlabStation<Key>::lanes_bytes(threads) + kListedBytes + (std::uint64_t{64} << 20);
  }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    if (!lenient) check_bases(batch);
    const backend::UpdateGate::Change change(gate_);
    Profile answers;
    lookup_.change(SlabAction::insert, batch, answers);
    std::uint64_t done = 0, refused = 0, too_many = 0;
    for (const std::uint32_t answer : answers.counts) {
      done += answer == kSlabDone ? 1 : 0;
      refused += answer == kSlabRefused ? 1 : 0;
      too_many += answer == kSlabTooMany ? 1 : 0;
    }
    if (refused + too_many > 0) {
      undo(SlabAction::remove, batch, answers);
      throw_refused(too_many > 0);
    }
    reads_.add(batch, station_.kmers().k);
    return done;
  }

  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    if (!lenient) check_bases(batch);
    const backend::UpdateGate::Change change(gate_);
    Profile answers;
    lookup_.change(SlabAction::remove, batch, answers);
    backend::Removal removal;
    bool is_short = false;
    for (const std::uint32_t answer : answers.counts) {
      removal.kmers += answer != kNoKmerAnswer ? 1 : 0;
      is_short = is_short || answer == kSlabRefused;
    }
    if (is_short) removal.shortfall = shortfall_of(batch, answers);
    reads_.remove(batch, station_.kmers().k);
    return removal;
  }

  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_lookup_ : lookup_;
  }

  [[nodiscard]] backend::Tally tally() override {
    const backend::UpdateGate::WholeView view(gate_);
    ShardLister<Key> lister(station_);
    backend::Tally tally;
    std::vector<std::uint64_t> counts;
    std::uint32_t shard = 0;
    while (const auto listed = lister.take(shard)) {
      counts.clear();
      for (const PlacedKmer<Key>& kmer : listed->shard(shard)) counts.push_back(kmer.count);
      tally.note(counts.data(), counts.size());
    }
    return tally;
  }
  [[nodiscard]] backend::LiveTotals totals() const override { return reads_.get(); }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    return std::make_unique<SlabSnapshot<Key>>(station_, gate_, reads_, threads_);
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override { return station_.slabs().bytes(); }
  [[nodiscard]] std::string describe() const override {
    return "a slab hash in " + megabytes(station_.slabs().bytes()) +
           " of cuda:" + std::to_string(station_.gpu());
  }

 private:
  /// Memory in which shards are listed to be taken out.
  static constexpr std::uint64_t kListedBytes = std::uint64_t{1} << 30;

  [[noreturn]] void throw_refused(bool too_many) const {
    if (too_many) {
      throw ResourceError("a k-mer occurs more than " + std::to_string(kMostLiveCount) +
                          " times, which a live table on a GPU cannot count; use --device cpu");
    }
    throw ResourceError(
        "the " + describe() +
        " is full, and nothing of this batch has been added; give it more --device-memory, or use "
        "--device cpu");
  }

  /// Takes back what was done of a change.
  void undo(SlabAction by, const io::Batch& batch, const Profile& answers) const {
    std::vector<Key> done;
    for_each_answer(batch, answers, station_.kmers().k, [&](std::string_view text, std::uint32_t answer) {
      if (answer == kSlabDone) done.push_back(station_.hash_of(text));
    });
    station_.serve_keys(by, done, nullptr, [](std::size_t, std::uint32_t) {});
  }

  [[nodiscard]] backend::Shortfall shortfall_of(const io::Batch& batch, const Profile& answers) const {
    struct Times {
      std::uint64_t done = 0, missing = 0;
    };
    std::map<Key, Times> times;
    const std::uint32_t k = station_.kmers().k;
    for_each_answer(batch, answers, k, [&](std::string_view text, std::uint32_t answer) {
      if (answer == kSlabRefused) ++times[station_.hash_of(text)].missing;
    });
    for_each_answer(batch, answers, k, [&](std::string_view text, std::uint32_t answer) {
      if (answer != kSlabDone) return;
      if (const auto found = times.find(station_.hash_of(text)); found != times.end()) ++found->second.done;
    });
    backend::Shortfall shortfall;
    for (const auto& [key, of_kmer] : times) shortfall.note(of_kmer.done, of_kmer.missing);
    return shortfall;
  }

  /// Inserts all k-mers of an index.
  void load(const index::IndexFile& index) {
    std::atomic<std::uint32_t> next{0};
    std::atomic<bool> has_failed{false};
    run_team(
        threads_,
        [&](unsigned) {
          const groups::GroupKeys<Key, Key> keys(index.params().k);
          groups::GroupKmers<Key> group(keys.shape().flank_bases());
          std::vector<Key> hashes;
          std::vector<std::uint32_t> counts;
          for (std::uint32_t shard; !has_failed && (shard = next++) < index.params().shards();) {
            hashes.clear();
            counts.clear();
            groups::for_each_key(index.strings(shard), keys, group, [&](Key key, std::uint64_t count) {
              const Key kmer = keys.template kmer<Key>({shard, key});
              hashes.push_back(
                  station_.hash_of(index.params().canonical ? canonical(kmer, keys.shape().k) : kmer));
              if (count > kMostLiveCount) throw_refused(true);
              counts.push_back(static_cast<std::uint32_t>(count));
            });
            index.release(shard);
            station_.serve_keys(SlabAction::insert, hashes, counts.data(),
                                [&](std::size_t, std::uint32_t answer) {
                                  if (answer != kSlabDone) throw_refused(answer == kSlabTooMany);
                                });
          }
        },
        [&] { has_failed = true; });
  }

  const unsigned threads_;
  backend::UpdateGate gate_;
  SlabStation<Key> station_;
  const SlabLookup<Key> lookup_, lenient_lookup_;
  backend::LiveReadTotals reads_;
};

}  // namespace

}  // namespace warpmer::gpu

namespace warpmer::backend {

std::unique_ptr<LiveTable> make_cuda_live_table(const LiveTablePlan& plan, const Devices& devices) {
  if (plan.kmers.k <= kMaxDenseK) {
    throw ResourceError("live tables on a GPU are for k of " + std::to_string(kMaxDenseK + 1) +
                        " and more; use --device cpu");
  }
  if (plan.scheme == LiveScheme::warpdrive)
    throw UsageError("a live table on a GPU is a slab hash; leave --table out, or use --device cpu");
  const int gpu = devices.gpus.front();
  gpu::check_key_width(plan.kmers.k, gpu);
  const gpu::CurrentDevice current(gpu);
  const std::uint64_t usable = gpu::usable_bytes();
  const std::uint64_t bytes = devices.memory_bytes == 0 ? usable : std::min(usable, devices.memory_bytes);
  return with_key_type(plan.kmers.k, [&]<class Key>(Key) -> std::unique_ptr<LiveTable> {
    const std::uint64_t least = gpu::CudaLiveTable<Key>::least_bytes(plan.threads);
    if (bytes < least) {
      throw ResourceError("a live table on a GPU needs " + gpu::megabytes_up(least) + " of its memory, and " +
                          gpu::megabytes(bytes) + " can be had; raise --device-memory, or use --device cpu");
    }
    return std::make_unique<gpu::CudaLiveTable<Key>>(plan, gpu, bytes);
  });
}

}  // namespace warpmer::backend
