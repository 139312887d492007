#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/clock.h"
#include "kernels/count/bin_counting.cuh"
#include "kernels/count/pending.cuh"
#include "kernels/count/staged.cuh"
#include "kernels/exchange/exchange.cuh"
#include "kernels/exchange/slices.cuh"
#include "kernels/memory/span_clock.cuh"
#include "kernels/session/chunk_pipeline.cuh"
#include "kernels/session/device_counter.cuh"
#include "kernels/spill/spilled_groups.cuh"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

namespace {

static_assert(backend::kMostGpus < kMostSegments);  // one more comes back in the end

constexpr std::uint32_t kMostBinBits = kShardBits + std::bit_width(kMostBinsPerShard) - 1;

/// Device memory that goes with a bin, beside segments, runs and chunks.
constexpr std::uint64_t kBinBytes = 3 * sizeof(unsigned long long) + BinCounting<Key64, 2>::kBinBytes;
/// Bins may take one part in this many of all memory. (In segments they take less than an eighth then.)
constexpr std::uint64_t kBinShare = 48;
/// Twice that, unless there is very little, for bins that would be of more k-mers than this on average: one
/// table does not hold what is different among these, and to count them in parts takes much longer than to
/// move more offsets. (With 372 MB, counting took 0.48 s in 2^17 bins and 0.33 in 2^18.)
constexpr std::uint64_t kMoreBinsShare = 24, kMoreBinsBytes = std::uint64_t{192} << 20;
constexpr std::uint64_t kMostKmersPerBin = std::uint64_t{1} << 15;
/// For the chunks that are counted and frozen: a part of the memory for their k-mers, and one for bins.
constexpr std::uint64_t kChunksShare = 8, kChunkBinsShare = 32;
/// The same when words were spilled, so that more are: a block freezes a shard, or a piece of one, and few
/// at once leave the device idle. (With 0.5 GB freezing took 600 ms with chunks of an eighth, and 250 so.)
constexpr std::uint64_t kLargeChunksShare = 3;
/// More k-mers do not make them faster.
constexpr std::uint64_t kEnoughEntries = std::uint64_t{1} << 22;
/// For the table of a long bin: a part of the memory, so much at most.
constexpr std::uint64_t kLongBinShare = 64;
constexpr std::uint64_t kMostLongBinBytes = std::uint64_t{1} << 30;
/// The bytes of memory for neither bins nor words nor k-mers: large counts of three sets of counted bins,
/// and small arrays.
constexpr std::uint64_t kOtherBytes = std::uint64_t{16} << 20;
/// Words that come back (SpilledGroups) get one part in this many of the memory for segments and runs.
constexpr std::uint64_t kGroupShare = 4;
/// Segments that leave while others are made.
constexpr std::uint64_t kSegmentsAhead = 4;
/// Segments that there must be room for: one, with a run of two, or what brings one back.
constexpr std::uint64_t kLeastSegments = 6;

std::uint32_t bin_bits_for(const DeviceCountPlan& plan, std::uint32_t shard_bits) {
  std::uint32_t bits = shard_bits + 4;
  if (plan.expected_kmers > 0) {
    const double kmers_per_bin = plan.tuning.kmers_per_bin / (plan.kmers.k <= kMaxNarrowK ? 1 : 2);
    const double bins = static_cast<double>(plan.expected_kmers) / kmers_per_bin;
    bits = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(bins)));
  }
  bits = std::clamp(bits, shard_bits, kMostBinBits);
  const auto fit = [&] {
    const std::uint64_t bytes = kBinBytes << bits;
    const bool are_wanted =
        plan.memory_bytes >= kMoreBinsBytes && plan.expected_kmers >> (bits - 1) > kMostKmersPerBin;
    return bytes <= plan.memory_bytes / (are_wanted ? kMoreBinsShare : kBinShare);
  };
  while (bits > shard_bits && !fit()) --bits;
  return bits;
}

