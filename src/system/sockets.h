#pragma once
/// Sockets that have a path (AF_UNIX), which other programs that are started do not get.

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

namespace warpmer::system {

/// Makes a socket for a stream; with `without_waiting`, no call waits for it. Returns a descriptor, or -1
/// with errno set.
int make_socket(bool without_waiting = false) noexcept;

/// Gives a socket, to which nobody can connect yet, its path, so that it can be used by its user alone.
/// Returns 0 or errno.
int bind_for_user(int socket, const sockaddr_un& address) noexcept;

/// Accepts a connection, whose calls wait. Returns a descriptor, or -1 with errno set.
int accept_connection(int listening) noexcept;

/// As sendmsg, but it is an error, and no signal, when nobody receives. Unless it `waits`, it sends what
/// there is room for.
ssize_t send_message(int socket, const msghdr& message, bool waits = true) noexcept;

}  // namespace warpmer::system
