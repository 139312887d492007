#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "core/error.h"
#include "current_device.cuh"
#include "index/checksum.h"
#include "pinned_pair.cuh"
#include "spilled_segments.cuh"

namespace warpmer::gpu {

/// One split's words of the lists, off the device. Numbers of words are counted from its first one.
template <int Words>
struct SpilledSegments<Words>::Part {
  /// Words of one shard that were written at once, with their checksum; to where the next begin. The first
  /// unit of a shard, which may have no words, has the offsets of the shard's lists in front.
  struct Unit {
    std::uint32_t first_word;
    std::uint64_t checksum;
  };

  std::size_t worker = 0;
  std::vector<std::uint32_t> shard_begins;  ///< of each of the shards, and all words
  std::uint32_t base = 0;                   ///< what offsets are counted from
  bool is_in_file = false;
  std::uint64_t place = 0;  ///< in slabs, words and then offsets; or in the file, units
  std::vector<Unit> units;
  std::vector<std::uint32_t> first_units;  ///< of each shard, and all

  [[nodiscard]] std::uint32_t words() const { return shard_begins.back(); }
  [[nodiscard]] std::uint32_t shards() const { return static_cast<std::uint32_t>(shard_begins.size()) - 1; }
  [[nodiscard]] std::uint64_t remembered_bytes() const {
    return sizeof *this + shard_begins.size() * sizeof shard_begins[0] + units.size() * sizeof units[0] +
           first_units.size() * sizeof first_units[0];
  }
};

template <int Words>
struct SpilledSegments<Words>::Leaving {
  Segment<Words> segment;
  Event complete;
};

/// What is to be brought back of a part.
template <int Words>
struct SpilledSegments<Words>::Slice {
  const Part* part;
  std::uint32_t first_shard, shards;  ///< counted from the first of all
  SuperKmer<Words>* words_to;
  std::uint32_t* offsets_to;