template <class Key, int Words>
class Counter : public DeviceCounter, public BinSink<Words> {
 public:
  /// For GPU `number` of those of an exchange; without one, all bins are its own.
  Counter(const DeviceCountPlan& plan, std::shared_ptr<Exchange<Words>> exchange, std::uint32_t number)
      : plan_(plan),
        exchange_(std::move(exchange)),
        number_(number),
        range_(range_for(plan, exchange_.get(), number)),
        cut_{plan.kmers.k, minimizer_length(plan.kmers.k), range_.bin_bits, plan.kmers.canonical},
        staged_(range_.bin_bits, staging_words(plan), stream_),
        pending_(range_.bin_bits, stream_),
        counting_(plan_, range_, std::min(plan.memory_bytes / kLongBinShare, kMostLongBinBytes), stream_),
        chunk_size_(chunk_size_for(plan, range_, kChunksShare)),
        chunks_(plan_, range_, counting_, stream_),
        spilled_(plan.spill, range_.first_bin, range_.bins_per_shard()) {
    const std::uint64_t input = staged_.staging().capacity() * StagedWords<Words>::kStagingBytes +
                                (exchange_ ? Exchange<Words>::kSegmentsHeld * staged_.segment_bytes() : 0) +
                                (kBinBytes << range_.bin_bits) + counting_.most_long_bin_bytes() +
                                kOtherBytes;
    const std::uint64_t fixed = input + Chunks::bytes_for(chunk_size_);
    const std::uint64_t least = fixed + kLeastSegments * staged_.segment_bytes();
    if (plan.memory_bytes < least) {
      throw ResourceError(
          plan.purpose + " on the GPU takes " + std::to_string((least >> 20) + 1) +
          " MiB of its memory at least, and " + std::to_string(plan.memory_bytes >> 20) +
          " MiB are free or allowed for it; raise --device-memory, choose another GPU, or use --device cpu");
    }
    budget_ = plan.memory_bytes - fixed;
    early_budget_ = plan.memory_bytes - input;
  }
  ~Counter() override {
    if (exchange_) exchange_->stop();
  }

  [[nodiscard]] cudaStream_t stream() const override { return stream_; }

  void add(const char* text, std::uint32_t bytes, const std::uint32_t* tiles, std::uint32_t tile_count,
           std::uint32_t* left, CutStatus* status) override {
    cut_clock_.time(stream_, [&] {
      launch_cut<Words>(text, bytes, cut_, staged_.staging(), tiles, tile_count, left, status, stream_);
    });
  }

  [[nodiscard]] bool wants_room(std::uint32_t fullest) const override {
    return fullest > staged_.staging().region_capacity / 4 * 3;
  }

  void make_room() override {
    // Many may find staging full at once: for all but the first it is not.
    if (staged_.is_half_full()) split();
  }

  void end_of_input() override {
    if (exchange_) {
      exchange_->end(number_, split_staged(), stream_);
    } else {
      split();
    }
  }

  void make_room_for(std::uint64_t bytes, std::uint32_t parts) override {
    const bool has_room =
        fits(bytes, parts, 0) || (spilled_.is_empty() && count_early(bytes) && fits(bytes, parts, 0));
    // Others leave while the next are made; so what is made now finds room.
    while (!has_room && pending_.segments() > 0 && !fits(bytes, parts, kSegmentsAhead * bytes))
      spill_oldest();
    // Segments on their way out take room, too; they may use that of the chunks, which are not there yet.
    spilled_.wait_until_leaving(early_budget_ - std::min(early_budget_, held_bytes() + bytes));
  }

  void take(Segment<Words>&& segment, bool comes_in_slices) override {
    words_ += segment.words.size();
    pending_.add(std::move(segment));
    comes_in_slices_ = comes_in_slices;
  }

  void finish(ChunkSink& chunks) override {
    const Event begin(Event::Kind::timing), end(Event::Kind::timing);
    begin.record(stream_);
    std::vector<unsigned long long> loads = counting_.measure_shards(waiting_kmers());
    std::uint64_t most_kmers = counted_words_ * SuperKmer<Words>::kMaxKmers;
    for (const unsigned long long load : loads) most_kmers += load;
    const auto wait_for_words = words_on_their_way();
    if (spilled_.is_empty()) {
      chunks_.begin(std::move(loads), most_kmers, chunk_size_, budget_ - std::min(budget_, held_bytes()),
                    false, chunks);
      chunks_.add(range_.first_shard(), range_.end_shard(),
                  {pending_.views(), pending_.segments(), waiting_kmers()}, wait_for_words);
    } else {
      finish_groups(std::move(loads), most_kmers, chunks);
    }
    chunks_.finish(end);
    if (exchange_) exchange_->wait_until_over();
    count_and_freeze_seconds_ = end.seconds_since(begin);
    for (SpanClock* clock : {&cut_clock_, &split_clock_}) clock->collect();
    counting_.collect_times();
  }

