#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>

#include "core/minimizer.h"
#include "count_long.cuh"
#include "device_counter.cuh"
#include "exchange.cuh"
#include "pending.cuh"
#include "span_clock.cuh"
#include "staged.cuh"

namespace warpmer::gpu {

namespace {

/// Adds up the lengths of the lists of shards, beginning with list `first`.
template <class Key>
__global__ void shard_loads_kernel(const unsigned long long* list_kmers, CountedView<Key> run, bool has_run,
                                   std::uint32_t first, std::uint32_t lists_per_shard, std::uint32_t shards,
                                   unsigned long long* loads) {
  const std::uint32_t shard = blockIdx.x * blockDim.x + threadIdx.x;
  if (shard >= shards) return;
  unsigned long long sum = 0;
  const std::uint32_t begin = first + shard * lists_per_shard;
  for (std::uint32_t list = begin; list < begin + lists_per_shard; ++list)
    sum += list_length(list_kmers, run, has_run, list);
  loads[shard] = sum;
}

/// Finds the lists from `first` to the one before `end` that are longer than `longest`.
template <class Key>
__global__ void long_lists_kernel(const unsigned long long* list_kmers, CountedView<Key> run, bool has_run,
                                  std::uint32_t first, std::uint32_t end, std::uint64_t longest,
                                  std::uint32_t* found, std::uint32_t* found_size) {
  const std::uint32_t list = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (list < end && list_length(list_kmers, run, has_run, list) > longest)
    found[atomicAdd(found_size, 1u)] = list;
}

/// Larger tables leave too few blocks on a multiprocessor.
constexpr std::uint32_t kLeastSlotBits = 11;
constexpr std::uint32_t kMostSlotBits = 13;

constexpr std::uint32_t kMostListBits = kShardBits + std::bit_width(kMostListsPerShard) - 1;

/// Device memory that goes with a list.
constexpr std::uint64_t kListBytes = 28 + 2 * (kLeastRanges + 4) * sizeof(std::uint32_t);

/// For the table of a long list: a part of the memory, so much at most.
constexpr std::uint64_t kLongListShare = 64;
constexpr std::uint64_t kMostLongListBytes = std::uint64_t{1} << 30;

std::uint32_t list_bits_for(const DeviceCountPlan& plan, std::uint32_t shard_bits) {
  std::uint32_t bits = shard_bits + 4;
  if (plan.expected_kmers > 0) {
    const double lists = static_cast<double>(plan.expected_kmers) / plan.tuning.kmers_per_list;
    bits = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(lists)));
  }
  bits = std::clamp(bits, shard_bits, kMostListBits);
  while (bits > shard_bits && (kListBytes << bits) > plan.memory_bytes / 16) --bits;
  return bits;
}