  [[nodiscard]] std::uint32_t first_word() const { return part->shard_begins[first_shard]; }
  [[nodiscard]] std::uint32_t end_word() const { return part->shard_begins[first_shard + shards]; }
};

/// A thread with its stream, its slabs and what it has put there.
template <int Words>
class SpilledSegments<Words>::Worker {
 public:
  Worker(SpilledSegments& owner, std::size_t number) : owner_(owner), number_(number), slabs_(owner.slabs_) {}
  ~Worker() { let_copies_end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void start() {
    thread_ = std::thread([this] { owner_.work(*this); });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  void let_copies_end() noexcept { cudaStreamSynchronize(stream_); }

  /// Takes a segment's parts off the device.
  void take_out(Leaving& leaving) {
    const Timer timer(totals_.out_seconds);
    const Segment<Words>& segment = leaving.segment;
    check(cudaStreamWaitEvent(DriverUse(stream_), leaving.complete), "ordering streams");
    for (std::size_t number = 0; number < segment.parts.size(); ++number) {
      Part part;
      part.worker = number_;
      take_offsets(segment, number, part);
      const SuperKmer<Words>* const words = segment.words.data() + segment.parts[number].first_word;
      const std::uint64_t bytes = part.words() * kWordBytes + segment.lists * kOffsetBytes;
      part.is_in_file = !slabs_.allocate(bytes + kOffsetBytes, owner_.kept_slabs_, part.place);
      if (part.is_in_file) {
        write(words, part);
        totals_.to_file += bytes;
      } else {
        words_.receive(words, part.words(),
                       [&](const SuperKmer<Words>* some, std::size_t first, std::size_t end) {
                         to_slabs(part.place + first * kWordBytes, some, end - first);
                       });
        to_slabs(part.place + part.words() * kWordBytes, offsets_of_part_.data(), offsets_of_part_.size());
        totals_.to_host += bytes;
      }
      remember(std::move(part));
    }
    leaving.segment = {};
    // Whoever allocates next, in whatever stream, is to find it free.
    check(cudaStreamSynchronize(cudaStreamPerThread), "giving device memory back");
  }

  /// Brings slices back, which follow one another on the device.
  void bring(const std::vector<Slice>& slices, const Event& free) {
    const Timer timer(totals_.back_seconds);
    check(cudaStreamWaitEvent(DriverUse(stream_), free), "ordering streams");
    words_.begin_send(slices.front().words_to);
    offsets_.begin_send(slices.front().offsets_to);
    for (const Slice& slice : slices) {
      const std::uint64_t lists = std::uint64_t{slice.shards} * owner_.lists_per_shard_;
      const std::uint64_t words = slice.end_word() - slice.first_word();
      const std::uint64_t bytes = words * kWordBytes + lists * kOffsetBytes;
      if (slice.part->is_in_file) {
        read(slice);
        totals_.from_file += bytes;
        continue;
      }
      const std::uint64_t first_offset = std::uint64_t{slice.first_shard} * owner_.lists_per_shard_;
      const std::uint64_t offsets_place = slice.part->place + slice.part->words() * kWordBytes;
      from_slabs(slice.part->place + slice.first_word() * kWordBytes, words, words_);
      from_slabs(offsets_place + first_offset * kOffsetBytes, lists + 1, offsets_);
      totals_.from_host += bytes;
    }
    words_.flush();
    offsets_.flush();
    stream_.wait();
  }

  [[nodiscard]] const std::deque<Part>& parts() const { return parts_; }
  [[nodiscard]] const SpillTotals& totals() const { return totals_; }

  std::vector<Slice> slices;  ///< to be brought back; guarded by the owner's mutex
  const Event* free = nullptr;

 private:
  class Timer {
   public:
    explicit Timer(double& sum) : sum_(sum) {}
    ~Timer() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

   private:
    double& sum_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };
  static constexpr std::uint64_t kWordBytes = sizeof(SuperKmer<Words>), kOffsetBytes = sizeof(std::uint32_t);

  void take_offsets(const Segment<Words>& segment, std::size_t number, Part& part) {
    const std::uint64_t offsets = segment.lists + std::uint64_t{1};
    offsets_of_part_.resize(offsets);
    offsets_.receive(segment.offsets.data() + number * offsets, offsets,
                     [&](const std::uint32_t* some, std::size_t first, std::size_t end) {
                       std::copy_n(some, end - first, offsets_of_part_.data() + first);
                     });
    part.base = offsets_of_part_[0];
    for (std::uint32_t list = 0; list <= segment.lists; list += owner_.lists_per_shard_)
      part.shard_begins.push_back(offsets_of_part_[list] - part.base);
  }
  template <class T>
  void to_slabs(std::uint64_t place, const T* from, std::size_t n) {
    const auto* at = reinterpret_cast<const char*>(from);
    slabs_.for_each_piece(place, n * sizeof(T), [&](char* memory, std::uint64_t bytes) {
      std::memcpy(memory, at, bytes);
      at += bytes;
    });
  }
  /// (Places of words and offsets are whole numbers of them, and so are slabs.)
  template <class T>
  void from_slabs(std::uint64_t place, std::size_t n, PinnedPair<T>& to) {
    slabs_.for_each_piece(place, n * sizeof(T), [&](const char* memory, std::uint64_t bytes) {
      to.append(reinterpret_cast<const T*>(memory), bytes / sizeof(T));
    });
  }

  /// Keeps a part. What parts take beyond kRememberedBytes is counted as if it were in slabs.
  void remember(Part&& part) {
    part.shard_begins.shrink_to_fit();
    part.units.shrink_to_fit();
    part.first_units.shrink_to_fit();
    remembered_bytes_ += part.remembered_bytes();
    while (remembered_bytes_ > charged_bytes_) {
      if (!owner_.slabs_.take(1, 0)) {
        throw ResourceError("what the GPU has spilled takes more memory to remember than the " +
                            megabytes(owner_.plan_.host_bytes) +
                            " that -m leaves; raise -m or --device-memory");
      }
      charged_bytes_ += HostSlabs::kSlabBytes;
    }
    parts_.push_back(std::move(part));
  }

  /// Writes a part to the file, one buffer of words after the other.
  void write(const SuperKmer<Words>* words, Part& part) {
    index::SpillFile& file = owner_.file();
    part.place = file.allocate(part.words() * kWordBytes + part.shards() * shard_offsets_bytes());
    std::uint64_t at = part.place;
    words_.receive(words, part.words(),
                   [&](const SuperKmer<Words>* some, std::size_t first, std::size_t end) {
                     write_units(file, some, static_cast<std::uint32_t>(first),
                                 static_cast<std::uint32_t>(end), part, at);
                   });
    part.first_units.push_back(static_cast<std::uint32_t>(part.units.size()));
  }
  /// Writes the words [first, end) of a part to `at`, which moves on.
  void write_units(index::SpillFile& file, const SuperKmer<Words>* words, std::uint32_t first,
                   std::uint32_t end, Part& part, std::uint64_t& at) {
    std::vector<index::Piece> pieces;
    const std::uint64_t begin = at;
    for (std::uint32_t word = first;;) {
      const auto shard = static_cast<std::uint32_t>(part.first_units.size());  // the next one
      const std::size_t first_piece = pieces.size();
      const bool begins =
          shard < part.shards() && part.shard_begins[shard] == word && (word < end || end == part.words());
      if (!begins && word == end) break;
      std::uint32_t unit_end = std::min(end, part.shard_begins[shard]);
      if (begins) {
        part.first_units.push_back(static_cast<std::uint32_t>(part.units.size()));
        pieces.push_back(
            {offsets_of_part_.data() + std::size_t{shard} * owner_.lists_per_shard_, shard_offsets_bytes()});
        unit_end = std::min(end, part.shard_begins[shard + 1]);
      }
      if (unit_end > word) pieces.push_back({words + (word - first), (unit_end - word) * kWordBytes});
      part.units.push_back({word, index::layout::checksum(std::span(pieces).subspan(first_piece))});
      word = unit_end;
    }
    for (const index::Piece& piece : pieces) at += piece.bytes;
    file.write(begin, pieces);
  }

  /// Reads the units of a slice.
  void read(const Slice& slice) {
    const Part& part = *slice.part;
    for (std::uint32_t shard = slice.first_shard; shard < slice.first_shard + slice.shards; ++shard) {
      for (std::uint32_t number = part.first_units[shard]; number < part.first_units[shard + 1]; ++number) {
        const std::uint32_t end =
            number + 1 < part.units.size() ? part.units[number + 1].first_word : part.words();
        const bool has_offsets = number == part.first_units[shard];
        const char* from = read_unit(part, shard, number, end, has_offsets);
        if (has_offsets) {
          offsets_.append(reinterpret_cast<const std::uint32_t*>(from), owner_.lists_per_shard_);
          from += shard_offsets_bytes();
        }
        words_.append(reinterpret_cast<const SuperKmer<Words>*>(from), end - part.units[number].first_word);
      }
    }
    const std::uint32_t end_offset = part.base + slice.end_word();
    offsets_.append(&end_offset, 1);
  }
  const char* read_unit(const Part& part, std::uint32_t shard, std::uint32_t number, std::uint32_t end,
                        bool has_offsets) {
    const std::uint32_t first = part.units[number].first_word;
    const std::uint64_t offsets = has_offsets ? shard_offsets_bytes() : 0;
    // The offsets of the shards before are in front, and those of its own.
    const std::uint64_t before = (shard + std::uint64_t{1}) * shard_offsets_bytes() - offsets;
    const std::uint64_t bytes = offsets + (end - first) * kWordBytes;
    if (unit_.size() < bytes) unit_.resize(bytes);
    owner_.file().read({part.place + before + first * kWordBytes, bytes, part.units[number].checksum},
                       unit_.data());
    return unit_.data();
  }

  [[nodiscard]] std::uint64_t shard_offsets_bytes() const { return owner_.lists_per_shard_ * kOffsetBytes; }

  SpilledSegments& owner_;
  const std::size_t number_;
  Stream stream_;
  HostSlabs slabs_;
  PinnedPair<SuperKmer<Words>> words_{kBufferBytes / kWordBytes, stream_};
  PinnedPair<std::uint32_t> offsets_{kBufferBytes / 4 / kOffsetBytes, stream_};
  std::vector<std::uint32_t> offsets_of_part_;
  std::vector<char> unit_;
  std::deque<Part> parts_;
  std::uint64_t remembered_bytes_ = 0, charged_bytes_ = kRememberedBytes;
  SpillTotals totals_;
  std::thread thread_;
};

template <int Words>
SpilledSegments<Words>::SpilledSegments(SpillPlan plan, std::uint32_t first_list, std::uint32_t end_list,
                                        std::uint32_t lists_per_shard)
    : plan_(std::move(plan)),
      first_list_(first_list),
      end_list_(end_list),
      lists_per_shard_(lists_per_shard),
      gpu_(current_gpu()),
      slabs_(plan_.host_bytes / HostSlabs::kSlabBytes),
      kept_slabs_(1 + plan_.host_bytes / HostSlabs::kSlabBytes / kRememberedShare) {
  if (plan_.opens_file_at_once) file();
}

template <int Words>
SpilledSegments<Words>::~SpilledSegments() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (const auto& worker : workers_) worker->join();
}

template <int Words>
index::SpillFile& SpilledSegments<Words>::file() {
  const std::lock_guard lock(mutex_);
  if (!file_) file_ = std::make_unique<index::SpillFile>(plan_.directory);
  return *file_;
}

template <int Words>
void SpilledSegments<Words>::put(Segment<Words>&& segment, cudaStream_t stream) {
  if (workers_.empty()) {
    for (std::size_t number = 0; number < plan_.threads; ++number) {
      workers_.push_back(std::make_unique<Worker>(*this, number));
      workers_.back()->start();
    }
  }
  Leaving leaving{std::move(segment), Event()};
  leaving.complete.record(stream);
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  ++puts_;
  leaving_bytes_ += leaving.segment.bytes();
  leaving_.push_back(std::move(leaving));
  changed_.notify_all();
}

template <int Words>
std::uint64_t SpilledSegments<Words>::wait_until_leaving(std::uint64_t most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || leaving_bytes_ <= most; });
  if (failure_) std::rethrow_exception(failure_);
  if (leaving_bytes_ == 0) {
    all_.clear();
    for (const auto& worker : workers_) {
      for (const Part& part : worker->parts()) all_.push_back(&part);
    }
  }
  return leaving_bytes_;
}

