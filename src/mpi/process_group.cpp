#include "mpi/process_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/memory_text.h"
#include "host/node_share.h"

namespace warpmer::mpi {

namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of a channel's messages to be sent, and of those that have come, at most: beyond that, a thread that
/// sends waits, and what comes waits where it is. No channel takes another one's room, or threads that wait
/// for each other might never go on.
constexpr std::uint64_t kMostQueuedBytes = std::uint64_t{8} << 20;
/// Messages of a channel that are being sent at a time, to all ranks.
constexpr std::size_t kMostBeingSent = 32;

/// Time between looks for messages when nothing goes on; doubled up to the longest. MPI wakes no thread when
/// a message comes or has been sent: it has to be asked. Messages that threads of this process post wake at
/// once.
constexpr std::chrono::microseconds kShortestNap{20};
constexpr std::chrono::microseconds kLongestNap{2000};
constexpr int kLooksWithoutNap = 50;

/// Time that ranks have to agree on a failure, and to come to the end after one.
constexpr std::chrono::seconds kFailurePatience{5};

/// Queues of these channels are bounded: threads that fill them can wait.
bool is_bounded(Channel channel) { return channel >= Channel::batches; }

Message encode(const JobFailure& job_failure) {
  Message message;
  put_plain(message, job_failure.kind);
  put_text(message, job_failure.message);
  put_text(message, job_failure.place);
  return message;
}

JobFailure decode_job_failure(const Message& message) {
  MessageReader in(message);
  const auto kind = in.plain<ErrorKind>();
  std::string text(in.text());
  return {kind, std::move(text), std::string(in.text())};
}

}  // namespace