template <class Key, int Words>
class Counter : public DeviceCounter, public ListOwner<Words> {
 public:
  /// For GPU `number` of those of an exchange; without one, all lists are its own.
  Counter(const DeviceCountPlan& plan, std::shared_ptr<Exchange<Words>> exchange, std::uint32_t number)
      : plan_(plan),
        exchange_(std::move(exchange)),
        number_(number),
        shard_bits_(shard_bits(plan.k)),
        shards_(1u << shard_bits_),
        list_bits_(list_bits_for(plan, shard_bits_)),
        lists_(1u << list_bits_),
        first_list_(exchange_ ? exchange_->first_list(number) : 0),
        end_list_(exchange_ ? exchange_->first_list(number + 1) : lists_),
        cut_{plan.k, minimizer_length(plan.k), list_bits_},
        staged_(list_bits_, staging_words(plan), stream_),
        pending_(list_bits_, stream_),
        buffers_{Buffers(shards_), Buffers(shards_)},
        long_list_counter_(std::min(plan.memory_bytes / kLongListShare, kMostLongListBytes)),
        loads_(shards_),
        long_lists_(lists_),
        long_lists_size_(1),
        fault_(1),
        next_list_(1),
        freeze_scratch_(freeze_scratch(shards_)),
        bins_(CountHistogram::kBins),
        large_size_(1) {
    chunk_entries_ = std::clamp<std::uint64_t>(plan.memory_bytes / 8 / (2 * kChunkEntryBytes), kLeastEntries,
                                               kMostEntries);
    const std::uint64_t fixed = staged_.staging().capacity() * StagedWords<Words>::kStagingBytes +
                                (exchange_ ? Exchange<Words>::kSegmentsHeld * staged_.segment_bytes() : 0) +
                                2 * chunk_entries_ * kChunkEntryBytes + lists_ * kListBytes +
                                long_list_counter_.most_bytes();
    if (plan.memory_bytes < 2 * fixed) {
      throw ResourceError(
          "counting on the GPU takes " + std::to_string((2 * fixed >> 20) + 1) +
          " MB of its memory at least, and " + std::to_string(plan.memory_bytes >> 20) +
          " MB are free or allowed; raise --device-memory, choose another GPU, or use --device cpu");
    }
    budget_ = plan.memory_bytes - fixed;
    held_ = fixed - 2 * chunk_entries_ * kChunkEntryBytes;
    fill_bytes(fault_.data(), 0, 1, stream_);
    fill_bytes(bins_.data(), 0, bins_.size(), stream_);
    fill_bytes(large_size_.data(), 0, 1, stream_);
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
    split();
    if (exchange_) exchange_->end(number_);
  }

  void make_room_for(std::uint64_t bytes, std::uint32_t parts) override {
    // It must fit beside the segments there are and, at the end, the largest chunk.
    if (pending_.segments() + parts > kMostSegments ||
        pending_.segment_bytes() + run_bytes() + bytes > budget_)
      count_early(bytes);
  }

  void take(Segment<Words>&& segment) override {
    pending_.add(std::move(segment));
    words_ = std::max(words_, counted_words_ + pending_.words());
  }

  void finish(const std::function<void(FrozenChunk&&)>& take,
              const std::function<void(std::uint32_t first_shard)>& reclaim) override {
    const Event finish_begin(Event::Kind::timing), finish_end(Event::Kind::timing);
    finish_begin.record(stream_);
    const std::vector<unsigned long long> loads = shard_loads();
    const std::uint64_t all = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
    usual_bound_ = std::max<std::uint64_t>(1, std::min(all, chunk_entries_));
    // Of k-mers that occur so often there are no more than this.
    large_ = DeviceArray<std::uint64_t>(all_kmers_bound(all) / CountHistogram::kBins + 1);
    std::optional<Chunk> before;
    std::uint32_t number = 0;
    const std::uint32_t end = end_list_ / lists_per_shard();
    for (std::uint32_t first = first_list_ / lists_per_shard(); first < end; ++number) {
      // Few shards first: they show how large tables have to be.
      const std::uint32_t most = number == 0 ? std::max(1u, shards_ / plan_.owners / 64) : end - first;
      Chunk chunk = plan_chunk(first, std::min(most, end - first), loads);
      Buffers& buffers = buffers_[number % 2];
      count_chunk(chunk, buffers);
      if (before) freeze_chunk(*before, buffers_[(number + 1) % 2], take, reclaim);
      first += chunk.shards;
      if (number == 0) {
        // Nothing to overlap with, and what it shows is wanted now.
        freeze_chunk(chunk, buffers, take, reclaim);
        before.reset();
      } else {
        before = chunk;
      }
    }
    if (before) freeze_chunk(*before, buffers_[(number + 1) % 2], take, reclaim);
    finish_end.record(freeze_stream_);
    note_histogram();
    finish_end.wait();
    count_and_freeze_seconds_ = finish_end.seconds_since(finish_begin);
    for (SpanClock* clock : {&cut_clock_, &split_clock_, &count_clock_, &freeze_clock_}) clock->collect();
  }

