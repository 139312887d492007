#include "serve/frame_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "system/sockets.h"

namespace warpmer::serve {

namespace {

constexpr std::size_t kMostParts = 4;
constexpr std::chrono::milliseconds kNotedWait{100};

}  // namespace

FrameStream::~FrameStream() { close(socket_); }

void FrameStream::send(FrameKind kind, std::initializer_list<std::string_view> payload) {
  if (payload.size() >= kMostParts) throw InternalError("a frame of too many parts");
  char header[kHeaderBytes];
  std::array<iovec, kMostParts> parts{};
  std::size_t bytes = 0, number = 1;
  for (const std::string_view part : payload) {
    bytes += part.size();
    parts[number++] = {const_cast<char*>(part.data()), part.size()};
  }
  if (bytes > kMostAnswerBytes) throw InternalError("a frame of too many bytes");
  encode({kind, static_cast<std::uint32_t>(bytes)}, header);
  parts[0] = {header, kHeaderBytes};
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = number;
  while (message.msg_iovlen > 0) {
    if (deadline_) wait_for_room();
    const ssize_t sent = system::send_message(socket_, message, !deadline_);
    if (sent < 0 && is_to_go_on()) continue;
    if (sent < 0) throw ConnectionLost{};
    auto rest = static_cast<std::size_t>(sent);
    for (; message.msg_iovlen > 0 && rest >= message.msg_iov->iov_len; --message.msg_iovlen)
      rest -= (message.msg_iov++)->iov_len;
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + rest;
    message.msg_iov->iov_len -= rest;
  }
}

/// True when a call has failed that is made again.
bool FrameStream::is_to_go_on() const {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  if (deadline_) return true;
  if (note_waiting_) note_waiting_();
  return note_waiting_ != nullptr;
}

/// ConnectionLost when the deadline comes before.
void FrameStream::wait_for_room() const {
  pollfd waited = {socket_, POLLOUT, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
    if (left <= 0) throw ConnectionLost{};
    const int ready = poll(&waited, 1, static_cast<int>(left));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw ConnectionLost{};
  }
}

/// Without this, who waits for a frame that has not begun would be woken again and again, for nothing.
void FrameStream::wait_for_frame() const {
  pollfd waited = {socket_, POLLIN, 0};
  if (note_waiting_) poll(&waited, 1, -1);
}

std::optional<FrameHead> FrameStream::receive_header(std::size_t most_bytes) {
  char bytes[kHeaderBytes];
  ssize_t first = 0;
  do {
    wait_for_frame();
    first = recv(socket_, bytes, sizeof bytes, 0);
  } while (first < 0 && is_to_go_on());
  if (first < 0) throw ConnectionLost{};
  if (first == 0) return std::nullopt;
  receive(bytes + first, sizeof bytes - static_cast<std::size_t>(first));
  return decode_header(bytes, most_bytes);
}

void FrameStream::receive(char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t received = recv(socket_, to, bytes, MSG_WAITALL);
    if (received < 0 && is_to_go_on()) continue;
    if (received <= 0) throw ConnectionLost{};
    to += received;
    bytes -= static_cast<std::size_t>(received);
  }
}

std::string FrameStream::receive_payload(const FrameHead& header) {
  std::string payload(header.bytes, '\0');
  receive(payload.data(), payload.size());
  return payload;
}

void FrameStream::limit(int what, std::chrono::microseconds time) const noexcept {
  timeval limit = {};
  limit.tv_sec = time.count() / 1'000'000;
  limit.tv_usec = time.count() % 1'000'000;
  setsockopt(socket_, SOL_SOCKET, what, &limit, sizeof limit);
}

void FrameStream::limit_waiting(unsigned seconds) noexcept {
  note_waiting_ = nullptr;
  limit(SO_SNDTIMEO, std::chrono::seconds(seconds));
}

void FrameStream::note_waiting(std::function<void()> note) {
  note_waiting_ = std::move(note);
  limit(SO_SNDTIMEO, kNotedWait);
  limit(SO_RCVTIMEO, kNotedWait);
}

void FrameStream::set_deadline(unsigned seconds) noexcept {
  deadline_.reset();
  if (seconds > 0) deadline_ = Clock::now() + std::chrono::seconds(seconds);
}

void FrameStream::shut_receiving() noexcept { shutdown(socket_, SHUT_RD); }
void FrameStream::shut() noexcept { shutdown(socket_, SHUT_RDWR); }

}  // namespace warpmer::serve