ProcessGroup::ProcessGroup(std::unique_ptr<RankLink> link, unsigned expected) : link_(std::move(link)) {
  thread_ = std::thread([this, expected] { run(expected); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_open_ || opening_error_; });
  if (!opening_error_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(opening_error_);
}

ProcessGroup::~ProcessGroup() { leave(0); }

ProcessGroup& single_process() {
  static ProcessGroup ranks;
  return ranks;
}

std::uint64_t ProcessGroup::memory_bytes() const {
  // Batches and words, in and out.
  return are_several() ? 4 * kMostQueuedBytes : 0;
}

// --- The thread that talks to the others.

void ProcessGroup::run(unsigned expected) {
  try {
    link_->open();
    if (link_->size() != expected) {
      const unsigned found = link_->size();
      link_->close();
      throw ResourceError(fmt::format(
          "this process was started as one of {}, but MPI finds {}; start it by the mpirun of the MPI that "
          "warpmer was built with, or by srun --mpi=pmix",
          expected, found));
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    opening_error_ = std::current_exception();
    changed_.notify_all();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    rank_ = link_->rank();
    size_ = link_->size();
    is_open_ = true;
    changed_.notify_all();
  }
  std::chrono::microseconds nap = kShortestNap;
  int idle_looks = 0;
  while (!has_ended()) {
    if (is_overdue()) {
      link_->tear_down(leaving_status_);
      return;
    }
    if (step()) {
      nap = kShortestNap;
      idle_looks = 0;
      continue;
    }
    // Large messages go piece by piece, and only while a thread looks.
    const bool is_under_way = !being_sent_.empty() || link_->is_receiving();
    if (is_under_way && ++idle_looks < kLooksWithoutNap) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock lock(mutex_);
    if (is_under_way || is_idle()) changed_.wait_for(lock, nap);
    nap = is_under_way ? kShortestNap : std::min(2 * nap, kLongestNap);
  }
  link_->close();
}

/// True when anything was to be done.
bool ProcessGroup::step() {
  const bool has_received = receive_all();
  const bool has_finished = finish_sends();
  return start_sends() || has_received || has_finished;
}

bool ProcessGroup::start_sends() {
  bool any = false;
  for (std::size_t i = 0; i < kChannels; ++i) {
    while (start_send(static_cast<Channel>(i))) any = true;
  }
  return any;
}

bool ProcessGroup::start_send(Channel channel) {
  BeingSent next{channel, {}};
  {
    const std::lock_guard lock(mutex_);
    MessageQueue& from = queue(channel);
    if (from.outgoing.empty() || from.being_sent == kMostBeingSent) return false;
    ++from.being_sent;
    next.outgoing = std::move(from.outgoing.front());
    from.outgoing.pop_front();
  }
  const std::uint64_t ticket = next_ticket_++;
  const OutgoingMessage& kept = being_sent_.emplace(ticket, std::move(next)).first->second.outgoing;
  link_->start_send(ticket, kept.to, channel, kept.message);
  return true;
}

bool ProcessGroup::finish_sends() {
  bool any = false;
  while (const auto ticket = link_->finish_send()) {
    const auto sent = being_sent_.extract(*ticket);
    const std::lock_guard lock(mutex_);
    MessageQueue& from = queue(sent.mapped().channel);
    from.outgoing_bytes -= sent.mapped().outgoing.message.size();
    --from.being_sent;
    changed_.notify_all();
    any = true;
  }
  return any;
}

bool ProcessGroup::receive_all() {
  bool any = false;
  for (std::size_t i = 0; i < kChannels; ++i) {
    const auto channel = static_cast<Channel>(i);
    {
      const std::lock_guard lock(mutex_);
      if (!has_failed_ && is_bounded(channel) && queue(channel).incoming_bytes > kMostQueuedBytes) continue;
    }
    IncomingMessage incoming{};
    if (!link_->receive(channel, incoming.from, incoming.message)) continue;
    any = true;
    if (channel == Channel::failure) {
      take_failure(std::move(incoming.message));
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (has_failed_) continue;  // it is no longer wanted
    queue(channel).incoming_bytes += incoming.message.size();
    queue(channel).incoming.push_back(std::move(incoming));
    changed_.notify_all();
  }
  return any;
}

/// Rank 0 decides; the others are told.
void ProcessGroup::take_failure(Message&& message) {
  const std::lock_guard lock(mutex_);
  if (job_failure_) return;
  if (rank_ == 0) {
    decide(decode_job_failure(message));
  } else {
    conclude(decode_job_failure(message));
  }
}

/// To be called on rank 0, under the lock.
void ProcessGroup::decide(JobFailure&& job_failure) {
  for (unsigned to = 1; to < size_; ++to) enqueue(to, Channel::failure, encode(job_failure));
  conclude(std::move(job_failure));
}

/// To be called under the lock, when there is nothing more to do but to end. Messages that are being sent go
/// on; their receivers throw them away.
void ProcessGroup::conclude(JobFailure&& job_failure) {
  job_failure_ = std::move(job_failure);
  failed_at_ = Clock::now();
  has_failed_ = true;
  for (std::size_t i = 0; i < kChannels; ++i) {
    MessageQueue& each = queues_[i];
    each.incoming.clear();
    each.incoming_bytes = 0;
    if (static_cast<Channel>(i) == Channel::failure) continue;
    for (const OutgoingMessage& dropped : each.outgoing) each.outgoing_bytes -= dropped.message.size();
    each.outgoing.clear();
  }
  for (const auto& [number, on_failure] : watches_) on_failure();
  watches_.clear();
  changed_.notify_all();
}

/// True when nothing waits to be sent. To be called under the lock.
bool ProcessGroup::is_idle() const {
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const MessageQueue& each) { return each.outgoing.empty(); });
}

/// True when this rank is leaving, and all others have come as far.
bool ProcessGroup::has_ended() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_leaving_ || !is_idle()) return false;
  }
  return being_sent_.empty() && link_->all_have_ended();
}

/// True when this rank has waited long enough for the others to end after a failure.
bool ProcessGroup::is_overdue() {
  const std::lock_guard lock(mutex_);
  return is_leaving_ && job_failure_ && Clock::now() > failed_at_ + 2 * kFailurePatience;
}

// --- Messages.

void ProcessGroup::throw_if_failed() const {
  if (job_failure_) throw Error(job_failure_->kind, job_failure_->message);
}

/// To be called under the lock.
void ProcessGroup::enqueue(unsigned to, Channel channel, Message&& message) {
  queue(channel).outgoing_bytes += message.size();
  queue(channel).outgoing.push_back({to, std::move(message)});
  changed_.notify_all();
}

void ProcessGroup::post(unsigned to, Channel channel, Message&& message) {
  if (message.size() > INT32_MAX) {
    throw ResourceError(
        fmt::format("{} cannot go from one rank to another in one piece; run the job in one process",
                    mebibytes(message.size())));
  }
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  enqueue(to, channel, std::move(message));
}

void ProcessGroup::send(unsigned to, Channel channel, Message&& message) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job_failure_ || queue(channel).outgoing_bytes <= kMostQueuedBytes; });
  }
  post(to, channel, std::move(message));
}

bool ProcessGroup::is_full(Channel channel) {
  const std::lock_guard lock(mutex_);
  return queue(channel).outgoing_bytes > kMostQueuedBytes;
}