  void add_to(engine::Tally& tally) const override {
    for (std::uint64_t count = 1; count < histogram_.size(); ++count) {
      if (histogram_[count] > 0) tally.note(count, histogram_[count]);
    }
    for (const std::uint64_t count : large_counts_) tally.note(count, 1);
  }

  [[nodiscard]] std::uint64_t early_counts() const override { return early_counts_; }
  [[nodiscard]] DeviceTimes times() const override {
    DeviceTimes times;
    times.cut = cut_clock_.seconds();
    times.split = split_clock_.seconds();
    times.count = count_clock_.seconds();
    times.freeze = freeze_clock_.seconds();
    times.count_and_freeze = count_and_freeze_seconds_;
    times.words = words_;
    if (exchange_) {
      times.exchange = exchange_->seconds(number_);
      times.exchanged_bytes = exchange_->bytes(number_);
    }
    return times;
  }

 private:
  /// An entry counted, and its part of a payload.
  static constexpr std::uint64_t kChunkEntryBytes = CountedLists<Key>::kEntryBytes + sizeof(Key) + 6;
  static constexpr std::uint64_t kLeastEntries = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 27;
  static constexpr std::uint64_t kLeastStaging = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kMostStaging = std::uint64_t{1} << 26;

  struct Chunk {
    std::uint32_t first_shard, shards;
    std::uint64_t bound;  ///< entries at most
  };
  /// What is counted, and what is frozen from it.
  struct Buffers {
    CountedLists<Key> counted;
    DeviceArray<std::uint32_t> widths;
    DeviceArray<unsigned long long> size;
    DeviceArray<ShardPlan> plans;
    DeviceArray<unsigned long long> payload;
    PinnedArray<std::uint32_t> host_widths;
    PinnedArray<unsigned long long> host_size;
    PinnedArray<CountFault> host_fault;
    Event counted_event, frozen_event;
    std::uint32_t holds = UINT32_MAX;  ///< first shard of the chunk whose payload is here
    std::uint32_t lists = 0, ranges = kLeastRanges;

    explicit Buffers(std::uint32_t shards)
        : widths(std::size_t{shards} * kWidths),
          size(1),
          plans(shards),
          host_widths(std::size_t{shards} * kWidths),
          host_size(1),
          host_fault(1) {}
  };

  /// Staging becomes a segment: one's own, or one for all.
  void split() {
    if (!exchange_) make_room_for(staged_.segment_bytes(), 1);
    Segment<Words> segment;
    split_clock_.time(stream_, [&] { segment = staged_.split(); });
    if (exchange_) {
      exchange_->put(number_, std::move(segment), stream_);
    } else {
      take(std::move(segment));
    }
  }

  [[nodiscard]] std::uint32_t own_lists() const { return end_list_ - first_list_; }

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

  [[nodiscard]] std::uint32_t lists_per_shard() const { return lists_ >> shard_bits_; }
  [[nodiscard]] std::uint64_t run_bytes() const { return has_run_ ? run_.bytes() : 0; }

  /// K-mers there can be behind so many pending k-mers and counted entries.
  [[nodiscard]] std::uint64_t all_kmers_bound(std::uint64_t loads) const {
    return loads + counted_words_ * SuperKmer<Words>::kMaxKmers;
  }

  /// Takes the lengths of the lists of its shards, and finds the long ones among them.
  std::vector<unsigned long long> shard_loads() {
    const CountedView<Key> run = has_run_ ? run_.view(first_list_) : CountedView<Key>{};
    const std::uint32_t shards = own_lists() / lists_per_shard();
    shard_loads_kernel<<<(shards + 255) / 256, 256, 0, stream_>>>(
        pending_.list_kmers(), run, has_run_, first_list_, lists_per_shard(), shards, loads_.data());
    check_launch("measuring shards");
    std::vector<unsigned long long> loads(shards);
    copy_to_host(loads.data(), loads_.data(), shards, stream_);
    check(cudaStreamSynchronize(stream_), "measuring shards");
    find_long_lists(std::accumulate(loads.begin(), loads.end(), std::uint64_t{0}));
    return loads;
  }

