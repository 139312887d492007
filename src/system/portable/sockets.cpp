#include "system/sockets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace warpmer::system {
namespace {

// POSIX has one of 2008 on; before it, macOS had an option of the socket.
#ifdef MSG_NOSIGNAL
constexpr int kWithoutSignal = MSG_NOSIGNAL;
#else
constexpr int kWithoutSignal = 0;
#endif

/// A program that another thread starts before this gets the socket. Others' O_NONBLOCK, which some systems
/// hand on to what is accepted, is taken away.
int set_up(int socket, bool without_waiting) noexcept {
  if (socket < 0) return socket;
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  const int flags = ::fcntl(socket, F_GETFL);
  ::fcntl(socket, F_SETFL, without_waiting ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
#ifdef SO_NOSIGPIPE
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
  return socket;
}

}  // namespace

int make_socket(bool without_waiting) noexcept {
  return set_up(::socket(AF_UNIX, SOCK_STREAM, 0), without_waiting);
}

/// Until somebody listens, nobody can connect: its rights matter from then on.
int bind_for_user(int socket, const sockaddr_un& address) noexcept {
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno;
  if (::chmod(address.sun_path, S_IRUSR | S_IWUSR) == 0) return 0;
  const int error = errno;
  ::unlink(address.sun_path);
  return error;
}

int accept_connection(int listening) noexcept { return set_up(::accept(listening, nullptr, nullptr), false); }

ssize_t send_message(int socket, const msghdr& message, bool waits) noexcept {
  return ::sendmsg(socket, &message, kWithoutSignal | (waits ? 0 : MSG_DONTWAIT));
}

}  // namespace warpmer::system
