#include <algorithm>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_without_signals.h"
#include "file/checksum.h"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/pinned_ring.cuh"
#include "kernels/spill/spilled_segments.cuh"
#include "system/huge_pages.h"

namespace warpmer::gpu {

template <int Words>
void SpilledSegments<Words>::Unmap::operator()(char* memory) const {
  system::unmap_huge_pages(memory, bytes);
}

/// One split's words of the bins, off the device. Numbers of words are counted from its first one.
template <int Words>
struct SpilledSegments<Words>::SpilledPart {
  /// Words of one shard that were written at once, with their checksum; to where the next begin. The first
  /// unit of a shard, which may have no words, has the offsets of the shard's bins in front.
  struct Unit {
    std::uint32_t first_word;
    std::uint64_t checksum;
  };

  std::vector<std::uint32_t> shard_begins;  ///< begins of each of the shards, and all words
  std::uint32_t base = 0;                   ///< number from which offsets are counted
  HostBytes memory{nullptr, Unmap{0}};      ///< words and then offsets; none when they are in the file
  std::uint64_t place = 0;                  ///< place of units in the file
  std::vector<Unit> units;
  std::vector<std::uint32_t> first_units;  ///< first unit of each shard, and number of all

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
  std::vector<SpilledPart> parts = {};
  std::size_t pieces_left = 1;  ///< guarded by the owner's mutex
};

/// A piece of work that one worker does for a segment: it takes all offsets out and finds a place for each
/// part, or it takes some of a part's words out.
template <int Words>
struct SpilledSegments<Words>::SpillPiece {
  Leaving* leaving;
  std::size_t part = 0;
  std::uint32_t first = 0, end = 0;  ///< words; none for the offsets

  [[nodiscard]] bool opens() const { return first == end; }
};

/// The words of a part that are to be brought back.
template <int Words>
struct SpilledSegments<Words>::SpilledSlice {
  const SpilledPart* part;
  std::uint32_t first_shard, shards;  ///< counted from the first of all
  SuperKmer<Words>* words_to;
  std::uint32_t* offsets_to;

  [[nodiscard]] std::uint32_t first_word() const { return part->shard_begins[first_shard]; }
  [[nodiscard]] std::uint32_t end_word() const { return part->shard_begins[first_shard + shards]; }
};

/// A thread with its stream and its buffers.
template <int Words>
class SpilledSegments<Words>::SpillThread {
 public:
  explicit SpillThread(SpilledSegments& owner) : owner_(owner) {}
  ~SpillThread() { let_copies_end(); }