template <int Words>
std::uint32_t SpilledSegments<Words>::words_of(std::uint32_t part, std::uint32_t shard) const {
  const std::uint32_t own = shard - first_list_ / lists_per_shard_;
  return all_[part]->shard_begins[own + 1] - all_[part]->shard_begins[own];
}

template <int Words>
void SpilledSegments<Words>::begin_fetch(std::uint32_t first_shard, std::uint32_t shards,
                                         std::uint32_t first_part, std::uint32_t end_part, Slices<Words>& to,
                                         const Event& event) {
  const std::uint32_t own = first_shard - first_list_ / lists_per_shard_;
  to.first_list = first_shard * lists_per_shard_;
  to.lists = shards * lists_per_shard_;
  to.begins.assign(1, 0);
  std::vector<std::vector<Slice>> slices(workers_.size());
  for (std::uint32_t number = first_part; number < end_part; ++number) {
    const Part& part = *all_[number];
    const Slice slice{&part, own, shards, to.words.data() + to.begins.back(),
                      to.offsets.data() + std::size_t{to.size()} * (to.lists + 1)};
    slices[part.worker].push_back(slice);
    to.begins.push_back(to.begins.back() + (slice.end_word() - slice.first_word()));
  }
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (slices[i].empty()) continue;
    workers_[i]->slices = std::move(slices[i]);
    workers_[i]->free = &event;
    ++fetching_;
  }
  changed_.notify_all();
}

