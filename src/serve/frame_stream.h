#pragma once
/// Frames through a socket.

#include <chrono>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "serve/protocol.h"

namespace warpmer::serve {

/// Thrown when the other side is not there any more, or, where there is a limit, does not take what is sent
/// in time; caught on both sides.
struct ConnectionLost {};

/// A connected socket. One thread sends and receives; any thread may `shut` it.
class FrameStream {
 public:
  explicit FrameStream(int socket) : socket_(socket) {}
  ~FrameStream();
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  /// Sends a frame; its payload are these parts, one behind the other. ConnectionLost.
  void send(FrameKind kind, std::initializer_list<std::string_view> payload);
  void send(FrameKind kind, const Payload& payload) { send(kind, {payload.bytes()}); }

  /// Waits for the header of the next frame; nothing when the other side has ended in good order.
  /// ConnectionLost, MalformedFrame.
  std::optional<FrameHead> receive_header(std::size_t most_bytes);
  /// Receives so many bytes of the payload. ConnectionLost.
  void receive(char* to, std::size_t bytes);
  std::string receive_payload(const FrameHead& header);

  /// Lets no `send` wait for longer than this from now on, while nothing is taken.
  void limit_waiting(unsigned seconds) noexcept;
  /// From now on, calls `note` for each tenth of a second in which the other side sends nothing of a frame
  /// that it has begun, or takes nothing of one that is sent.
  void note_waiting(std::function<void()> note);
  /// All that is sent from now on has to be taken in this time, however many calls of `send` it is; 0: there
  /// is no limit any more.
  void set_deadline(unsigned seconds) noexcept;
  /// Nothing more is received, or sent, either: calls that wait for that end.
  void shut_receiving() noexcept;
  void shut() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void wait_for_room() const;
  void wait_for_frame() const;
  void limit(int what, std::chrono::microseconds time) const noexcept;
  [[nodiscard]] bool is_to_go_on() const;

  const int socket_;
  std::optional<Clock::time_point> deadline_;
  std::function<void()> note_waiting_;
};

}  // namespace warpmer::serve