  void add_to(backend::Tally& tally) const override { chunks_.add_to(tally); }
  [[nodiscard]] std::uint64_t early_counts() const override { return early_counts_; }
  [[nodiscard]] SpillTotals spilled() const override { return spilled_.totals(); }
  [[nodiscard]] DeviceTimes times() const override {
    DeviceTimes times;
    times.cut = cut_clock_.seconds();
    times.split = split_clock_.seconds();
    times.count = counting_.seconds();
    times.freeze = chunks_.freeze_seconds();
    times.count_and_freeze = count_and_freeze_seconds_;
    times.words = words_;
    if (exchange_) {
      times.exchange = exchange_->seconds(number_);
      times.late_exchange = exchange_->late_seconds(number_);
      times.exchanged_bytes = exchange_->bytes(number_);
    }
    return times;
  }

 private:
  using Chunks = ChunkPipeline<Key, Words>;
  using Counting = BinCounting<Key, Words>;

  static constexpr std::uint64_t kLeastEntries = std::uint64_t{1} << 19;
  static constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 27;
  static constexpr std::uint64_t kLeastStaging = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kMostStaging = std::uint64_t{1} << 26;

  static BinRange range_for(const DeviceCountPlan& plan, const Exchange<Words>* exchange,
                            std::uint32_t number) {
    BinRange range{0, shard_bits(plan.kmers.k), 0, 0};
    range.bin_bits = bin_bits_for(plan, range.shard_bits);
    range.first_bin = exchange == nullptr ? 0 : exchange->first_bin(number);
    range.end_bin = exchange == nullptr ? 1u << range.bin_bits : exchange->first_bin(number + 1);
    return range;
  }

  static typename Chunks::ChunkSize chunk_size_for(const DeviceCountPlan& plan, const BinRange& range,
                                                   std::uint64_t share) {
    const std::uint64_t entries = std::clamp<std::uint64_t>(plan.memory_bytes / share / Chunks::kEntriesBytes,
                                                            kLeastEntries, kMostEntries);
    const std::uint64_t bins = plan.memory_bytes / kChunkBinsShare / (2 * CountedBins<Key>::kBinBytes);
    return {entries, static_cast<std::uint32_t>(
                         std::clamp<std::uint64_t>(bins, range.bins_per_shard(), range.bins()))};
  }

  static std::uint32_t staging_words(const DeviceCountPlan& plan) {
    // Segments that wait for those of others are held beside it.
    const std::uint64_t share = plan.memory_bytes / (plan.owners > 1 ? 32 : 16);
    const std::uint64_t words =
        std::clamp(share / StagedWords<Words>::kStagingBytes, kLeastStaging, kMostStaging / (Words / 2));
    // Small jobs need no large staging, and memory that is never touched costs time, too.
    if (plan.expected_kmers == 0) return static_cast<std::uint32_t>(words);
    return static_cast<std::uint32_t>(
        std::clamp(plan.expected_kmers / plan.owners / 4, kLeastStaging, words));
  }

  /// Staging becomes a segment: one's own, or one for all.
  void split() {
    if (exchange_) {
      exchange_->put(number_, split_staged(), stream_);
    } else {
      make_room_for(staged_.segment_bytes(), 1);
      take(split_staged(), false);
    }
  }
  Segment<Words> split_staged() {
    Segment<Words> segment;
    split_clock_.time(stream_, [&] { segment = staged_.split(); });
    return segment;
  }

