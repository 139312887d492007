#include "mpi/read_results.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace warpmer::mpi {

ReadResults::ReadResults(std::vector<std::uint64_t> most_dealt, Write write, Release release)
    : most_dealt_(std::move(most_dealt)),
      write_(std::move(write)),
      release_(std::move(release)),
      dealt_to_(most_dealt_.size(), 0),
      came_(most_dealt_.size()) {}

std::optional<unsigned> ReadResults::deal(std::uint32_t file) {
  std::unique_lock lock(mutex_);
  std::optional<unsigned> rank;
  changed_.wait(lock, [&] { return is_stopped_ || call_back_ || (rank = rank_with_room()); });
  if (is_stopped_ || call_back_) return std::nullopt;
  dealt_.push_back({*rank, file});
  ++dealt_to_[*rank];
  next_rank_ = (*rank + 1) % static_cast<unsigned>(most_dealt_.size());
  return rank;
}

/// Returns the rank whose turn it is, or the first behind it that has room.
std::optional<unsigned> ReadResults::rank_with_room() const {
  const auto ranks = static_cast<unsigned>(most_dealt_.size());
  for (unsigned step = 0; step < ranks; ++step) {
    const unsigned rank = (next_rank_ + step) % ranks;
    if (dealt_to_[rank] < most_dealt_[rank]) return rank;
  }
  return std::nullopt;
}

bool ReadResults::wait_until_written() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopped_ || call_back_ || dealt_.empty(); });
  return !is_stopped_ && !call_back_;
}

std::optional<ReadProgress> ReadResults::begin_again() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopped_ || dealt_.empty(); });
  if (is_stopped_) return std::nullopt;
  return std::exchange(call_back_, std::nullopt);
}

void ReadResults::put(unsigned rank, Message&& result) {
  std::unique_lock lock(mutex_);
  came_[rank].push_back(std::move(result));
  if (is_writing_) return;  // the thread that is writing will find it
  is_writing_ = true;
  while (is_next_here()) write_next(lock);
  is_writing_ = false;
}

bool ReadResults::is_next_here() const {
  return !is_stopped_ && !dealt_.empty() && !came_[dealt_.front().rank].empty();
}

/// Writes what is next. To be called under the lock, which is given up for writing.
void ReadResults::write_next(std::unique_lock<std::mutex>& lock) {
  const Dealt next = dealt_.front();
  const Message result = std::move(came_[next.rank].front());
  came_[next.rank].pop_front();
  MessageReader in(result);
  const auto head = in.plain<ResultHead>();
  if (!next.is_void) {
    if (head.kind == ResultHead::ResultKind::failed) throw Error(head.error, std::string(in.rest()));
    if (head.kind == ResultHead::ResultKind::not_divisible) call_back(next.file);
    if (head.kind == ResultHead::ResultKind::text) note(next.file, head);
  }
  lock.unlock();
  if (!next.is_void && head.kind == ResultHead::ResultKind::text) write_(in);
  release_(next.rank, result.size());
  lock.lock();
  if (!head.is_last) return;
  dealt_.pop_front();
  --dealt_to_[next.rank];
  changed_.notify_all();
}

void ReadResults::note(std::uint32_t file, const ResultHead& head) {
  if (progress_.file != file) progress_ = {file};
  progress_.records += head.records;
  progress_.open_bases = head.open_bases;
}

/// Everything behind what is written has been dealt for nothing.
void ReadResults::call_back(std::uint32_t file) {
  if (progress_.file != file) progress_ = {file};
  call_back_ = progress_;
  for (Dealt& each : dealt_) each.is_void = true;
  changed_.notify_all();
}

void ReadResults::stop() noexcept {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

}  // namespace warpmer::mpi
