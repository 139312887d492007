#include <algorithm>

#include "core/minimizer.h"
#include "core/ownership.h"
#include "exchange.cuh"

namespace warpmer::gpu {

template <int Words>
Exchange<Words>::Exchange(Peers& peers, std::uint32_t list_bits)
    : peers_(peers), list_bits_(list_bits), owners_(peers.size()), senders_(peers.size()) {
  for (std::uint32_t i = 0; i < size(); ++i) {
    const CurrentDevice current(gpu(i));
    senders_[i].copies.emplace();
    senders_[i].gone.emplace();
  }
}

template <int Words>
Exchange<Words>::~Exchange() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    cudaSetDevice(gpu(i));
    cudaStreamSynchronize(*senders_[i].copies);
  }
  for (std::uint32_t i = 0; i < size(); ++i) {
    cudaSetDevice(gpu(i));
    senders_[i].sent.reset();
    senders_[i].waiting.clear();
    if (!arriving_.empty()) arriving_[i] = {};
  }
}

/// Ranges of lists are those of whole shards.
template <int Words>
std::uint32_t Exchange<Words>::first_list(std::uint32_t number) const {
  return first_shard_of(number, size(), 1u << kShardBits) << (list_bits_ - kShardBits);
}

template <int Words>
void Exchange<Words>::put(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream) {
  if (segment.parts.empty()) return;
  Outgoing outgoing{std::move(segment), std::vector<std::uint32_t>(size() + 1)};
  for (std::uint32_t i = 0; i <= size(); ++i)
    copy_to_host(&outgoing.bounds[i], outgoing.segment.offsets.data() + first_list(i), 1, stream);
  check(cudaStreamSynchronize(stream), "splitting super-k-mers");
  const std::lock_guard lock(mutex_);
  senders_[sender].waiting.push_back(std::move(outgoing));
  const bool too_many = senders_[sender].waiting.size() > 1;
  const bool all_have = std::all_of(senders_.begin(), senders_.end(), [](const Sender& other) {
    return !other.waiting.empty() || other.ended;
  });
  if (too_many || all_have) transpose();
}

template <int Words>
void Exchange<Words>::end(std::uint32_t sender) {
  const std::lock_guard lock(mutex_);
  senders_[sender].ended = true;
  if (!std::all_of(senders_.begin(), senders_.end(), [](const Sender& other) { return other.ended; })) return;
  while (std::any_of(senders_.begin(), senders_.end(),
                     [](const Sender& other) { return !other.waiting.empty(); }))
    transpose();
  take_arrived();
  for (std::uint32_t i = 0; i < size(); ++i) {
    const CurrentDevice current(gpu(i));
    senders_[i].clock.collect();
  }
}

/// One segment of each GPU that has one: sender offsets are those of its ranges of lists, receiver offsets
/// come of the partition table.
template <int Words>
void Exchange<Words>::transpose() {
  take_arrived();
  comm::PartitionTable table(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    Sender& sender = senders_[i];
    if (sender.waiting.empty()) continue;
    sender.sent = std::move(sender.waiting.front());
    sender.waiting.pop_front();
    for (std::uint32_t j = 0; j < size(); ++j)
      table.size(i, j) = sender.sent->bounds[j + 1] - sender.sent->bounds[j];
  }
  arriving_ = make_room(table);
  for (std::uint32_t step = 0; step < size(); ++step) {
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (!senders_[i].sent) continue;
      const CurrentDevice current(gpu(i));
      const std::uint32_t j = comm::ring_target(i, step, size());
      senders_[i].clock.time(*senders_[i].copies, [&] { send(i, j, arriving_[j], table); });
    }
  }
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (!senders_[i].sent) continue;
    const CurrentDevice current(gpu(i));
    senders_[i].gone->record(*senders_[i].copies);
  }
}

/// For what each GPU receives: a part of each sender's segment.
template <int Words>
std::vector<Segment<Words>> Exchange<Words>::make_room(const comm::PartitionTable& table) {
  std::vector<Segment<Words>> received;
  for (std::uint32_t j = 0; j < size(); ++j) {
    const CurrentDevice current(gpu(j));
    std::vector<typename Segment<Words>::Part> parts;
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (senders_[i].sent) parts.push_back({table.receive_offset(i, j), senders_[i].sent->bounds[j]});
    }
    const auto part_count = static_cast<std::uint32_t>(parts.size());
    owners_[j]->make_room_for(Segment<Words>::bytes_for(table.received(j), lists_of(j), part_count),
                              part_count);
    received.emplace_back(table.received(j), first_list(j), lists_of(j), part_count);
    received.back().parts = std::move(parts);
  }
  return received;
}

template <int Words>
void Exchange<Words>::send(std::uint32_t sender, std::uint32_t receiver, const Segment<Words>& to,
                           const comm::PartitionTable& table) {
  const Outgoing& from = *senders_[sender].sent;
  const cudaStream_t stream = *senders_[sender].copies;
  const std::uint32_t lists = lists_of(receiver), first = first_list(receiver);
  const std::uint64_t words = table.size(sender, receiver);
  // Parts are those of senders that have sent, in order.
  const auto part =
      static_cast<std::size_t>(std::count_if(senders_.begin(), senders_.begin() + sender,
                                             [](const Sender& other) { return other.sent.has_value(); }));
  const auto copy = [&](auto* there, const auto* here, std::size_t n) {
    peers_.copy(there, receiver, here, sender, n * sizeof *here, stream);
    if (sender != receiver) senders_[sender].bytes += n * sizeof *here;
  };
  copy(to.words.data() + to.parts[part].first_word, from.segment.words.data() + from.bounds[receiver], words);
  copy(to.offsets.data() + part * (lists + 1), from.segment.offsets.data() + first, lists + 1);
  copy(to.kmers.data() + part * lists, from.segment.kmers.data() + first, lists);
}

/// Waits until what was sent before has gone, and hands it to its owners. Not earlier: their streams, in
/// which the next texts are cut, would have to wait for it.
template <int Words>
void Exchange<Words>::take_arrived() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    Sender& sender = senders_[i];
    if (!sender.sent) continue;
    const CurrentDevice current(gpu(i));
    sender.gone->wait();
    sender.sent.reset();
  }
  for (std::uint32_t j = 0; j < arriving_.size(); ++j) {
    const CurrentDevice current(gpu(j));
    owners_[j]->take(std::move(arriving_[j]));
  }
  arriving_.clear();
}

template class Exchange<2>;
template class Exchange<4>;

}  // namespace warpmer::gpu