  /// Returns a function that waits until the words of all shards before `end_shard` are there; null if they
  /// are.
  std::function<void(std::uint32_t end_shard)> words_on_their_way() {
    if (!comes_in_slices_) return nullptr;
    if (!spilled_.is_empty()) {
      // Words may leave again before their shards are counted.
      exchange_->wait_for_slices(kSlices);
      return nullptr;
    }
    return [this, wanted = slices_wanted(pending_.newest(), range_.bins_per_shard(), stream_)](
               std::uint32_t end_shard) {
      exchange_->wait_for_slices(wanted[end_shard - 1 - range_.first_shard()]);
    };
  }

  [[nodiscard]] std::uint64_t run_bytes() const { return run_ ? run_->bytes() : 0; }
  [[nodiscard]] std::uint64_t held_bytes() const { return pending_.segment_bytes() + run_bytes(); }
  /// True when there is room for so much beside the held memory, and for `more` bytes.
  [[nodiscard]] bool fits(std::uint64_t bytes, std::uint32_t parts, std::uint64_t more) const {
    // In the end, one more segment comes back.
    return pending_.segments() + parts < kMostSegments && held_bytes() + bytes + more <= budget_;
  }

  [[nodiscard]] WaitingKmers<Key> waiting_kmers() const {
    return {pending_.bin_kmers(), run_ ? &run_view_ : nullptr};
  }

  /// Counts everything pending into a run, if that leaves room for `next` bytes, and, where memory is what is
  /// lacking, takes half of it at most: a run that is hardly smaller would soon be counted again. False when
  /// it does not pay.
  bool count_early(std::uint64_t next) {
    if (!plan_.tuning.counts_early) return false;
    const std::vector<unsigned long long> loads = counting_.measure_shards(waiting_kmers());
    const std::uint64_t held = held_bytes();
    const bool lacks_parts_only = held + next <= budget_;
    const auto pays = [&](std::uint64_t entries) {
      const std::uint64_t bytes = CountedBins<Key>::run_bytes(entries, range_.bins());
      // A run never leaves, and what is spilled later has to come back beside it.
      if (bytes + std::max(next, group_bytes()) > budget_ || held + bytes > early_budget_) return false;
      return lacks_parts_only || (bytes <= held / 2 && bytes + next <= budget_ / 2);
    };
    if (!pays(expected_entries(loads))) return false;
    const CountTask<Key, Words> task =
        task_for(range_.first_shard(), range_.end_shard() - range_.first_shard());
    const std::uint64_t entries = counting_.measure(task);
    if (!pays(entries)) return false;
    CountedBins<Key> run = counting_.run_of(task, entries);
    counting_.learn(task, entries);
    counted_words_ += pending_.words();
    pending_.clear();
    run_ = std::move(run);
    run_view_ = run_->view(range_.first_bin);
    ++early_counts_;
    return true;
  }

  /// Estimates the number of distinct k-mers in all from those of some shards: one of a usual size, and the
  /// largest, if it is much larger.
  std::uint64_t expected_entries(const std::vector<unsigned long long>& loads) {
    const auto shards = static_cast<std::uint32_t>(loads.size());
    const std::uint32_t sampled = std::max(1u, shards / kSampledShare);
    const std::uint32_t first = shards / 2;
    const auto largest =
        static_cast<std::uint32_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    double all = 0, of_sample = 0, entries = 0;
    for (const unsigned long long load : loads) all += static_cast<double>(load);
    if (static_cast<double>(loads[largest]) > kMuchLarger * all / shards) {
      entries = static_cast<double>(counting_.measure(task_for(range_.first_shard() + largest, 1)));
      all -= static_cast<double>(loads[largest]);
    }
    for (std::uint32_t i = first; i < first + sampled; ++i)
      of_sample += i == largest ? 0 : static_cast<double>(loads[i]);
    if (of_sample > 0) {
      const auto of_all =
          static_cast<double>(counting_.measure(task_for(range_.first_shard() + first, sampled)));
      entries += of_all * std::max(1.0, all / of_sample);
    }
    return static_cast<std::uint64_t>(entries);
  }
  static constexpr std::uint32_t kSampledShare = 64;
  static constexpr double kMuchLarger = 8;

  /// Returns the task of counting the words that are on the device.
  [[nodiscard]] CountTask<Key, Words> task_for(std::uint32_t first_shard, std::uint32_t shards) const {
    return counting_.task(first_shard, shards, {pending_.views(), pending_.segments(), waiting_kmers()});
  }

