#pragma once
/// The ways of callers to a live table: lanes of each of its GPUs, for texts and for lists of k-mers.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backend/live/table_loss.h"
#include "backend/lookup/lookup.h"
#include "base/buffer_pool.h"
#include "io/text/batch.h"
#include "kernels/live/divided_kmers.cuh"
#include "kernels/lookup/lookup_lane.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kmer/hash.h"

namespace warpmer::gpu {

inline void use_gpu(int gpu) { check(cudaSetDevice(gpu), "choosing a GPU"); }

/// The way of k-mers that are not in texts to their owner, and of the answers back.
template <class Key>
class KeyLane {
 public:
  static constexpr std::uint32_t kCapacity = 1u << 18;
  static constexpr std::uint64_t kDeviceBytes = kCapacity * (sizeof(Key) + 2 * sizeof(std::uint32_t));

  /// Returns the answers, until it is called again.
  std::span<const std::uint32_t> serve(const LiveKmers<Key>& table, LiveAction action,
                                       const KmerHash<Key>& hash, std::span<const Key> kmers,
                                       const std::uint32_t* counts) {
    const auto size = static_cast<std::uint32_t>(kmers.size());
    std::transform(kmers.begin(), kmers.end(), host_keys_.data(), hash);
    copy_to_device(keys_.data(), host_keys_.data(), size, stream_);
    if (counts != nullptr) {
      std::copy_n(counts, size, host_counts_.data());
      copy_to_device(counts_.data(), host_counts_.data(), size, stream_);
    }
    table.serve_keys(action, keys_.data(), counts == nullptr ? nullptr : counts_.data(), size,
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

/// A GPU with the lanes there.
template <class Key>
class LiveStation {
 public:
  LiveStation(const DividedKmers<Key>& divided, std::uint32_t number, unsigned threads)
      : divided_(divided), number_(number), hash_(divided.kmers().k), threads_(threads) {}
  LiveStation(const LiveStation&) = delete;
  LiveStation& operator=(const LiveStation&) = delete;
  /// Memory is given back to the device that is current.
  ~LiveStation() { cudaSetDevice(gpu()); }

  /// Returns the bytes that the lanes may hold.
  static std::uint64_t lanes_bytes(unsigned threads) {
    return threads * (kTextLanes * LaneShape{}.device_bytes() + KeyLane<Key>::kDeviceBytes);
  }

  /// Asks for all k-mers of a batch; bad characters are errors unless lenient.
  void profile(const io::Batch& batch, bool lenient, backend::Profile& out) const {
    use_gpu(gpu());
    (lenient ? lenient_asks_ : asks_).take()->profile(batch, out);
  }
  /// Returns whether it could.
  [[nodiscard]] bool summarise(const io::Batch& batch, bool lenient,
                               std::vector<backend::ReadSummary>& out) const {
    use_gpu(gpu());
    return (lenient ? lenient_asks_ : asks_).take()->summarise(batch, out);
  }
  /// Makes a change of all k-mers of a batch, whose characters have been checked. An error before the first
  /// k-mer changes nothing; with one that comes later, the table is lost.
  void change(LiveAction action, const io::Batch& batch, backend::Profile& answers,
              backend::TableLoss& loss) const {
    use_gpu(gpu());
    const auto lane = (action == LiveAction::insert ? inserts_ : removes_).take();
    lane->take_memory();
    loss.guard([&] { lane->profile(batch, answers); });
  }

  /// Serves any number of the GPU's own k-mers: `note(i, answer)` for each.
  template <class Note>
  void serve_kmers(LiveAction action, std::span<const Key> kmers, const std::uint32_t* counts,
                   Note&& note) const {
    use_gpu(gpu());
    const auto lane = keys_.take();
    for (std::size_t at = 0; at < kmers.size(); at += KeyLane<Key>::kCapacity) {
      const auto some = kmers.subspan(at, std::min<std::size_t>(KeyLane<Key>::kCapacity, kmers.size() - at));
      const auto answers = lane->serve(divided_.of_owner(number_), action, hash_, some,
                                       counts == nullptr ? nullptr : counts + at);
      for (std::size_t i = 0; i < answers.size(); ++i) note(at + i, answers[i]);
    }
  }

 private:
  static constexpr std::uint64_t kTextLanes = 4;

  [[nodiscard]] int gpu() const { return divided_.gpus()[number_]; }
  std::unique_ptr<LookupLane> make_lane(LiveAction action, bool lenient) const {
    return std::make_unique<LookupLane>(divided_.texts(number_, action), LaneShape{}, divided_.kmers().k,
                                        lenient);
  }

  const DividedKmers<Key>& divided_;
  const std::uint32_t number_;
  const KmerHash<Key> hash_;
  const unsigned threads_;
  mutable BufferPool<LookupLane> asks_{[this] { return make_lane(LiveAction::ask, false); }, threads_},
      lenient_asks_{[this] { return make_lane(LiveAction::ask, true); }, threads_},
      inserts_{[this] { return make_lane(LiveAction::insert, true); }, threads_},
      removes_{[this] { return make_lane(LiveAction::remove, true); }, threads_};
  mutable BufferPool<KeyLane<Key>> keys_{[] { return std::make_unique<KeyLane<Key>>(); }, threads_};
};

/// All GPUs of a table, which take batches in turn.
template <class Key>
class LiveStations {
 public:
  /// Takes so many bytes of each GPU, lanes included.
  LiveStations(const std::vector<int>& gpus, backend::LiveScheme scheme, KmerParams kmers,
               std::uint64_t bytes, unsigned threads)
      : divided_(gpus, scheme, bytes - bytes_besides(static_cast<std::uint32_t>(gpus.size()), threads), kmers,
                 LaneShape{}.slice_starts) {
    for (std::uint32_t number = 0; number < divided_.owners(); ++number)
      stations_.emplace_back(divided_, number, threads);
  }

  /// Returns the bytes that are taken of each of so many GPUs beside those for k-mers.
  static std::uint64_t bytes_besides(std::uint32_t gpus, unsigned threads) {
    return LiveStation<Key>::lanes_bytes(threads) +
           DividedKmers<Key>::routes_bytes(gpus, LaneShape{}.slice_starts);
  }

  [[nodiscard]] const DividedKmers<Key>& divided() const { return divided_; }
  [[nodiscard]] const KmerParams& kmers() const { return divided_.kmers(); }
  [[nodiscard]] const LiveStation<Key>& owner(std::uint32_t number) const { return stations_[number]; }
  [[nodiscard]] const LiveStation<Key>& next() const {
    return stations_[turn_.fetch_add(1, std::memory_order_relaxed) % stations_.size()];
  }

  /// Serves any number of k-mers, each at its owner: `note(i, answer)` for each.
  template <class Note>
  void serve_kmers(LiveAction action, std::span<const Key> kmers, Note&& note) const {
    std::vector<std::vector<Key>> of_owner(stations_.size());
    std::vector<std::vector<std::size_t>> places(stations_.size());
    for (std::size_t i = 0; i < kmers.size(); ++i) {
      const std::uint32_t number = divided_.owner_of_kmer(kmers[i]);
      of_owner[number].push_back(kmers[i]);
      places[number].push_back(i);
    }
    for (std::size_t number = 0; number < stations_.size(); ++number) {
      if (places[number].empty()) continue;
      stations_[number].serve_kmers(
          action, of_owner[number], nullptr,
          [&](std::size_t i, std::uint32_t answer) { note(places[number][i], answer); });
    }
  }

 private:
  const DividedKmers<Key> divided_;
  std::deque<LiveStation<Key>> stations_;
  mutable std::atomic<std::size_t> turn_{0};
};

}  // namespace warpmer::gpu