  void start() {
    thread_ = start_thread_without_signals([this] { owner_.work(*this); }, "that takes k-mers off the GPU");
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  void let_copies_end() noexcept { cudaStreamSynchronize(stream_); }

  /// Takes the offsets of a segment's parts off the device, and parts that go to the file altogether. Returns
  /// what is left to be done.
  std::vector<SpillPiece> open(Leaving& leaving) {
    const Stopwatch watch(totals_.out_seconds);
    const Segment<Words>& segment = leaving.segment;
    leaving.complete.let_follow(stream_);
    std::vector<SpillPiece> pieces;
    leaving.parts.resize(segment.parts.size());
    for (std::size_t number = 0; number < segment.parts.size(); ++number) {
      SpilledPart& part = leaving.parts[number];
      take_offsets(segment, number, part);
      const std::uint64_t words_bytes = part.words() * kWordBytes;
      const std::uint64_t bytes = words_bytes + segment.bins * kOffsetBytes;
      part.memory = owner_.allocate(bytes + kOffsetBytes);
      if (part.memory == nullptr) {
        write(segment.words.data() + segment.parts[number].first_word, part);
        totals_.to_file += bytes;
        continue;
      }
      std::memcpy(part.memory.get() + words_bytes, offsets_of_part_.data(),
                  bytes + kOffsetBytes - words_bytes);
      totals_.to_host += bytes;
      constexpr std::uint32_t kMost = kWordsBytes / kWordBytes;
      for (std::uint32_t first = 0; first < part.words(); first += std::min(kMost, part.words() - first))
        pieces.push_back({&leaving, number, first, first + std::min(kMost, part.words() - first)});
    }
    return pieces;
  }

  /// Takes words out, of a segment that a worker has opened.
  void take_out(const SpillPiece& piece) {
    const Stopwatch watch(totals_.out_seconds);
    const Segment<Words>& segment = piece.leaving->segment;
    char* to = piece.leaving->parts[piece.part].memory.get() + piece.first * kWordBytes;
    words_.receive(segment.words.data() + segment.parts[piece.part].first_word + piece.first,
                   piece.end - piece.first,
                   [&](const SuperKmer<Words>* some, std::size_t first, std::size_t end) {
                     std::memcpy(to, some, (end - first) * kWordBytes);
                     to += (end - first) * kWordBytes;
                   });
  }

  /// Begins to bring slices back, which follow one another on the device.
  void bring(const std::vector<SpilledSlice>& slices, const Event& free) {
    const Stopwatch watch(totals_.back_seconds);
    free.let_follow(stream_);
    words_.begin_send(slices.front().words_to);
    offsets_.begin_send(slices.front().offsets_to);
    for (const SpilledSlice& slice : slices) {
      const std::uint64_t bins = std::uint64_t{slice.shards} * owner_.bins_per_shard_;
      const std::uint64_t words = slice.end_word() - slice.first_word();
      const std::uint64_t bytes = words * kWordBytes + bins * kOffsetBytes;
      if (slice.part->memory == nullptr) {
        read(slice);
        totals_.from_file += bytes;
        continue;
      }
      const auto* const part_words = reinterpret_cast<const SuperKmer<Words>*>(slice.part->memory.get());
      const auto* const part_offsets =
          reinterpret_cast<const std::uint32_t*>(part_words + slice.part->words());
      words_.append(part_words + slice.first_word(), words);
      offsets_.append(part_offsets + std::uint64_t{slice.first_shard} * owner_.bins_per_shard_, bins + 1);
      totals_.from_host += bytes;
    }
    words_.flush();
    offsets_.flush();
    brought_.record(stream_);
  }
  /// Makes all work that is enqueued in `stream` from now on come after all that has been brought.
  void let_follow(cudaStream_t stream) const { brought_.let_follow(stream); }

  [[nodiscard]] const SpillTotals& totals() const { return totals_; }

  std::vector<SpilledSlice> slices;  ///< to be brought back; guarded by the owner's mutex
  const Event* free = nullptr;

 private:
  static constexpr std::uint64_t kWordBytes = sizeof(SuperKmer<Words>), kOffsetBytes = sizeof(std::uint32_t);

  void take_offsets(const Segment<Words>& segment, std::size_t number, SpilledPart& part) {
    const std::uint64_t offsets = segment.bins + std::uint64_t{1};
    offsets_of_part_.resize(offsets);
    offsets_.receive(segment.offsets.data() + number * offsets, offsets,
                     [&](const std::uint32_t* some, std::size_t first, std::size_t end) {
                       std::copy_n(some, end - first, offsets_of_part_.data() + first);
                     });
    part.base = offsets_of_part_[0];
    for (std::uint32_t bin = 0; bin <= segment.bins; bin += owner_.bins_per_shard_)
      part.shard_begins.push_back(offsets_of_part_[bin] - part.base);
  }
  /// Writes a part to the file, one buffer of words after the other.
  void write(const SuperKmer<Words>* words, SpilledPart& part) {
    file::SpillFile& file = owner_.file();
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
  void write_units(file::SpillFile& file, const SuperKmer<Words>* words, std::uint32_t first,
                   std::uint32_t end, SpilledPart& part, std::uint64_t& at) {
    std::vector<file::WritePiece> pieces;
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
            {offsets_of_part_.data() + std::size_t{shard} * owner_.bins_per_shard_, shard_offsets_bytes()});
        unit_end = std::min(end, part.shard_begins[shard + 1]);
      }
      if (unit_end > word) pieces.push_back({words + (word - first), (unit_end - word) * kWordBytes});
      part.units.push_back({word, file::checksum(std::span(pieces).subspan(first_piece))});
      word = unit_end;
    }
    for (const file::WritePiece& piece : pieces) at += piece.bytes;
    file.write(begin, pieces);
  }

