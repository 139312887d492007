#pragma once
/// The way of super-k-mers to their owners: devices of this process, and other ranks.
///
/// Every rank owns a contiguous range of shards, and its devices contiguous ranges of that. Split words go in
/// ring order, so that ranks do not all send to the same one. Parcels from other ranks are delivered by any
/// thread that comes by; one always does (ShardedSession has a thread for it), so that no rank waits for one
/// that waits for it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#include "cpu/memory/multisplit.h"
#include "kmer/ownership.h"
#include "mpi/exchange.h"
#include "mpi/process_group.h"
#include "mpi/transposition.h"

namespace warpmer::cpu {

template <class Word>
class ShardExchange {
 public:
  /// `threads` of this rank send, and say when they have sent all.
  ShardExchange(mpi::ProcessGroup& ranks, std::uint32_t shards, unsigned devices, unsigned threads)
      : ranks_(ranks),
        shards_(shards),
        devices_(devices),
        threads_in_(threads),
        first_shard_(first_shard_of(ranks.rank(), ranks.size(), shards)),
        end_shard_(first_shard_of(ranks.rank() + 1, ranks.size(), shards)),
        devices_exchange_(devices) {}

  /// Return the range of shards that this rank owns.
  [[nodiscard]] std::uint32_t first_shard() const { return first_shard_; }
  [[nodiscard]] std::uint32_t end_shard() const { return end_shard_; }

  /// Sends each owner its part; `append(shard, words, n)` takes what is this rank's. Returns how many bytes
  /// have gone to other devices or ranks, or have come.
  template <class Append>
  std::uint64_t scatter(const Multisplit<Word>& split, unsigned thread, unsigned threads, Append&& append) {
    std::uint64_t bytes = send_to_ranks(split);
    if (devices_ == 1) {
      for (std::uint32_t shard = first_shard_; shard < end_shard_; ++shard) {
        if (const std::size_t n = split.size(shard); n > 0) append(shard, split.begin(shard), n);
      }
    } else {
      for (std::uint32_t device = 0; device < devices_; ++device) {
        mpi::Parcel<Word> parcel = parcel_for(split, device);
        bytes += parcel.bytes();
        if (devices_exchange_.send(device, std::move(parcel)) > kInboxParcels) deliver(device, append);
      }
      for (unsigned device = thread; device < devices_; device += threads) deliver(device, append);
    }
    return bytes + deliver_from_ranks(append);
  }

  /// To be called when a thread has passed all on. The last one tells the others, and all help until nothing
  /// more can come; `evict` makes room where that is too much.
  template <class Append, class Evict>
  void end(Append&& append, Evict&& evict) {
    if (threads_in_.fetch_sub(1) == 1) {
      for (std::uint32_t device = 0; device < devices_; ++device) deliver(device, append);
      for (unsigned step = 0; step + 1 < ranks_.size(); ++step)
        ranks_.send(mpi::ring_target(ranks_.rank(), step, ranks_.size()), mpi::Channel::words, {});
    }
    while (!is_complete()) {
      deliver_next(append, kLook);
      evict();
    }
  }

  /// Appends the next parcel from another rank, if one comes within `patience`. Returns its bytes.
  template <class Append>
  std::uint64_t deliver_next(Append&& append, std::chrono::milliseconds patience) {
    if (!ranks_.are_several()) return 0;
    mpi::Message message;
    if (patience.count() > 0) ranks_.wait(mpi::Channel::words, patience);
    {
      const std::lock_guard lock(mutex_);
      unsigned from = 0;
      if (!ranks_.receive(mpi::Channel::words, from, message)) return 0;
      if (message.empty()) {  // it has sent its last parcel
        ++ended_;
        return 0;
      }
      ++delivering_;
    }
    append_message(message, append);
    const std::lock_guard lock(mutex_);
    --delivering_;
    return message.size();
  }

  /// True when all ranks have sent everything, and all of it is delivered.
  [[nodiscard]] bool is_complete() {
    if (!ranks_.are_several()) return true;
    const std::lock_guard lock(mutex_);
    return ended_ + 1 == ranks_.size() && delivering_ == 0;
  }

