#pragma once
/// The processes of one job: their numbers, what they tell each other, and how they fail together.
///
/// Each process has one thread that talks to the others (mpi/rank_link.h). A thread that sends hands a
/// message over and waits only while too many bytes are on their way; messages that come wait in a queue for
/// each channel. Steps that all ranks take together (gather, broadcast, sums) are made of the same messages,
/// so nothing ever waits inside MPI, and a rank that fails wakes all others: rank 0 hears of it, decides
/// which failure is the one to be told, and the next call of each throws that error.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "mpi/job_failure.h"
#include "mpi/rank_link.h"

namespace warpmer::mpi {

class ProcessGroup {
 public:
  /// A job of one process.
  ProcessGroup() = default;
  /// Joins the others. ResourceError when that fails, or when there are not `expected` processes.
  ProcessGroup(std::unique_ptr<RankLink> link, unsigned expected);
  /// `leave`, unless that has been done.
  ~ProcessGroup();

  [[nodiscard]] unsigned rank() const { return rank_; }
  [[nodiscard]] unsigned size() const { return size_; }
  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  [[nodiscard]] bool are_several() const { return size_ > 1; }
  /// Returns the bytes of messages that may be under way at a time, in and out (for the memory plan).
  [[nodiscard]] std::uint64_t memory_bytes() const;

  // --- Messages. All throw the job_failure's Error once a rank has failed. Any thread may call them.

  /// Hands a message over to be sent.
  void post(unsigned to, Channel channel, Message&& message);
  /// The same, but waits while the channel is full.
  void send(unsigned to, Channel channel, Message&& message);
  /// True when too many bytes wait to be sent.
  [[nodiscard]] bool is_full(Channel channel);
  /// Waits until a message has come, but no longer than `patience`.
  void wait(Channel channel, std::chrono::milliseconds patience);
  /// Takes the next message of a channel, from any rank; false when none has come within `patience`.
  bool receive(Channel channel, unsigned& from, Message& message,
               std::chrono::milliseconds patience = std::chrono::milliseconds(0));
  /// Returns the next message of a channel from this rank; waits for it. No other rank may send so much on a
  /// bounded channel (kMostQueuedBytes) that this message cannot come.
  Message receive_from(unsigned from, Channel channel);

  // --- Steps that all ranks take together, in the same order, one thread of each.

  /// Returns, on rank 0, the messages of all ranks in their order; on others nothing.
  std::vector<Message> gather(Message&& message);
  /// Returns rank 0's message, on all ranks.
  Message broadcast(Message&& message);
  /// Returns the numbers of all, in the order of ranks, on all ranks.
  std::vector<std::uint64_t> all_gather(std::uint64_t number);
  [[nodiscard]] std::uint64_t sum(std::uint64_t number);
  /// Returns the first rank whose number is another one than rank 0's, on all ranks.
  [[nodiscard]] std::optional<unsigned> first_other(std::uint64_t number);

  // --- Failing. None of these throws.

  /// Tells all ranks that this one has failed, unless one has already; does not wait.
  void report(const std::exception_ptr& thrown) noexcept;
  /// Reports, and waits for what all have agreed upon, but not for ever.
  JobFailure settle(const JobFailure& own);
  [[nodiscard]] bool have_failed() const { return has_failed_; }

  /// Calls a function, once, when a rank has failed (at once if one has), for as long as this lives. It must
  /// not call Ranks.
  class Watch {
   public:
    Watch(ProcessGroup& ranks, std::function<void()> on_failure);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    ProcessGroup& ranks_;
    std::uint64_t number_;
  };

  /// Waits for all messages to have been sent and for all other ranks to do the same, then ends the
  /// connection. Returns what has gone wrong on any rank up to then. After a failure it takes away what is
  /// still under way, and if a rank does not come within seconds, ends all processes with `status`.
  std::optional<JobFailure> leave(int status) noexcept;

