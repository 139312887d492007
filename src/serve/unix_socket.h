#pragma once
/// Sockets that have a path: making one, and connecting to one.

#include <sys/types.h>

#include <optional>
#include <string>

#include "file/output/temp_file_registry.h"

namespace warpmer::serve {

/// UsageError when a socket cannot have such a path.
void check_socket_path(const std::string& path);

/// A socket at a path, which waits for connections; it can be used by its user alone.
class Listener {
 public:
  /// Replaces a socket that a server has left behind. ResourceError when a server answers there, or there is
  /// anything else, or none can be made.
  explicit Listener(const std::string& path);
  /// Removes the socket, unless another stands there by now.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] int descriptor() const { return socket_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Accepts a connection that waits; -1 when there is none any more, or no descriptor for it.
  [[nodiscard]] int accept() const;
  /// Accepts no more connections, and removes the socket.
  void close() noexcept;

 private:
  const std::string path_;
  int socket_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::optional<file::UnfinishedOutput> unfinished_;  ///< so that a signal removes it
};

/// Returns a socket that is connected to the server at a path. ResourceError when there is none.
int connect_to(const std::string& path);

}  // namespace warpmer::serve
