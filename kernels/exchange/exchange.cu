#include <algorithm>
#include <utility>

#include "base/thread_without_signals.h"
#include "kernels/exchange/exchange.cuh"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"

namespace warpmer::gpu {

template <int Words>
Exchange<Words>::Exchange(std::unique_ptr<Carrier> carrier, std::uint32_t bin_bits)
    : carrier_(std::move(carrier)),
      rounds_(carrier_->rounds()),
      size_(rounds_.devices()),
      first_own_(rounds_.first_own()),
      bin_bits_(bin_bits),
      owners_(carrier_->gpus().size()),
      senders_(carrier_->gpus().size()) {
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    senders_[i].moves.emplace();
    for (auto& event : senders_[i].gone) event.emplace();
  }
}

template <int Words>
Exchange<Words>::~Exchange() {
  stop();
  for (std::uint32_t i = 0; i < own(); ++i) {
    cudaSetDevice(carrier_->gpus().gpu(i));
    cudaStreamSynchronize(*senders_[i].moves);
    senders_[i].sent.reset();
    senders_[i].waiting.clear();
  }
}

/// Ranges of bins are those of whole shards.
template <int Words>
std::uint32_t Exchange<Words>::first_bin(std::uint32_t number) const {
  return first_shard_of(number, size_, 1u << kShardBits) << (bin_bits_ - kShardBits);
}

template <int Words>
void Exchange<Words>::start() {
  thread_ = start_thread_without_signals([this] { run(); }, "that moves data between GPUs");
}

template <int Words>
void Exchange<Words>::put(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream) {
  enqueue(sender, std::move(segment), stream, false);
}

template <int Words>
void Exchange<Words>::end(std::uint32_t sender, Segment<Words>&& last, cudaStream_t stream) {
  enqueue(sender, std::move(last), stream, true);
  std::unique_lock lock(mutex_);
  if (!std::all_of(senders_.begin(), senders_.end(), [](const Sender& other) { return other.ended; })) return;
  changed_.wait(lock, [&] { return failure_ || is_handed_over_ || is_over_; });
  if (failure_) std::rethrow_exception(failure_);
}

/// A segment says that it is the last; so its round is known to be the last.
template <int Words>
void Exchange<Words>::enqueue(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream,
                              bool is_last) {
  OutgoingSegment outgoing{std::move(segment), std::vector<std::uint32_t>(size_ + 1)};
  if (!outgoing.segment.parts.empty()) {
    for (std::uint32_t i = 0; i <= size_; ++i)
      copy_to_host(&outgoing.bounds[i], outgoing.segment.offsets.data() + first_bin(i), 1, stream);
    check(cudaStreamSynchronize(stream), "splitting super-k-mers");
  }
  std::unique_lock lock(mutex_);
  Sender& its = senders_[sender - first_own_];
  if (outgoing.bounds.back() > 0) its.waiting.push_back(std::move(outgoing));
  its.ended = is_last;
  changed_.notify_all();
  changed_.wait(lock, [&] { return failure_ || its.waiting.size() <= 1; });
  if (failure_) std::rethrow_exception(failure_);
}

template <int Words>
void Exchange<Words>::wait_for_slices(std::uint32_t slices) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || is_over_ || slices_there_ >= slices; });
  if (failure_) std::rethrow_exception(failure_);
}

template <int Words>
void Exchange<Words>::wait_until_over() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || is_over_; });
  if (failure_) std::rethrow_exception(failure_);
}

template <int Words>
void Exchange<Words>::stop() noexcept {
  {
    std::unique_lock lock(mutex_);
    // All GPUs have ended then, what is on its way comes soon, and other ranks may want it.
    if (is_handed_over_) changed_.wait(lock, [&] { return failure_ || is_over_; });
    is_stopped_ = true;
    changed_.notify_all();
    if (!is_over_) carrier_->abandon();
  }
  if (thread_.joinable()) thread_.join();
}

// --- The exchange thread.

template <int Words>
void Exchange<Words>::run() noexcept {
  try {
    check(cudaSetDevice(carrier_->gpus().gpu(0)), "choosing a GPU");
    carrier_->connect();
    carry_all();
    for (std::uint32_t i = 0; i < own(); ++i) {
      const CurrentDevice current(carrier_->gpus().gpu(i));
      senders_[i].clock.collect();
      senders_[i].last_clock.collect();
    }
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  } catch (...) {
    std::unique_lock lock(mutex_);
    const bool is_failure =
        !is_stopped_;  // else it follows from the stop, and the thread that has stopped it knows why
    lock.unlock();
    if (is_failure) rounds_.report(std::current_exception());  // first: giving up may wait for others
    carrier_->give_up();
    lock.lock();
    failure_ = std::current_exception();
  }
  changed_.notify_all();
}