void ProcessGroup::wait(Channel channel, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return job_failure_ || !queue(channel).incoming.empty(); });
}

bool ProcessGroup::receive(Channel channel, unsigned& from, Message& message,
                           std::chrono::milliseconds patience) {
  if (patience.count() > 0) wait(channel, patience);
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  MessageQueue& here = queue(channel);
  if (here.incoming.empty()) return false;
  from = here.incoming.front().from;
  message = std::move(here.incoming.front().message);
  here.incoming.pop_front();
  here.incoming_bytes -= message.size();
  return true;
}

Message ProcessGroup::receive_from(unsigned from, Channel channel) {
  std::unique_lock lock(mutex_);
  MessageQueue& here = queue(channel);
  while (true) {
    throw_if_failed();
    const auto found = std::find_if(here.incoming.begin(), here.incoming.end(),
                                    [&](const IncomingMessage& each) { return each.from == from; });
    if (found != here.incoming.end()) {
      Message message = std::move(found->message);
      here.incoming.erase(found);
      here.incoming_bytes -= message.size();
      return message;
    }
    changed_.wait(lock);
  }
}

// --- Together.

std::vector<Message> ProcessGroup::gather(Message&& message) {
  std::vector<Message> all;
  if (rank_ != 0) {
    send(0, Channel::together, std::move(message));
    return all;
  }
  all.push_back(std::move(message));
  for (unsigned from = 1; from < size_; ++from) all.push_back(receive_from(from, Channel::together));
  return all;
}

Message ProcessGroup::broadcast(Message&& message) {
  if (rank_ != 0) return receive_from(0, Channel::together);
  for (unsigned to = 1; to < size_; ++to) send(to, Channel::together, Message(message));
  return std::move(message);
}

std::vector<std::uint64_t> ProcessGroup::all_gather(std::uint64_t number) {
  Message mine, all;
  put_plain(mine, number);
  for (const Message& each : gather(std::move(mine))) all.insert(all.end(), each.begin(), each.end());
  all = broadcast(std::move(all));
  std::vector<std::uint64_t> numbers;
  for (MessageReader in(all); !in.is_at_end();) numbers.push_back(in.plain<std::uint64_t>());
  return numbers;
}

std::uint64_t ProcessGroup::sum(std::uint64_t number) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : all_gather(number)) sum += each;
  return sum;
}

std::optional<unsigned> ProcessGroup::first_other(std::uint64_t number) {
  const std::vector<std::uint64_t> all = all_gather(number);
  const auto other = std::ranges::find_if(all, [&](std::uint64_t each) { return each != all.front(); });
  if (other == all.end()) return std::nullopt;
  return static_cast<unsigned>(other - all.begin());
}

// --- Failing.

JobFailure ProcessGroup::placed(const JobFailure& own) const {
  if (!are_several()) return own;
  return {own.kind, own.message, fmt::format("rank {} on {}", rank_, host::machine_name())};
}

void ProcessGroup::report(const JobFailure& own) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (job_failure_ || !are_several()) return;
    if (rank_ == 0) {
      decide(placed(own));
      return;
    }
    enqueue(0, Channel::failure, encode(placed(own)));
  } catch (...) {
    // Without memory for a message: the others learn of it when this rank does not come to the end.
  }
}

void ProcessGroup::report(const std::exception_ptr& thrown) noexcept {
  try {
    report(job_failure_of(thrown));
  } catch (...) {
    // The same.
  }
}

JobFailure ProcessGroup::settle(const JobFailure& own) {
  report(own);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kFailurePatience, [&] { return job_failure_.has_value(); });
  if (!job_failure_) conclude(placed(own));
  return *job_failure_;
}

ProcessGroup::Watch::Watch(ProcessGroup& ranks, std::function<void()> on_failure) : ranks_(ranks) {
  const std::lock_guard lock(ranks.mutex_);
  number_ = ranks.next_watch_++;
  if (ranks.job_failure_) {
    on_failure();
  } else {
    ranks.watches_.emplace(number_, std::move(on_failure));
  }
}

ProcessGroup::Watch::~Watch() {
  const std::lock_guard lock(ranks_.mutex_);
  ranks_.watches_.erase(number_);
}

std::optional<JobFailure> ProcessGroup::leave(int status) noexcept {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_leaving_ = true;
      leaving_status_ = status;
      changed_.notify_all();
    }
    thread_.join();
  }
  return job_failure_;
}

}  // namespace warpmer::mpi