  void spill_oldest() { spilled_.put(pending_.release_oldest(), stream_); }

  /// The k-mers that have been counted of a shard that comes back in pieces.
  struct PiecesRun {
    std::optional<CountedBins<Key>> bins;
    CountedView<Key> view{};
  };

  /// Brings back what was spilled, group after group, and counts it with what has stayed.
  void finish_groups(std::vector<unsigned long long> loads, std::uint64_t most_kmers, ChunkSink& chunks) {
    const std::uint64_t all = budget_ + Chunks::bytes_for(chunk_size_);
    const typename Chunks::ChunkSize usual = chunk_size_beside_groups(all);
    typename Chunks::ChunkSize size = enlarged(usual, all, loads);
    PiecesRun run;  // goes when nothing looks at groups any more
    const auto groups = plan_groups(loads, size, all - Chunks::bytes_for(size));
    if (groups->has_pieces()) size = usual;
    const std::uint64_t rest = all - Chunks::bytes_for(size);
    groups->start();
    chunks_.begin(std::move(loads), most_kmers, size, rest - std::min(rest, held_bytes() + group_bytes()),
                  true, chunks);
    for (std::size_t number = 0; number < groups->groups().size(); ++number)
      add_group(groups->groups()[number], groups->take(number), run);
    chunks_.settle();  // the last one's words go now
  }

  /// Returns the size of chunks beside groups, out of `all` memory that is not for input: they become larger
  /// if the memory that cannot be freed allows it.
  [[nodiscard]] typename Chunks::ChunkSize chunk_size_beside_groups(std::uint64_t all) const {
    const typename Chunks::ChunkSize size = chunk_size_for(plan_, range_, kLargeChunksShare);
    return Chunks::bytes_for(size) + group_bytes() + run_bytes() > all ? chunk_size_ : size;
  }
  /// Small ones become larger still, as long as no shard needs room for itself: what stays on the device
  /// leaves for that.
  [[nodiscard]] typename Chunks::ChunkSize enlarged(typename Chunks::ChunkSize size, std::uint64_t all,
                                                    const std::vector<unsigned long long>& loads) const {
    if (has_large_shard(loads, size.entries)) return size;
    const std::uint64_t used = Chunks::bytes_for({0, size.bins}) + group_bytes() + run_bytes();
    const std::uint64_t fitting = (all - std::min(all, used)) / Chunks::bytes_for({1, 0});
    size.entries = std::max(size.entries, std::min(kEnoughEntries, fitting));
    return size;
  }

  /// The groups that come back where `rest` is for them and what stays. What there is no room for leaves.
  std::unique_ptr<SpilledGroups<Words>> plan_groups(const std::vector<unsigned long long>& loads,
                                                    const typename Chunks::ChunkSize& size,
                                                    std::uint64_t rest) {
    const auto make_groups = [&](std::uint64_t most_held) {
      while (pending_.segments() > 0 && held_bytes() > most_held) spill_oldest();
      spilled_.wait_until_leaving(0);
      return std::make_unique<SpilledGroups<Words>>(spilled_, pending_, range_.first_shard(),
                                                    range_.end_shard(), range_.bins_per_shard(),
                                                    group_bytes(), stream_);
    };
    auto groups = make_groups(rest - std::min(rest, group_bytes()));
    // One shard may take whatever there is.
    const bool takes_all = groups->has_pieces() || has_large_shard(loads, size.entries);
    if (pending_.segments() == 0 || !takes_all) return groups;
    groups.reset();
    return make_groups(0);
  }

