#pragma once
/// Splitting entries into bins by several threads: the first two phases of HashGraph V2 (Green 2019, section
/// 3.3). Entries that are counted and placed in a bin afterwards stay in a core's cache.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace warpmer::cpu {

/// Entries by bin. Each thread first counts what it will bring for each bin; then all know where everything
/// goes, and no thread waits for another. The order inside a bin is that of the threads and, in what one
/// thread brings, the order in which it brings it: the same for any number of threads when each takes the
/// next part of the input.
template <class Key, class Value>
class BinSplitter {
  static constexpr std::size_t kLine = 8;
  struct CacheLine {
    std::array<Key, kLine> keys;
    std::array<Value, kLine> values;
  };

 public:
  BinSplitter(unsigned threads, std::uint32_t bins)
      : bins_(bins),
        threads_(threads),
        counts_(std::size_t{threads} * bins, 0),
        begins_(bins + std::size_t{1}) {}

  [[nodiscard]] std::uint32_t bins() const { return bins_; }

  /// Returns a thread's counters, one for each bin, at 0 to begin with.
  [[nodiscard]] std::uint64_t* counts(unsigned thread) {
    return counts_.data() + std::size_t{thread} * bins_;
  }

  /// Returns the number of entries of a bin, once all threads have counted.
  [[nodiscard]] std::uint64_t bin_size(std::uint32_t bin) const {
    std::uint64_t size = 0;
    for (unsigned t = 0; t < threads_; ++t) size += counts_[std::size_t{t} * bins_ + bin];
    return size;
  }

  /// Lays out bins [first, last), one behind the other, in arrays with room for all their entries; entries of
  /// other bins are not to be brought. May be called again, for other bins and arrays.
  void lay_out(std::uint32_t first, std::uint32_t last, Key* keys, Value* values) {
    first_ = first;
    last_ = last;
    keys_ = keys;
    values_ = values;
    cursors_.resize(std::size_t{threads_} * (last - first));
    std::uint64_t at = 0;
    for (std::uint32_t bin = first; bin < last; ++bin) {
      begins_[bin] = at;
      for (unsigned t = 0; t < threads_; ++t) {
        cursors_[std::size_t{t} * (last - first) + (bin - first)] = at;
        at += counts_[std::size_t{t} * bins_ + bin];
      }
    }
    begins_[last] = at;
  }

  /// Returns the place where a bin of those laid out begins; one past the last is the end.
  [[nodiscard]] std::uint64_t bin_begin(std::uint32_t bin) const { return begins_[bin]; }

  /// Brings one thread's entries to their places. Entries wait in a cache line for each bin, because
  /// thousands of places at once are too many for the processor's address translation.
  class Writer {
   public:
    Writer(BinSplitter& splitter, unsigned thread)
        : keys_(splitter.keys_),
          values_(splitter.values_),
          first_(splitter.first_),
          lines_(splitter.last_ - splitter.first_),
          cursors_(splitter.cursors_.data() + std::size_t{thread} * lines_),
          fills_(lines_, 0),
          buffers_(std::make_unique_for_overwrite<CacheLine[]>(lines_)) {}

    void put(std::uint32_t bin, Key key, Value value) {
      const std::uint32_t i = bin - first_;
      CacheLine& line = buffers_[i];
      line.keys[fills_[i]] = key;
      line.values[fills_[i]] = value;
      if (++fills_[i] == kLine) {
        std::memcpy(keys_ + cursors_[i], line.keys.data(), sizeof line.keys);
        std::memcpy(values_ + cursors_[i], line.values.data(), sizeof line.values);
        cursors_[i] += kLine;
        fills_[i] = 0;
      }
    }

    /// Puts what still waits in its place. Nothing may be put afterwards.
    void flush() {
      for (std::size_t i = 0; i < lines_; ++i) {
        if (fills_[i] == 0) continue;
        std::memcpy(keys_ + cursors_[i], buffers_[i].keys.data(), fills_[i] * sizeof(Key));
        std::memcpy(values_ + cursors_[i], buffers_[i].values.data(), fills_[i] * sizeof(Value));
      }
    }

   private:
    Key* keys_;
    Value* values_;
    std::uint32_t first_;
    std::size_t lines_;
    std::uint64_t* cursors_;
    std::vector<std::uint8_t> fills_;
    std::unique_ptr<CacheLine[]> buffers_;
  };

  /// Returns the bytes for splitting into `bins` bins besides the entries.
  [[nodiscard]] static std::uint64_t memory_bytes(unsigned threads, std::uint32_t bins) {
    return std::uint64_t{threads} * bins * (2 * sizeof(std::uint64_t) + sizeof(CacheLine) + 1) +
           std::uint64_t{bins} * sizeof(std::uint64_t);
  }

 private:
  std::uint32_t bins_;
  unsigned threads_;
  std::vector<std::uint64_t> counts_;  ///< by thread and bin
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> cursors_;  ///< by thread and bin of those laid out
  std::uint32_t first_ = 0, last_ = 0;
  Key* keys_ = nullptr;
  Value* values_ = nullptr;
};

}  // namespace warpmer::cpu
