#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/exchange/transposition.cuh"
#include "kernels/memory/current_device.cuh"

namespace warpmer::gpu {

namespace {

Event event_on(int ordinal) {
  const CurrentDevice current(ordinal);
  return Event();
}

/// Says whether it can be done, too.
bool link_memory_of(int other, int ordinal) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, ordinal, other), "asking how GPUs are linked");
  if (can == 0) return false;
  const CurrentDevice current(ordinal);
  const DriverLock::Shared use;
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    check(status, "linking GPUs");
  }
  // Memory of a pool is not meant by that.
  cudaMemPool_t pool{};
  check(cudaDeviceGetDefaultMemPool(&pool, other), "asking for the memory pool");
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = ordinal;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  check(cudaMemPoolSetAccess(pool, &access, 1), "linking the memory of GPUs");
  return true;
}

}  // namespace

bool reach_memory_of(int other, int ordinal) {
  // Linked GPUs stay linked, and asking again gives an error that says so.
  static std::mutex mutex;
  static std::map<std::pair<int, int>, bool> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find({ordinal, other});
  if (at != known.end()) return at->second;
  const bool reaches = link_memory_of(other, ordinal);
  known.emplace(std::pair(ordinal, other), reaches);
  return reaches;
}

Transposition::Link::Link(Way way_, int sender, int receiver)
    : way(way_), sent(event_on(sender)), fetched(event_on(receiver)) {}

Transposition::Transposition(std::vector<int> ordinals, Route route, SendOrder order)
    : ordinals_(std::move(ordinals)), order_(order), staged_(ordinals_.size()) {
  links_.reserve(ordinals_.size() * ordinals_.size());
  for (std::uint32_t sender = 0; sender < devices(); ++sender) {
    ready_.push_back(event_on(ordinals_[sender]));
    for (std::uint32_t receiver = 0; receiver < devices(); ++receiver)
      links_.emplace_back(way_between(sender, receiver, route), ordinals_[sender], ordinals_[receiver]);
  }
}

Transposition::Way Transposition::way_between(std::uint32_t sender, std::uint32_t receiver,
                                              Route route) const {
  if (sender == receiver) return Way::local;
  if (route == Route::host) return Way::host;
  const int from = ordinals_[sender], to = ordinals_[receiver];
  if (from == to) return Way::local;
  return reach_memory_of(to, from) && reach_memory_of(from, to) ? Way::peer : Way::host;
}

bool Transposition::goes_through_host() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.way == Way::host; });
}

void Transposition::make_room(const mpi::PartitionTable& table, std::size_t element_bytes) {
  for (std::uint32_t sender = 0; sender < devices(); ++sender) {
    bool is_staged = false;
    for (std::uint32_t receiver = 0; receiver < devices(); ++receiver)
      is_staged = is_staged || link(sender, receiver).way == Way::host;
    const std::size_t bytes = is_staged ? table.sent(sender) * element_bytes : 0;
    if (bytes <= staged_[sender].size()) continue;
    // Parts of the last time may still be on their way out of what is given back.
    for (std::uint32_t receiver = 0; receiver < devices(); ++receiver) link(sender, receiver).fetched.wait();
    staged_[sender].reserve(bytes + bytes / 8);
  }
}

void Transposition::send(const mpi::PartitionTable& table, std::size_t element_bytes, std::uint32_t sender,
                         std::uint32_t receiver, const std::vector<Share>& shares) {
  const std::size_t bytes = table.size(sender, receiver) * element_bytes;
  if (bytes == 0 || shares[sender].from == nullptr || shares[receiver].to == nullptr) return;
  const std::size_t before = table.send_offset(sender, receiver);
  const std::size_t room = shares[sender].part_room,
                    from = (room == 0 ? before : receiver * room) * element_bytes;
  const std::size_t to = table.receive_offset(sender, receiver) * element_bytes;
  const char* const part = static_cast<const char*>(shares[sender].from) + from;
  char* const target = static_cast<char*>(shares[receiver].to) + to;
  const cudaStream_t stream = shares[sender].stream;
  Link& link = this->link(sender, receiver);
  switch (link.way) {
    case Way::local:
      if (sender != receiver) ready_[receiver].let_follow(stream);
      check(cudaMemcpyAsync(target, part, bytes, cudaMemcpyDeviceToDevice, DriverLock::Shared(stream)),
            "moving a part");
      break;
    case Way::peer:
      ready_[receiver].let_follow(stream);
      check(cudaMemcpyPeerAsync(target, ordinals_[receiver], part, ordinals_[sender], bytes,
                                DriverLock::Shared(stream)),
            "sending a part to another GPU");
      break;
    case Way::host:
      copy_to_host(staged_[sender].data() + before * element_bytes, part, bytes, stream);
      break;
  }
  if (sender != receiver) link.sent.record(stream);
}

void Transposition::fetch(const mpi::PartitionTable& table, std::size_t element_bytes, std::uint32_t sender,
                          std::uint32_t receiver, const std::vector<Share>& shares) {
  const std::size_t bytes = table.size(sender, receiver) * element_bytes;
  Link& link = this->link(sender, receiver);
  if (bytes == 0 || sender == receiver) return;
  const cudaStream_t stream = shares[receiver].stream;
  link.sent.let_follow(stream);
  if (link.way != Way::host) return;
  copy_to_device(
      static_cast<char*>(shares[receiver].to) + table.receive_offset(sender, receiver) * element_bytes,
      staged_[sender].data() + table.send_offset(sender, receiver) * element_bytes, bytes, stream);
  link.fetched.record(stream);
}

void Transposition::run(const mpi::PartitionTable& table, std::size_t element_bytes,
                        const std::vector<Share>& shares) {
  make_room(table, element_bytes);
  for (std::uint32_t device = 0; device < devices(); ++device) {
    const CurrentDevice current(ordinals_[device]);
    ready_[device].record(shares[device].stream);
    // The parts that were staged the last time have left.
    for (std::uint32_t receiver = 0; receiver < devices(); ++receiver) {
      if (link(device, receiver).way == Way::host)
        link(device, receiver).fetched.let_follow(shares[device].stream);
    }
  }
  for (std::uint32_t step = 0; step < devices(); ++step) {
    for (std::uint32_t sender = 0; sender < devices(); ++sender) {
      const CurrentDevice current(ordinals_[sender]);
      const std::uint32_t receiver =
          order_ == SendOrder::ring ? mpi::ring_target(sender, step, devices()) : step;
      send(table, element_bytes, sender, receiver, shares);
    }
  }
  for (std::uint32_t step = 0; step < devices(); ++step) {
    for (std::uint32_t receiver = 0; receiver < devices(); ++receiver) {
      const CurrentDevice current(ordinals_[receiver]);
      fetch(table, element_bytes, mpi::ring_source(receiver, step, devices()), receiver, shares);
    }
  }
}

}  // namespace warpmer::gpu