/// Runs round after round, until all GPUs have ended, or the exchange is stopped.
template <int Words>
void Exchange<Words>::carry_all() {
  for (std::unique_lock lock(mutex_); !rounds_.have_ended() && !is_stopped_;) {
    rounds_.listen();
    if (has_too_many()) rounds_.urge();
    if (rounds_.may_offer() && (is_ready() || rounds_.is_urged())) offer();
    if (rounds_.is_complete()) {
      const mpi::PartitionTable table = rounds_.take();
      const bool is_last = rounds_.have_ended();
      lock.unlock();
      transpose(table, is_last);
      lock.lock();
    } else if (rounds_.are_between_ranks()) {
      changed_.wait_for(lock, kLook);
    } else {
      changed_.wait(lock);
    }
  }
}

/// Under the lock: whether each GPU of this process has a segment to send, or will have none.
template <int Words>
bool Exchange<Words>::is_ready() const {
  return std::all_of(senders_.begin(), senders_.end(),
                     [](const Sender& sender) { return !sender.waiting.empty() || sender.ended; });
}
/// Under the lock: whether one cannot go on before a round.
template <int Words>
bool Exchange<Words>::has_too_many() const {
  return std::any_of(senders_.begin(), senders_.end(),
                     [](const Sender& sender) { return sender.waiting.size() > 1; });
}

/// Under the lock: one segment of each GPU that has one.
template <int Words>
void Exchange<Words>::offer() {
  mpi::PartitionTable rows(size_);
  bool is_last = true;
  for (std::uint32_t i = 0; i < own(); ++i) {
    Sender& sender = senders_[i];
    if (!sender.waiting.empty()) {
      sender.sent = std::move(sender.waiting.front());
      sender.waiting.pop_front();
      for (std::uint32_t j = 0; j < size_; ++j)
        rows.size(first_own_ + i, j) = sender.sent->bounds[j + 1] - sender.sent->bounds[j];
    }
    is_last &= sender.ended && sender.waiting.empty();
  }
  rounds_.offer(rows, is_last);
  changed_.notify_all();
}

/// Sender offsets are those of ranges of bins, receiver offsets come of the partition table.
template <int Words>
void Exchange<Words>::transpose(const mpi::PartitionTable& table, bool is_last) {
  ExchangeRound round{table, {}, 0, {}, {}};
  for (std::uint32_t i = 0; i < size_; ++i) {
    round.part_of.push_back(round.parts);
    round.parts += table.sent(i) > 0 ? 1 : 0;
  }
  if (round.parts == 0) return;
  make_room(round);
  if (is_last) {
    send_in_slices(round);
  } else {
    send_at_once(round);
  }
  with_each_sender([](Sender& sender) { sender.sent.reset(); });
}

/// For what each GPU of this process receives: a part of each segment that is sent.
template <int Words>
void Exchange<Words>::make_room(ExchangeRound& round) {
  const mpi::PartitionTable& table = round.table;
  for (std::uint32_t j = first_own_; j < first_own_ + own(); ++j) {
    const CurrentDevice current(gpu(j));
    owners_[j - first_own_]->make_room_for(
        Segment<Words>::bytes_for(table.received(j), bins_of(j), round.parts), round.parts);
    Segment<Words> segment(table.received(j), first_bin(j), bins_of(j), round.parts);
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (table.sent(i) == 0) continue;
      segment.parts[round.part_of[i]] = {table.receive_offset(i, j),
                                         static_cast<std::uint32_t>(table.send_offset(i, j))};
    }
    round.words.push_back(segment.words.data());
    round.arriving.push_back(std::move(segment));
  }
}

/// Owners get what has come when all of it is there, and not earlier: their streams, in which the next texts
/// are cut, would have to wait for it.
template <int Words>
void Exchange<Words>::send_at_once(ExchangeRound& round) {
  with_each_sender([](Sender& sender) { sender.clock.begin(*sender.moves); });
  add_bins(round);
  add_words(round, 0, kSlices);
  carry(round, 0);
  with_each_sender([](Sender& sender) { sender.clock.end(*sender.moves); });
  wait(0);
  hand_over(round, false);
}

