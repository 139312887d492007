#pragma once
/// A link carries messages between the processes of a job. It is passive: one thread (mpi/process_group.cpp)
/// makes all calls, from `open` to `close`, so that MPI need not be safe for threads.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace warpmer::mpi {

/// Bytes that one process sends to another; less than 2 GiB.
using Message = std::vector<char>;

/// Messages of one channel from one process to another arrive in the order in which they were sent; those of
/// different channels do not wait for each other.
enum class Channel : std::uint8_t {
  failure,   ///< messages that say what went wrong, and what came of it
  together,  ///< messages of what all ranks do at the same time (gather, broadcast)
  batches,   ///< text that one rank reads and another one cuts or looks up, and other work
  words,     ///< super-k-mers on the way to their owner; of ranks on GPUs, how many there are
  results,   ///< text or shards on the way to rank 0
};
inline constexpr std::size_t kChannels = 5;

class RankLink {
 public:
  RankLink() = default;
  virtual ~RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  /// Finds the other processes. ResourceError when that fails.
  virtual void open() = 0;
  [[nodiscard]] virtual unsigned rank() const = 0;
  [[nodiscard]] virtual unsigned size() const = 0;

  /// Starts to send; the message stays where it is until `finish_send` has returned `ticket`.
  virtual void start_send(std::uint64_t ticket, unsigned to, Channel channel, const Message& message) = 0;
  /// Returns the ticket of a message that is on its way, and whose memory is free again.
  virtual std::optional<std::uint64_t> finish_send() = 0;
  /// Takes the next message of a channel, if one has come; says which process it is from.
  virtual bool receive(Channel channel, unsigned& from, Message& message) = 0;

  /// True when one is coming in, so that `receive` should be called again soon.
  [[nodiscard]] virtual bool is_receiving() const { return false; }

  /// True when all processes have called this; to be called again until they have. Then `close`.
  virtual bool all_have_ended() = 0;
  virtual void close() = 0;
  /// Ends all processes at once, this one included, for want of anything better.
  virtual void tear_down(int status) = 0;
};

/// The name of the function by which a module of its own (mpi/link/mpi_link.cpp) makes a link, as a C symbol.
inline constexpr const char* kMakeRankLinkSymbol = "warpmer_make_link";
using MakeRankLink = RankLink* (*)();

}  // namespace warpmer::mpi
