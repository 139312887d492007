#pragma once
/// Fetches shards from the GPUs, for one thread.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "file/checksum.h"
#include "index/frozen_shard.h"
#include "kernels/session/download_streams.cuh"
#include "kmer/bit_stream.h"

namespace warpmer::gpu {

/// Shards come piece by piece through the two halves of a pinned block: while the thread works on one piece,
/// the next is on its way. One piece at a time leaves the link idle for half of the time, even with sixteen
/// threads: they reach 28 GB/s with one piece of 1 MB each, and 50 with two of 2 MB. Any GPU may be current
/// after a call.
class ShardDownloader {
 public:
  /// One of these GPUs must be current. Throws a ResourceError when there is no memory for it.
  ShardDownloader(const Peers& peers, DownloadStreamQueue& streams)
      : streams_(streams), block_(peers.pinned_blocks()) {}
  /// After an error, too, nothing is under way afterwards.
  ~ShardDownloader() {
    if (pieces_taken_ == pieces_sent_for_) return;
    for (PieceDownload& piece : pieces_) try_to_wait_for(piece);
    streams_.alone([&] { streams_.resource().let_copies_end(); });
  }

  /// Begins to fetch one more shard.
  void begin(ShardQueue::QueuedShard&& item) {
    orders_.push_back({std::move(item), 0, 0});
    send_for_pieces();
  }
  /// Return the number of shards that are begun and not completed, the first of them, and the last.
  [[nodiscard]] std::size_t under_way() const { return orders_.size(); }
  [[nodiscard]] const ShardQueue::QueuedShard& next() const { return orders_.front().item; }
  [[nodiscard]] std::uint32_t last_shard() const { return orders_.back().item.shard(); }

  /// Returns the first shard in memory, which is that of `payload`. Its words are summed as they are taken
  /// out, while they are in the core's cache: reading them again would take as long as copying them.
  index::FrozenShard in_memory(std::vector<std::uint64_t>&& payload) {
    const DownloadOrder& order = orders_.front();
    payload.clear();
    payload.reserve(order.words() + warpmer::kReadAheadWords);
    file::Checksum checksum;
    for (auto words = next_piece(); !words.empty(); words = next_piece()) {
      const auto start = Clock::now();
      take_out(words, payload, checksum);
      seconds_ += seconds_since(start);
    }
    index::FrozenShard frozen = order.item.head();
    frozen.payload = std::move(payload);
    frozen.checksum = checksum.value();
    return frozen;
  }
  /// Returns the first shard with a source, whose words are the pieces as they come. It can be read once,
  /// before `complete`.
  index::FrozenShard as_source() {
    index::FrozenShard frozen = orders_.front().item.head();
    frozen.source = {std::shared_ptr<void>(), &passing_};
    return frozen;
  }
  /// Ends the first shard; all of it has been taken out.
  void complete() {
    const DownloadOrder& order = orders_.front();
    if (order.taken < order.words()) throw InternalError("a shard on a GPU was not fetched");
    bytes_ += order.words() * sizeof(std::uint64_t);
    orders_.pop_front();
  }

  /// Returns the seconds of waiting for the GPUs, and of copying to memory.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t kWordsInCache = std::uint64_t{1} << 15;
  static constexpr unsigned kHalves = 2;
  static constexpr std::uint64_t kHalfWords = PinnedBlocks::kBytes / kHalves / sizeof(std::uint64_t);

  struct DownloadOrder {
    ShardQueue::QueuedShard item;
    std::uint64_t sent_for, taken;  ///< words

    [[nodiscard]] std::uint64_t words() const { return item.words(); }
  };
  /// Some words of a shard that have been requested.
  struct PieceDownload : DownloadStreamQueue::Task {
    ShardQueue::QueuedShard item;
    std::uint64_t first_word = 0, words = 0;
    std::uint64_t* to = nullptr;
    HostFence copied;

   private:
    void run(DownloadStreams& streams) override {
      streams.send(item, first_word, words, reinterpret_cast<unsigned long long*>(to), copied);
    }
  };
  /// The source of the first shard, while it comes.
  class Passing : public index::PayloadSource {
   public:
    explicit Passing(ShardDownloader& downloader) : downloader_(downloader) {}
    std::span<const std::uint64_t> next() override { return downloader_.next_piece(); }

   private:
    ShardDownloader& downloader_;
  };

  /// Returns the next piece of the first shard, whose half is taken until the next call; none at its end.
  std::span<const std::uint64_t> next_piece() {
    DownloadOrder& order = orders_.front();
    if (words_in_hand_ > 0) {
      order.taken += std::exchange(words_in_hand_, 0);
      ++pieces_taken_;
      send_for_pieces();
    }
    if (order.taken == order.words()) return {};
    PieceDownload& piece = pieces_[pieces_taken_ % kHalves];
    const auto start = Clock::now();
    streams_.wait_for(piece);
    piece.copied.wait();
    seconds_ += seconds_since(start);
    words_in_hand_ = piece.words;
    return {piece.to, piece.words};
  }

  /// Appends words to a payload.
  static void take_out(std::span<const std::uint64_t> words, std::vector<std::uint64_t>& payload,
                       file::Checksum& checksum) {
    for (std::size_t at = 0; at < words.size(); at += kWordsInCache) {
      const auto some = words.subspan(at, std::min<std::size_t>(kWordsInCache, words.size() - at));
      checksum.add({some.data(), some.size_bytes()});
      payload.insert(payload.end(), some.begin(), some.end());
    }
  }

  /// Requests the next pieces for the free halves.
  void send_for_pieces() {
    for (DownloadOrder& order : orders_) {
      while (order.sent_for < order.words()) {
        if (pieces_sent_for_ - pieces_taken_ == kHalves) return;
        send_for_piece(order);
      }
    }
  }
  void send_for_piece(DownloadOrder& order) {
    const std::uint64_t number = pieces_sent_for_ % kHalves;
    PieceDownload& piece = pieces_[number];
    piece.item = order.item;
    piece.first_word = order.sent_for;
    piece.words = std::min(kHalfWords, order.words() - order.sent_for);
    piece.to = block_.as<std::uint64_t>() + number * kHalfWords;
    ++pieces_sent_for_;
    order.sent_for += piece.words;
    streams_.add(piece);
  }
  void try_to_wait_for(PieceDownload& piece) noexcept {
    try {
      streams_.wait_for(piece);
    } catch (...) {  // then there is no copy to wait for
    }
  }

  DownloadStreamQueue& streams_;
  PinnedBlock block_;
  std::deque<DownloadOrder> orders_;
  PieceDownload pieces_[kHalves];  ///< one for each half
  std::uint64_t pieces_sent_for_ = 0, pieces_taken_ = 0;
  std::uint64_t words_in_hand_ = 0;  ///< of the piece that was returned last
  Passing passing_{*this};
  double seconds_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace warpmer::gpu