  void find_long_lists(std::uint64_t all) {
    const CountedView<Key> run = has_run_ ? run_.view(first_list_) : CountedView<Key>{};
    // Together blocks count in WarpDrive tables. Who asked for others gets them: then a block counts its list
    // in as many parts as that takes.
    if (plan_.table != engine::CountTable::automatic && plan_.table != engine::CountTable::warpdrive) return;
    longest_ = std::max(plan_.tuning.long_list_kmers, plan_.tuning.long_list_ratio * (all / own_lists()));
    fill_bytes(long_lists_size_.data(), 0, 1, stream_);
    long_lists_kernel<<<(own_lists() + 255) / 256, 256, 0, stream_>>>(
        pending_.list_kmers(), run, has_run_, first_list_, end_list_, longest_, long_lists_.data(),
        long_lists_size_.data());
    check_launch("looking for long lists");
    std::uint32_t size = 0;
    copy_to_host(&size, long_lists_size_.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "looking for long lists");
    host_long_lists_.resize(size);
    copy_to_host(host_long_lists_.data(), long_lists_.data(), size, stream_);
    check(cudaStreamSynchronize(stream_), "looking for long lists");
    std::sort(host_long_lists_.begin(), host_long_lists_.end());
  }

  [[nodiscard]] bool has_long_list(const Chunk& chunk) const {
    const std::uint32_t first = chunk.first_shard * lists_per_shard();
    const auto next = std::lower_bound(host_long_lists_.begin(), host_long_lists_.end(), first);
    return next != host_long_lists_.end() && *next < first + chunk.shards * lists_per_shard();
  }

  /// Counts all lists of a task.
  void count_lists(const CountTask<Key, Words>& task) {
    count_clock_.time(stream_, [&] {
      launch_count(task, tuning(), stream_);
      for (auto list = std::lower_bound(host_long_lists_.begin(), host_long_lists_.end(), task.first_list);
           list != host_long_lists_.end() && *list < task.first_list + task.lists; ++list)
        long_list_counter_.count(task, *list, stream_);
    });
  }

  Chunk plan_chunk(std::uint32_t first, std::uint32_t most, const std::vector<unsigned long long>& loads) {
    const auto* const of_shard = loads.data() + (first - first_list_ / lists_per_shard());
    Chunk chunk{first, 0, 0};
    while (chunk.shards < most) {
      const std::uint64_t next = of_shard[chunk.shards];
      if (chunk.shards > 0 && chunk.bound + next > chunk_entries_) break;
      chunk.bound += next;
      ++chunk.shards;
    }
    // Not a few more than are frozen at once: the rest of the device would wait for these.
    const std::uint32_t at_once = shards_at_once<Key>(entries_per_shard_);
    while (chunk.shards < most && chunk.shards > at_once && chunk.shards % at_once != 0)
      chunk.bound -= of_shard[--chunk.shards];
    return chunk;
  }

  /// Everything that does not depend on where results go.
  CountTask<Key, Words> task_for(std::uint32_t first_shard, std::uint32_t shards) {
    CountTask<Key, Words> task{};
    task.segments = pending_.views();
    task.segment_count = pending_.segments();
    task.list_kmers = pending_.list_kmers();
    if (has_run_) {
      run_view_ = run_.view(first_list_);
      task.run = &run_view_;
    }
    task.first_list = first_shard * lists_per_shard();
    task.lists = shards * lists_per_shard();
    task.longest = longest_;
    task.k = plan_.k;
    task.canonical = plan_.canonical;
    task.list_bits = list_bits_;
    task.shard_bits = shard_bits_;
    task.min_count = 1;
    task.max_count = UINT64_MAX;
    task.out.range_count = kLeastRanges;
    task.fault = fault_.data();
    task.next = next_list_.data();
    return task;
  }