/// No text comes any more: owners begin to count while words are on their way. One slice is sent before the
/// one before it has come.
template <int Words>
void Exchange<Words>::send_in_slices(ExchangeRound& round) {
  with_each_sender([](Sender& sender) { sender.last_clock.begin(*sender.moves); });
  add_bins(round);
  carry(round, 0);
  for (std::uint32_t slice = 0; slice < kSlices; ++slice) {
    add_words(round, slice, slice + 1);
    carry(round, (slice + 1) % 2);
    wait(slice % 2);
    if (slice == 0) hand_over(round, true);
    note_slices(slice);
  }
  with_each_sender([](Sender& sender) { sender.last_clock.end(*sender.moves); });
  wait(kSlices % 2);
  note_slices(kSlices);
}

/// Pairs of GPUs of which one gives the other something, and one at least is of this process.
template <int Words>
template <class Add>
void Exchange<Words>::for_pairs(const ExchangeRound& round, Add&& add) const {
  for (std::uint32_t step = 0; step < size_; ++step) {
    for (std::uint32_t i = 0; i < size_; ++i) {
      const std::uint32_t j = mpi::ring_target(i, step, size_);
      if (round.table.sent(i) > 0 && (is_own(i) || is_own(j))) add(i, j);
    }
  }
}

/// Adds moves, for each part, of the begins of each bin's words, and of the numbers of their k-mers.
template <int Words>
void Exchange<Words>::add_bins(ExchangeRound& round) {
  for_pairs(round, [&](std::uint32_t i, std::uint32_t j) {
    const Segment<Words>* const from = is_own(i) ? &senders_[i - first_own_].sent->segment : nullptr;
    const Segment<Words>* const to = is_own(j) ? &round.arriving[j - first_own_] : nullptr;
    const std::size_t bins = bins_of(j), first = first_bin(j), part = round.part_of[i];
    add_move(round, i, j, from == nullptr ? nullptr : from->offsets.data() + first,
             to == nullptr ? nullptr : to->offsets.data() + part * (bins + 1), bins + 1);
    add_move(round, i, j, from == nullptr ? nullptr : from->kmers.data() + first,
             to == nullptr ? nullptr : to->kmers.data() + part * bins, bins);
  });
}

/// Adds moves, for each part, of its words in the slices [first, end).
template <int Words>
void Exchange<Words>::add_words(ExchangeRound& round, std::uint32_t first, std::uint32_t end) {
  for_pairs(round, [&](std::uint32_t i, std::uint32_t j) {
    const SuperKmer<Words>* const from =
        is_own(i) ? senders_[i - first_own_].sent->segment.words.data() + round.table.send_offset(i, j)
                  : nullptr;
    SuperKmer<Words>* const to =
        is_own(j) ? round.words[j - first_own_] + round.table.receive_offset(i, j) : nullptr;
    const std::uint64_t words = round.table.size(i, j), begin = slice_begin(words, first);
    add_move(round, i, j, from == nullptr ? nullptr : from + begin, to == nullptr ? nullptr : to + begin,
             slice_begin(words, end) - begin);
  });
}

template <int Words>
template <class T>
void Exchange<Words>::add_move(ExchangeRound& round, std::uint32_t sender, std::uint32_t receiver,
                               const T* from, T* to, std::size_t n) {
  round.moves.push_back({sender, receiver, from, to, n * sizeof(T)});
  if (is_own(sender) && sender != receiver) senders_[sender - first_own_].bytes += n * sizeof(T);
}

/// Enqueues the moves that were added. There are two turns.
template <int Words>
void Exchange<Words>::carry(ExchangeRound& round, std::uint32_t turn) {
  std::vector<cudaStream_t> streams;
  for (const Sender& sender : senders_) streams.push_back(*sender.moves);
  carrier_->carry(round.moves, streams);
  round.moves.clear();
  with_each_sender([&](Sender& sender) { sender.gone[turn]->record(*sender.moves); });
}

/// Until everything of that turn has come.
template <int Words>
void Exchange<Words>::wait(std::uint32_t turn) {
  for (const Sender& sender : senders_) carrier_->wait(*sender.gone[turn]);
}

template <int Words>
void Exchange<Words>::hand_over(ExchangeRound& round, bool comes_in_slices) {
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    owners_[i]->take(std::move(round.arriving[i]), comes_in_slices);
  }
}

/// Notes that so many slices are there, and that owners have the segments that come in slices.
template <int Words>
void Exchange<Words>::note_slices(std::uint32_t there) {
  const std::lock_guard lock(mutex_);
  is_handed_over_ = true;
  slices_there_ = there;
  changed_.notify_all();
}

/// With its GPU current.
template <int Words>
template <class With>
void Exchange<Words>::with_each_sender(With&& with) {
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    with(senders_[i]);
  }
}

template class Exchange<2>;
template class Exchange<4>;

}  // namespace warpmer::gpu