  /// Counts a group that has come back; a piece of a shard into the run of those before.
  void add_group(const ShardGroup& group, const typename SpilledGroups<Words>::GroupViews& views,
                 PiecesRun& run) {
    const std::uint32_t first_bin = group.first_shard * range_.bins_per_shard();
    WaitingKmers<Key> kmers = waiting_kmers();
    if (run.bins) kmers.run = &run.view;
    if (!group.is_last) {
      chunks_.settle();
      run.bins = count_piece(group, {views.own, 1, kmers});
      run.view = run.bins->view(first_bin);
      chunks_.hold_beside(run.bins->bytes());
      counting_.find_long_bins({kmers.bin_kmers, &run.view}, first_bin, first_bin + range_.bins_per_shard());
      return;
    }
    chunks_.add(group.first_shard, group.first_shard + group.shards, {views.all, views.all_size, kmers});
    if (!run.bins) return;
    chunks_.settle();
    run.bins.reset();
    chunks_.hold_beside(0);
    counting_.find_long_bins(waiting_kmers(), range_.first_bin, range_.end_bin);
  }

  /// True when a shard may be too large for a chunk.
  [[nodiscard]] static bool has_large_shard(const std::vector<unsigned long long>& loads,
                                            std::uint64_t entries) {
    return *std::max_element(loads.begin(), loads.end()) > entries;
  }

  /// Device memory for a group of shards that comes back: of one shard, a part of a segment at least.
  [[nodiscard]] std::uint64_t group_bytes() const {
    return std::max(budget_ / kGroupShare, 4 * staged_.segment_bytes());
  }

  /// A part of the words of a shard, with what was counted of it before.
  CountedBins<Key> count_piece(const ShardGroup& group, const WaitingWords<Key, Words>& words) {
    const CountTask<Key, Words> task = counting_.task(group.first_shard, 1, words);
    const std::uint64_t entries = counting_.measure(task);
    chunks_.check_room(entries, CountedBins<Key>::run_bytes(entries, task.bins));
    return counting_.run_of(task, entries);
  }

  const DeviceCountPlan plan_;
  const std::shared_ptr<Exchange<Words>> exchange_;
  const std::uint32_t number_;
  const BinRange range_;
  DeviceCutParams cut_;
  Stream stream_;
  StagedWords<Words> staged_;
  PendingWords<Words> pending_;
  Counting counting_;
  const typename Chunks::ChunkSize chunk_size_;
  Chunks chunks_;
  SpilledSegments<Words> spilled_;
  std::uint64_t budget_ = 0;        ///< for segments and runs
  std::uint64_t early_budget_ = 0;  ///< while input comes: there are no chunks yet
  std::optional<CountedBins<Key>> run_;
  CountedView<Key> run_view_{};
  bool comes_in_slices_ = false;  ///< the newest segment
  std::uint64_t words_ = 0, counted_words_ = 0;
  std::uint64_t early_counts_ = 0;
  SpanClock cut_clock_, split_clock_;
  double count_and_freeze_seconds_ = 0;
};

template <class Key, int Words>
std::vector<std::unique_ptr<DeviceCounter>> make_counters(const DeviceCountPlan& plan,
                                                          std::unique_ptr<Carrier> carrier) {
  const auto exchange =
      std::make_shared<Exchange<Words>>(std::move(carrier), bin_bits_for(plan, shard_bits(plan.kmers.k)));
  std::vector<std::unique_ptr<DeviceCounter>> counters;
  for (std::uint32_t i = 0; i < exchange->own(); ++i) {
    const std::uint32_t number = exchange->first_own() + i;
    const CurrentDevice current(exchange->gpu(number));
    auto counter = std::make_unique<Counter<Key, Words>>(plan, exchange, number);
    exchange->connect(number, *counter);
    counters.push_back(std::move(counter));
  }
  exchange->start();
  return counters;
}

}  // namespace

std::unique_ptr<DeviceCounter> make_device_counter(const DeviceCountPlan& plan) {
  return with_shard_types(plan.kmers.k, [&]<class Key, int Words>() -> std::unique_ptr<DeviceCounter> {
    return std::make_unique<Counter<Key, Words>>(plan, nullptr, 0);
  });
}

std::vector<std::unique_ptr<DeviceCounter>> make_device_counters(const DeviceCountPlan& plan,
                                                                 std::unique_ptr<Carrier> carrier) {
  return with_shard_types(plan.kmers.k, [&]<class Key, int Words>() {
    DeviceCountPlan shared = plan;
    shared.owners = carrier->size();
    return make_counters<Key, Words>(shared, std::move(carrier));
  });
}

}  // namespace warpmer::gpu