template <int Words>
void SpilledSegments<Words>::wait_fetched() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || fetching_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

template <int Words>
void SpilledSegments<Words>::let_fetch_end() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return fetching_ == 0; });
}

template <int Words>
SpillTotals SpilledSegments<Words>::totals() const {
  SpillTotals totals;
  for (const auto& worker : workers_) totals.add(worker->totals());
  return totals;
}

/// A worker's thread: takes out what is leaving, and brings back what it is told to.
template <int Words>
void SpilledSegments<Words>::work(Worker& worker) {
  bool is_bringing = false;
  std::unique_lock lock(mutex_, std::defer_lock);
  std::optional<Leaving> leaving;  // stays until its copies have ended
  try {
    check(cudaSetDevice(gpu_), "choosing a GPU");
    for (;;) {
      lock.lock();
      changed_.wait(lock, [&] { return stop_ || failure_ || !leaving_.empty() || !worker.slices.empty(); });
      is_bringing = !worker.slices.empty();
      if (stop_ || failure_) break;
      if (is_bringing) {
        const std::vector<Slice> slices = std::exchange(worker.slices, {});
        lock.unlock();
        worker.bring(slices, *worker.free);
        lock.lock();
        --fetching_;
      } else {
        leaving.emplace(std::move(leaving_.front()));
        leaving_.pop_front();
        lock.unlock();
        const std::uint64_t bytes = leaving->segment.bytes();
        worker.take_out(*leaving);
        leaving.reset();
        lock.lock();
        leaving_bytes_ -= bytes;
      }
      changed_.notify_all();
      lock.unlock();
    }
  } catch (...) {
    worker.let_copies_end();
    if (!lock.owns_lock()) lock.lock();
    if (!failure_) failure_ = std::current_exception();
  }
  // Nobody is to wait for what it will not bring.
  if (is_bringing) --fetching_;
  changed_.notify_all();
}

template class SpilledSegments<2>;
template class SpilledSegments<4>;

}  // namespace warpmer::gpu