 private:
  /// Parcels in an inbox beyond which the sender delivers them himself.
  static constexpr std::size_t kInboxParcels = 4;
  static constexpr std::chrono::milliseconds kLook{5};

  std::uint64_t send_to_ranks(const Multisplit<Word>& split) {
    std::uint64_t bytes = 0;
    for (unsigned step = 0; step + 1 < ranks_.size(); ++step) {
      const unsigned to = mpi::ring_target(ranks_.rank(), step, ranks_.size());
      mpi::Message message = message_for(split, to);
      if (message.empty()) continue;
      bytes += message.size();
      ranks_.send(to, mpi::Channel::words, std::move(message));
    }
    return bytes;
  }

  /// Returns the words that a rank owns, and behind them where those of its shards end; empty if there are
  /// none.
  mpi::Message message_for(const Multisplit<Word>& split, unsigned to) const {
    const std::uint32_t first = first_shard_of(to, ranks_.size(), shards_);
    const std::uint32_t end = first_shard_of(to + 1, ranks_.size(), shards_);
    const std::uint32_t begin_word = split.offset(first), words = split.offset(end) - begin_word;
    if (words == 0) return {};
    mpi::Message message(words * sizeof(Word) + (end - first) * sizeof(std::uint32_t));
    char* at = message.data();
    std::memcpy(at, split.begin(first), words * sizeof(Word));
    at += words * sizeof(Word);
    for (std::uint32_t shard = first; shard < end; ++shard, at += sizeof(std::uint32_t)) {
      const std::uint32_t offset = split.offset(shard + 1) - begin_word;
      std::memcpy(at, &offset, sizeof offset);
    }
    return message;
  }

  template <class Append>
  void append_message(const mpi::Message& message, Append& append) const {
    const auto* words = reinterpret_cast<const Word*>(message.data());
    const char* at = message.data() + message.size() - (end_shard_ - first_shard_) * sizeof(std::uint32_t);
    std::uint32_t from = 0;
    for (std::uint32_t shard = first_shard_; shard < end_shard_; ++shard, at += sizeof(std::uint32_t)) {
      std::uint32_t to = 0;
      std::memcpy(&to, at, sizeof to);
      if (to > from) append(shard, words + from, to - from);
      from = to;
    }
  }

  template <class Append>
  std::uint64_t deliver_from_ranks(Append& append) {
    std::uint64_t bytes = 0;
    while (const std::uint64_t more = deliver_next(append, std::chrono::milliseconds(0))) bytes += more;
    return bytes;
  }

  mpi::Parcel<Word> parcel_for(const Multisplit<Word>& split, std::uint32_t device) const {
    const std::uint32_t own = end_shard_ - first_shard_;
    mpi::Parcel<Word> parcel;
    parcel.first_shard = first_shard_ + first_shard_of(device, devices_, own);
    const std::uint32_t end = first_shard_ + first_shard_of(device + 1, devices_, own);
    for (std::uint32_t shard = parcel.first_shard; shard <= end; ++shard)
      parcel.offsets.push_back(split.offset(shard) - split.offset(parcel.first_shard));
    parcel.words.assign(split.begin(parcel.first_shard),
                        split.begin(parcel.first_shard) + parcel.offsets.back());
    return parcel;
  }

  /// Appends everything in a device's inbox to its shards.
  template <class Append>
  void deliver(std::uint32_t device, Append& append) {
    for (mpi::Parcel<Word> parcel; devices_exchange_.receive(device, parcel);) {
      for (std::uint32_t i = 0; i + 1 < parcel.offsets.size(); ++i) {
        const std::uint32_t from = parcel.offsets[i], to = parcel.offsets[i + 1];
        if (to > from) append(parcel.first_shard + i, parcel.words.data() + from, to - from);
      }
    }
  }

  mpi::ProcessGroup& ranks_;
  const std::uint32_t shards_;
  const std::uint32_t devices_;
  std::atomic<unsigned> threads_in_;
  const std::uint32_t first_shard_, end_shard_;
  mpi::InProcessExchange<Word> devices_exchange_;
  std::mutex mutex_;  ///< guards what follows
  unsigned ended_ = 0;
  unsigned delivering_ = 0;
};

}  // namespace warpmer::cpu