  /// Reads the units of a slice.
  void read(const SpilledSlice& slice) {
    const SpilledPart& part = *slice.part;
    for (std::uint32_t shard = slice.first_shard; shard < slice.first_shard + slice.shards; ++shard) {
      for (std::uint32_t number = part.first_units[shard]; number < part.first_units[shard + 1]; ++number) {
        const std::uint32_t end =
            number + 1 < part.units.size() ? part.units[number + 1].first_word : part.words();
        const bool has_offsets = number == part.first_units[shard];
        const char* from = read_unit(part, shard, number, end, has_offsets);
        if (has_offsets) {
          offsets_.append(from, owner_.bins_per_shard_);
          from += shard_offsets_bytes();
        }
        words_.append(from, end - part.units[number].first_word);
      }
    }
    const std::uint32_t end_offset = part.base + slice.end_word();
    offsets_.append(&end_offset, 1);
  }
  const char* read_unit(const SpilledPart& part, std::uint32_t shard, std::uint32_t number, std::uint32_t end,
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

  [[nodiscard]] std::uint64_t shard_offsets_bytes() const { return owner_.bins_per_shard_ * kOffsetBytes; }

  SpilledSegments& owner_;
  Stream stream_;
  PinnedRing<SuperKmer<Words>> words_{kWordsBytes / kWordBytes, stream_};
  PinnedRing<std::uint32_t> offsets_{kOffsetsBytes / kOffsetBytes, stream_};
  std::vector<std::uint32_t> offsets_of_part_;
  std::vector<char> unit_;
  Event brought_;
  SpillTotals totals_;
  std::thread thread_;
};

template <int Words>
SpilledSegments<Words>::SpilledSegments(SpillPlan plan, std::uint32_t first_bin, std::uint32_t bins_per_shard)
    : plan_(std::move(plan)),
      first_bin_(first_bin),
      bins_per_shard_(bins_per_shard),
      gpu_(current_gpu()),
      host_bytes_left_(plan_.host_bytes),
      remembered_bytes_left_(plan_.threads * kRememberedBytes) {
  if (plan_.place.is_chosen) file();
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
file::SpillFile& SpilledSegments<Words>::file() {
  const std::lock_guard lock(mutex_);
  if (!file_) file_ = std::make_unique<file::SpillFile>(plan_.place.directory, plan_.place.input_read);
  return *file_;
}

/// Host memory for a part, as far as there is some; null when there is none.
template <int Words>
auto SpilledSegments<Words>::allocate(std::uint64_t bytes) -> HostBytes {
  const std::uint64_t page = system::page_bytes();
  const std::uint64_t whole = (bytes + page - 1) / page * page;
  const std::lock_guard lock(mutex_);
  HostBytes memory(nullptr, Unmap{whole});
  if (host_bytes_left_ < whole + plan_.host_bytes / kRememberedShare) return memory;
  memory.reset(system::map_huge_pages(whole));
  if (memory) host_bytes_left_ -= whole;
  return memory;
}

template <int Words>
void SpilledSegments<Words>::put(Segment<Words>&& segment, cudaStream_t stream) {
  if (workers_.empty()) {
    for (unsigned i = 0; i < plan_.threads; ++i) {
      workers_.push_back(std::make_unique<SpillThread>(*this));
      workers_.back()->start();
    }
  }
  Event complete;
  complete.record(stream);
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  ++puts_;
  leaving_bytes_ += segment.bytes();
  leaving_.push_back({std::move(segment), std::move(complete)});
  pieces_.push_back({&leaving_.back()});
  changed_.notify_all();
}

template <int Words>
std::uint64_t SpilledSegments<Words>::wait_until_leaving(std::uint64_t most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || leaving_bytes_ <= most; });
  if (failure_) std::rethrow_exception(failure_);
  return leaving_bytes_;
}

template <int Words>
std::uint32_t SpilledSegments<Words>::parts() const {
  return static_cast<std::uint32_t>(parts_.size());
}

template <int Words>
std::uint32_t SpilledSegments<Words>::words_of(std::uint32_t part, std::uint32_t shard) const {
  const std::uint32_t own = shard - first_bin_ / bins_per_shard_;
  return parts_[part].shard_begins[own + 1] - parts_[part].shard_begins[own];
}

