#include "system/sockets.h"

#include <sys/stat.h>

#include <cerrno>

namespace warpmer::system {

int make_socket(bool without_waiting) noexcept {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (without_waiting ? SOCK_NONBLOCK : 0), 0);
}

int bind_for_user(int socket, const sockaddr_un& address) noexcept {
  // The file has this mode from the begin, whatever the umask.
  if (::fchmod(socket, S_IRUSR | S_IWUSR) != 0) return errno;
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

int accept_connection(int listening) noexcept { return ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC); }

ssize_t send_message(int socket, const msghdr& message, bool waits) noexcept {
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}

}  // namespace warpmer::system