  [[nodiscard]] CountTuning tuning() const {
    const std::uint32_t most = std::min(kMostSlotBits, largest_slot_bits<Key, Words>(plan_.table));
    const auto slots = static_cast<std::uint64_t>(distinct_per_list_ / plan_.tuning.load);
    const auto wanted = static_cast<std::uint32_t>(std::bit_width(slots));
    CountTuning tuning;
    tuning.table = plan_.table;
    tuning.slot_bits = std::clamp(wanted, std::min(kLeastSlotBits, most), most);
    tuning.split_bits = wanted > most ? wanted - most : 0;
    return tuning;
  }

  void count_chunk(Chunk& chunk, Buffers& buffers) {
    CountTask<Key, Words> task = task_for(chunk.first_shard, chunk.shards);
    // A shard of more occurrences than fit, of fewer k-mers we hope: find out how many.
    if (chunk.bound > chunk_entries_) chunk.bound = measure(task);
    make_buffers(buffers, chunk);
    task.min_count = plan_.min_count;
    task.max_count = plan_.max_count;
    buffers.ranges = std::min(ranges_for<Key>(entries_per_shard_), buffers.counted.most_ranges(task.lists));
    task.out = buffers.counted.view(task.first_list, buffers.ranges);
    task.out_capacity = buffers.counted.capacity();
    task.out_size = buffers.size.data();
    task.final = true;
    task.histogram = {bins_.data(), large_.data(), large_size_.data()};
    task.widths = buffers.widths.data();
    check(cudaStreamWaitEvent(stream_, buffers.frozen_event), "ordering streams");
    fill_bytes(buffers.size.data(), 0, 1, stream_);
    fill_bytes(buffers.counted.big_size(), 0, 1, stream_);
    fill_bytes(buffers.widths.data(), 0, chunk.shards * kWidths, stream_);
    count_lists(task);
    copy_to_host(buffers.host_widths.data(), buffers.widths.data(), chunk.shards * kWidths, stream_);
    copy_to_host(buffers.host_size.data(), buffers.size.data(), 1, stream_);
    copy_to_host(buffers.host_fault.data(), fault_.data(), 1, stream_);
    buffers.counted_event.record(stream_);
    buffers.lists = task.lists;
  }

