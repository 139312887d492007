#include <algorithm>
#include <utility>

#include "core/minimizer.h"
#include "core/ownership.h"
#include "exchange.cuh"

namespace warpmer::gpu {

template <int Words>
Exchange<Words>::Exchange(std::unique_ptr<Carrier> carrier, std::uint32_t list_bits)
    : carrier_(std::move(carrier)),
      rounds_(carrier_->rounds()),
      size_(rounds_.devices()),
      first_own_(rounds_.first_own()),
      list_bits_(list_bits),
      owners_(carrier_->gpus().size()),
      senders_(carrier_->gpus().size()) {
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    senders_[i].moves.emplace();
    senders_[i].gone.emplace();
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

/// Ranges of lists are those of whole shards.
template <int Words>
std::uint32_t Exchange<Words>::first_list(std::uint32_t number) const {
  return first_shard_of(number, size_, 1u << kShardBits) << (list_bits_ - kShardBits);
}

template <int Words>
void Exchange<Words>::start() {
  courier_ = std::thread([this] { run(); });
}

template <int Words>
void Exchange<Words>::put(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream) {
  if (segment.parts.empty()) return;
  Outgoing outgoing{std::move(segment), std::vector<std::uint32_t>(size_ + 1)};
  for (std::uint32_t i = 0; i <= size_; ++i)
    copy_to_host(&outgoing.bounds[i], outgoing.segment.offsets.data() + first_list(i), 1, stream);
  check(cudaStreamSynchronize(stream), "splitting super-k-mers");
  if (outgoing.bounds.back() == 0) return;
  std::unique_lock lock(mutex_);
  auto& waiting = senders_[sender - first_own_].waiting;
  waiting.push_back(std::move(outgoing));
  changed_.notify_all();
  changed_.wait(lock, [&] { return failure_ || waiting.size() <= 1; });
  if (failure_) std::rethrow_exception(failure_);
}

template <int Words>
void Exchange<Words>::end(std::uint32_t sender) {
  std::unique_lock lock(mutex_);
  senders_[sender - first_own_].ended = true;
  changed_.notify_all();
  if (!std::all_of(senders_.begin(), senders_.end(), [](const Sender& other) { return other.ended; })) return;
  changed_.wait(lock, [&] { return failure_ || is_over_; });
  if (failure_) std::rethrow_exception(failure_);
}

template <int Words>
void Exchange<Words>::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
    if (!is_over_) carrier_->abandon();
  }
  if (courier_.joinable()) courier_.join();
}

// --- The courier.

template <int Words>
void Exchange<Words>::run() noexcept {
  try {
    check(cudaSetDevice(carrier_->gpus().gpu(0)), "choosing a GPU");
    carrier_->connect();
    carry_all();
    for (std::uint32_t i = 0; i < own(); ++i) {
      const CurrentDevice current(carrier_->gpus().gpu(i));
      senders_[i].clock.collect();
    }
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  } catch (...) {
    rounds_.report(std::current_exception());
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  changed_.notify_all();
}

/// Round after round, until all GPUs have ended, or nobody wants it any more.
template <int Words>
void Exchange<Words>::carry_all() {
  for (std::unique_lock lock(mutex_); !rounds_.have_ended() && !is_stopped_;) {
    rounds_.listen();
    if (has_too_many()) rounds_.urge();
    if (rounds_.may_offer() && (is_ready() || rounds_.is_urged())) offer();
    if (rounds_.is_complete()) {
      const comm::PartitionTable table = rounds_.take();
      lock.unlock();
      transpose(table);
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
  comm::PartitionTable rows(size_);
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

/// Sender offsets are those of ranges of lists, receiver offsets come of the partition table. Owners get what
/// has come when all of it is there, and not earlier: their streams, in which the next texts are cut, would
/// have to wait for it.
template <int Words>
void Exchange<Words>::transpose(const comm::PartitionTable& table) {
  Round round{table, {}, 0, {}, {}};
  for (std::uint32_t i = 0; i < size_; ++i) {
    round.part_of.push_back(round.parts);
    round.parts += table.sent(i) > 0 ? 1 : 0;
  }
  if (round.parts == 0) return;
  make_room(round);
  for (std::uint32_t step = 0; step < size_; ++step) {
    for (std::uint32_t i = 0; i < size_; ++i) {
      const std::uint32_t j = comm::ring_target(i, step, size_);
      if (table.sent(i) > 0 && (is_own(i) || is_own(j))) add_moves(i, j, round);
    }
  }
  carry(round.moves);
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    senders_[i].sent.reset();
    owners_[i]->take(std::move(round.arriving[i]));
  }
}

/// For what each GPU of this process receives: a part of each segment that is sent.
template <int Words>
void Exchange<Words>::make_room(Round& round) {
  const comm::PartitionTable& table = round.table;
  for (std::uint32_t j = first_own_; j < first_own_ + own(); ++j) {
    const CurrentDevice current(gpu(j));
    owners_[j - first_own_]->make_room_for(
        Segment<Words>::bytes_for(table.received(j), lists_of(j), round.parts), round.parts);
    Segment<Words> segment(table.received(j), first_list(j), lists_of(j), round.parts);
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (table.sent(i) == 0) continue;
      segment.parts[round.part_of[i]] = {table.receive_offset(i, j),
                                         static_cast<std::uint32_t>(table.send_offset(i, j))};
    }
    round.arriving.push_back(std::move(segment));
  }
}

/// Of a part that is sent: its words, where those of each list begin, and how many k-mers these have.
template <int Words>
void Exchange<Words>::add_moves(std::uint32_t sender, std::uint32_t receiver, Round& round) {
  Sender* const giver = is_own(sender) ? &senders_[sender - first_own_] : nullptr;
  Segment<Words>* const from = giver != nullptr ? &giver->sent->segment : nullptr;
  Segment<Words>* const to = is_own(receiver) ? &round.arriving[receiver - first_own_] : nullptr;
  const auto add = [&](auto array, std::size_t here, std::size_t there, std::size_t n) {
    Move move{sender, receiver, nullptr, nullptr, n * sizeof((std::declval<Segment<Words>&>().*array)[0])};
    if (from != nullptr) move.from = (from->*array).data() + here;
    if (to != nullptr) move.to = (to->*array).data() + there;
    if (giver != nullptr && sender != receiver) giver->bytes += move.bytes;
    round.moves.push_back(move);
  };
  const std::size_t lists = lists_of(receiver), first = first_list(receiver);
  const std::size_t part = round.part_of[sender];
  add(&Segment<Words>::words, round.table.send_offset(sender, receiver),
      round.table.receive_offset(sender, receiver), round.table.size(sender, receiver));
  add(&Segment<Words>::offsets, first, part * (lists + 1), lists + 1);
  add(&Segment<Words>::kmers, first, part * lists, lists);
}

/// Returns when everything has come.
template <int Words>
void Exchange<Words>::carry(const std::vector<Move>& moves) {
  std::vector<cudaStream_t> streams;
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    streams.push_back(*senders_[i].moves);
    senders_[i].clock.begin(streams.back());
  }
  carrier_->carry(moves, streams);
  for (std::uint32_t i = 0; i < own(); ++i) {
    const CurrentDevice current(carrier_->gpus().gpu(i));
    senders_[i].clock.end(streams[i]);
    senders_[i].gone->record(streams[i]);
  }
  for (std::uint32_t i = 0; i < own(); ++i) carrier_->wait(*senders_[i].gone);
}

template class Exchange<2>;
template class Exchange<4>;

}  // namespace warpmer::gpu