 private:
  struct OutgoingMessage {
    unsigned to = 0;
    Message message;
  };
  struct BeingSent {
    Channel channel{};
    OutgoingMessage outgoing;
  };
  struct IncomingMessage {
    unsigned from;
    Message message;
  };
  struct MessageQueue {
    std::deque<IncomingMessage> incoming;
    std::uint64_t incoming_bytes = 0;
    std::deque<OutgoingMessage> outgoing;
    std::uint64_t outgoing_bytes = 0;  ///< with those of messages that are being sent
    std::size_t being_sent = 0;
  };

  void run(unsigned expected);
  bool step();
  bool start_sends();
  bool start_send(Channel channel);
  bool finish_sends();
  bool receive_all();
  void take_failure(Message&& message);
  [[nodiscard]] JobFailure placed(const JobFailure& own) const;
  void report(const JobFailure& own) noexcept;
  void decide(JobFailure&& job_failure);
  void conclude(JobFailure&& job_failure);
  [[nodiscard]] bool has_ended();
  [[nodiscard]] bool is_overdue();
  void throw_if_failed() const;
  void enqueue(unsigned to, Channel channel, Message&& message);
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] MessageQueue& queue(Channel channel) { return queues_[static_cast<std::size_t>(channel)]; }

  std::unique_ptr<RankLink> link_;
  unsigned rank_ = 0;
  unsigned size_ = 1;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::array<MessageQueue, kChannels> queues_;
  std::optional<JobFailure> job_failure_;
  std::chrono::steady_clock::time_point failed_at_;
  std::atomic<bool> has_failed_{false};
  std::unordered_map<std::uint64_t, std::function<void()>> watches_;
  std::uint64_t next_watch_ = 0;
  bool is_open_ = false;
  bool is_leaving_ = false;
  int leaving_status_ = 0;
  std::exception_ptr opening_error_;

  // The thread's own:
  std::unordered_map<std::uint64_t, BeingSent> being_sent_;
  std::uint64_t next_ticket_ = 0;
  std::thread thread_;
};

/// Returns a job of one process, for those that are not told of any ranks.
ProcessGroup& single_process();

/// Appends the bytes of a number, or of a plain struct, to a message.
template <class Plain>
void put_plain(Message& message, const Plain& value) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  const std::size_t at = message.size();
  message.resize(at + sizeof value);
  std::memcpy(message.data() + at, &value, sizeof value);
}
inline void put_text(Message& message, std::string_view text) {
  put_plain(message, std::uint64_t{text.size()});
  const std::size_t at = message.size();
  message.resize(at + text.size());
  if (!text.empty()) std::memcpy(message.data() + at, text.data(), text.size());
}

/// Takes a message apart again, in the same order. InternalError when it is too short.
class MessageReader {
 public:
  explicit MessageReader(const Message& message) : at_(message.data()), end_(at_ + message.size()) {}

  template <class Plain>
  Plain plain() {
    Plain value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string_view text() {
    const auto size = plain<std::uint64_t>();
    return {take(size), size};
  }
  /// Takes the next `size` bytes.
  const char* take(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(end_ - at_))
      throw InternalError("a message between ranks is too short");
    return std::exchange(at_, at_ + size);
  }
  /// Takes all that follows.
  std::string_view rest() {
    const char* const begin = std::exchange(at_, end_);
    return {begin, static_cast<std::size_t>(end_ - begin)};
  }
  [[nodiscard]] bool is_at_end() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

/// Returns how many processes a launcher (mpirun, mpiexec, srun) says that it has started with this one; 1
/// without any.
unsigned launched_ranks();
/// Returns which of them this one is.
unsigned launched_rank();
/// Returns to the first task of one srun how many run its command, each as a job of its own: without MPI. 1
/// to the others, and where a script is between srun and this process, which may give tasks other commands.
unsigned lone_tasks();

/// Returns the ranks that this process was launched among. ResourceError when there are several and the
/// module that speaks MPI is not there, or MPI does not find them all.
std::unique_ptr<ProcessGroup> join_ranks();

}  // namespace warpmer::mpi