  /// Distinct k-mers in the task's lists.
  std::uint64_t measure(CountTask<Key, Words> task) {
    DeviceArray<unsigned long long> size(1);
    fill_bytes(size.data(), 0, 1, stream_);
    task.out_size = size.data();
    task.out_capacity = 0;
    count_lists(task);
    unsigned long long entries = 0;
    copy_to_host(&entries, size.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
    return entries;
  }

  /// Of one size for all chunks but unusual ones: memory that the device works on is not to move.
  void make_buffers(Buffers& buffers, const Chunk& chunk) {
    if (buffers.counted.capacity() < std::max(chunk.bound, usual_bound_)) {
      stream_.wait();
      freeze_stream_.wait();
      buffers.counted = {};
      buffers.counted = CountedLists<Key>(std::max(chunk.bound, usual_bound_), own_lists());
    }
  }

  void freeze_chunk(const Chunk& chunk, Buffers& buffers, const std::function<void(FrozenChunk&&)>& take,
                    const std::function<void(std::uint32_t)>& reclaim) {
    buffers.counted_event.wait();
    throw_fault(buffers.host_fault[0]);
    // Long lists say nothing of those that blocks count.
    if (!has_long_list(chunk)) {
      distinct_per_list_ =
          std::max(distinct_per_list_ / 2, static_cast<double>(buffers.host_size[0]) / buffers.lists);
    }
    FrozenChunk frozen;
    frozen.first_shard = chunk.first_shard;
    std::uint64_t words = 0, all_entries = 0;
    for (std::uint32_t s = 0; s < chunk.shards; ++s) {
      index::CountWidths of_width{};
      std::uint64_t entries = 0;
      for (std::uint32_t b = 0; b < kWidths; ++b)
        entries += of_width[b] = buffers.host_widths[s * kWidths + b];
      ShardPlan plan;
      plan.shape = index::choose_shape(entries, of_width, plan_.k);
      plan.layout = index::payload_layout(plan.shape, plan_.k);
      plan.first_word = words;
      words += plan.layout.words;
      all_entries += entries;
      frozen.plans.push_back(plan);
    }
    entries_per_shard_ = static_cast<double>(all_entries) / chunk.shards;
    if (buffers.holds != UINT32_MAX) reclaim(buffers.holds);
    buffers.holds = chunk.first_shard;
    if (buffers.payload.size() < words + kSpareWords) {
      freeze_stream_.wait();
      buffers.payload.reserve(words + words / 8 + kSpareWords);
    }
    copy_to_device(buffers.plans.data(), frozen.plans.data(), frozen.plans.size(), freeze_stream_);
    FreezeTask<Key> task{};
    task.counted = buffers.counted.view(chunk.first_shard * lists_per_shard(), buffers.ranges);
    task.k = plan_.k;
    task.first_shard = chunk.first_shard;
    task.shards = chunk.shards;
    task.lists_per_shard = lists_per_shard();
    task.plans = buffers.plans.data();
    task.entries = all_entries;
    task.output = buffers.payload.data();
    task.scratch = freeze_scratch_.data();
    freeze_clock_.time(freeze_stream_, [&] { launch_freeze(task, freeze_stream_); });
    buffers.frozen_event.record(freeze_stream_);
    frozen.payload = buffers.payload.data();
    frozen.ready = &buffers.frozen_event;
    take(std::move(frozen));
  }
  /// What fields that end at a payload's end may look at.
  static constexpr std::uint64_t kSpareWords = 4;

  static void throw_fault(CountFault fault) {
    if (fault == CountFault::none) return;
    throw InternalError(fault == CountFault::output_full
                            ? "counting on the GPU found more k-mers than there can be"
                            : "counting on the GPU met too many counts beyond 2^32");
  }

  /// Counts everything pending into a run, which takes less room where k-mers repeat, and leaves room for
  /// `next` bytes.
  void count_early(std::uint64_t next) {
    shard_loads();
    CountTask<Key, Words> task = task_for(first_list_ / lists_per_shard(), own_lists() / lists_per_shard());
    const std::uint64_t entries = measure(task);
    const std::uint64_t bytes =
        entries * CountedLists<Key>::kEntryBytes + std::uint64_t{own_lists()} * (kLeastRanges + 4) * 4;
    if (pending_.segment_bytes() + run_bytes() + bytes > plan_.memory_bytes - held_ ||
        bytes + next > budget_) {
      throw ResourceError("the GPU's memory is used up: the distinct k-mers so far need " +
                          std::to_string((bytes >> 20) + 1) + " MB of the " +
                          std::to_string((plan_.memory_bytes - held_) >> 20) +
                          " MB that are free or allowed; raise --device-memory, or use --device cpu");
    }
    CountedLists<Key> run(std::max<std::uint64_t>(entries, 1), own_lists());
    DeviceArray<unsigned long long> size(1);
    fill_bytes(size.data(), 0, 1, stream_);
    fill_bytes(run.big_size(), 0, 1, stream_);
    task.out = run.view(first_list_);
    task.out_capacity = run.capacity();
    task.out_size = size.data();
    count_lists(task);
    CountFault fault{};
    copy_to_host(&fault, fault_.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
    throw_fault(fault);
    counted_words_ += pending_.words();
    pending_.clear();
    run_ = std::move(run);
    has_run_ = true;
    ++early_counts_;
    if (host_long_lists_.empty()) distinct_per_list_ = static_cast<double>(entries) / own_lists();
  }

  void note_histogram() {
    histogram_.resize(bins_.size());
    copy_to_host(histogram_.data(), bins_.data(), bins_.size(), stream_);
    std::uint32_t large = 0;
    copy_to_host(&large, large_size_.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
    large_counts_.resize(large);
    copy_to_host(large_counts_.data(), large_.data(), large, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
  }

  const DeviceCountPlan plan_;
  const std::shared_ptr<Exchange<Words>> exchange_;
  const std::uint32_t number_;
  std::uint32_t shard_bits_, shards_, list_bits_, lists_;
  const std::uint32_t first_list_, end_list_;  ///< the range of lists that are its own
  CutParams cut_;
  Stream stream_;
  StagedWords<Words> staged_;
  PendingWords<Words> pending_;
  std::uint64_t budget_ = 0;  ///< for segments and runs
  std::uint64_t held_ = 0;    ///< while input comes, besides
  std::uint64_t chunk_entries_ = 0;
  std::uint64_t usual_bound_ = 1;                 ///< entries of a chunk that is not one hot shard
  Stream freeze_stream_{Stream::Priority::high};  ///< what is left of one launch runs beside the next count
  Buffers buffers_[2];
  CountedLists<Key> run_;
  CountedView<Key> run_view_{};
  bool has_run_ = false;
  LongListCounter<Key, Words> long_list_counter_;
  DeviceArray<unsigned long long> loads_;
  DeviceArray<std::uint32_t> long_lists_, long_lists_size_;
  std::vector<std::uint32_t> host_long_lists_;  ///< in order
  std::uint64_t longest_ = UINT64_MAX;          ///< k-mers of a list that one block counts
  DeviceArray<CountFault> fault_;
  DeviceArray<std::uint32_t> next_list_, freeze_scratch_;  ///< counting and freezing run side by side
  DeviceArray<unsigned long long> bins_;
  DeviceArray<std::uint64_t> large_;
  DeviceArray<std::uint32_t> large_size_;
  std::vector<unsigned long long> histogram_;
  std::vector<std::uint64_t> large_counts_;
  double distinct_per_list_ = 2048;
  double entries_per_shard_ = 0;  ///< of the chunk that was frozen last; 0: not known yet
  std::uint64_t words_ = 0, counted_words_ = 0;
  std::uint64_t early_counts_ = 0;
  SpanClock cut_clock_, split_clock_, count_clock_, freeze_clock_;
  double count_and_freeze_seconds_ = 0;
};

}  // namespace

namespace {

template <class Key, int Words>
std::vector<std::unique_ptr<DeviceCounter>> make_counters(const DeviceCountPlan& plan, Peers& peers) {
  const auto exchange = std::make_shared<Exchange<Words>>(peers, list_bits_for(plan, shard_bits(plan.k)));
  std::vector<std::unique_ptr<DeviceCounter>> counters;
  for (std::uint32_t number = 0; number < peers.size(); ++number) {
    const CurrentDevice current(peers.gpu(number));
    auto counter = std::make_unique<Counter<Key, Words>>(plan, exchange, number);
    exchange->connect(number, *counter);
    counters.push_back(std::move(counter));
  }
  return counters;
}

}  // namespace

std::unique_ptr<DeviceCounter> make_device_counter(const DeviceCountPlan& plan) {
  return with_shard_types(plan.k, [&]<class Key, int Words>() -> std::unique_ptr<DeviceCounter> {
    return std::make_unique<Counter<Key, Words>>(plan, nullptr, 0);
  });
}

std::vector<std::unique_ptr<DeviceCounter>> make_device_counters(const DeviceCountPlan& plan, Peers& peers) {
  return with_shard_types(plan.k, [&]<class Key, int Words>() {
    DeviceCountPlan shared = plan;
    shared.owners = peers.size();
    return make_counters<Key, Words>(shared, peers);
  });
}

}  // namespace warpmer::gpu