template <int Words>
void SpilledSegments<Words>::begin_fetch(std::uint32_t first_shard, std::uint32_t shards,
                                         std::uint32_t first_part, std::uint32_t end_part, Slices<Words>& to,
                                         const Event& event) {
  const std::uint32_t own = first_shard - first_bin_ / bins_per_shard_;
  to.first_bin = first_shard * bins_per_shard_;
  to.bins = shards * bins_per_shard_;
  to.begins.assign(1, 0);
  std::vector<SpilledSlice> all;
  for (std::uint32_t number = first_part; number < end_part; ++number) {
    const SpilledSlice slice{&parts_[number], own, shards, to.words.data() + to.begins.back(),
                             to.offsets.data() + std::size_t{to.size()} * (to.bins + 1)};
    all.push_back(slice);
    to.begins.push_back(to.begins.back() + (slice.end_word() - slice.first_word()));
  }
  // To each worker slices that follow one another, and about as many words.
  std::vector<std::vector<SpilledSlice>> slices(workers_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t middle = (std::uint64_t{to.begins[i]} + to.begins[i + 1]) / 2;
    slices[middle * workers_.size() / (std::uint64_t{to.word_count()} + 1)].push_back(all[i]);
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
void SpilledSegments<Words>::wait_fetched(cudaStream_t stream) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || fetching_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
  for (const auto& worker : workers_) worker->let_follow(stream);
}

template <int Words>
void SpilledSegments<Words>::let_fetch_end() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return fetching_ == 0; });
  for (const auto& worker : workers_) worker->let_copies_end();
}

template <int Words>
SpillTotals SpilledSegments<Words>::totals() const {
  SpillTotals totals;
  for (const auto& worker : workers_) totals.add(worker->totals());
  return totals;
}

/// Keeps a part. What parts take beyond kRememberedBytes is the host's, too.
template <int Words>
void SpilledSegments<Words>::remember(SpilledPart&& part) {
  part.shard_begins.shrink_to_fit();
  part.units.shrink_to_fit();
  part.first_units.shrink_to_fit();
  const std::uint64_t bytes = part.remembered_bytes(), beside = std::min(bytes, remembered_bytes_left_);
  remembered_bytes_left_ -= beside;
  if (host_bytes_left_ < bytes - beside) {
    throw ResourceError("what the GPU has spilled takes more memory to remember than the " +
                        megabytes(plan_.host_bytes) + " that -m leaves; raise -m or --device-memory");
  }
  host_bytes_left_ -= bytes - beside;
  parts_.push_back(std::move(part));
}

/// Has a worker do its part of taking out a segment. The lock is open meanwhile.
template <int Words>
void SpilledSegments<Words>::move_piece(SpillThread& worker, const SpillPiece& piece,
                                        std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::vector<SpillPiece> pieces;
  if (piece.opens()) {
    pieces = worker.open(*piece.leaving);
  } else {
    worker.take_out(piece);
  }
  lock.lock();
  // They come before segments that no worker has opened, so that a segment that has begun to leave is out
  // soon.
  const auto unopened =
      std::find_if(pieces_.begin(), pieces_.end(), [](const SpillPiece& other) { return other.opens(); });
  pieces_.insert(unopened, pieces.begin(), pieces.end());
  piece.leaving->pieces_left += pieces.size();
  if (!pieces.empty()) changed_.notify_all();
  if (--piece.leaving->pieces_left > 0) return;
  const std::uint64_t bytes = piece.leaving->segment.bytes();
  lock.unlock();
  piece.leaving->segment = {};
  // Whoever allocates next, in whatever stream, is to find it free.
  check(cudaStreamSynchronize(memory_stream()), "giving device memory back");
  lock.lock();
  for (SpilledPart& part : piece.leaving->parts) remember(std::move(part));
  leaving_.remove_if([&](const Leaving& leaving) { return &leaving == piece.leaving; });
  leaving_bytes_ -= bytes;
  changed_.notify_all();
}

/// A worker's thread: takes out what is leaving, and brings back what it is told to.
template <int Words>
void SpilledSegments<Words>::work(SpillThread& worker) {
  bool is_bringing = false;
  std::unique_lock lock(mutex_, std::defer_lock);
  try {
    check(cudaSetDevice(gpu_), "choosing a GPU");
    lock.lock();
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || failure_ || !pieces_.empty() || !worker.slices.empty(); });
      is_bringing = !worker.slices.empty();
      if (stop_ || failure_) break;
      if (is_bringing) {
        const std::vector<SpilledSlice> slices = std::exchange(worker.slices, {});
        lock.unlock();
        worker.bring(slices, *worker.free);
        lock.lock();
        --fetching_;
        changed_.notify_all();
      } else {
        const SpillPiece piece = pieces_.front();
        pieces_.pop_front();
        move_piece(worker, piece, lock);
      }
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
