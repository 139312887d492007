#include "serve/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "file/input_error.h"
#include "file/output/output_path.h"
#include "system/sockets.h"

namespace warpmer::serve {

namespace {

/// A descriptor of this scope.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

sockaddr_un address_of(const std::string& path) {
  check_socket_path(path);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

[[noreturn]] void fail_to_serve(const std::string& path, const std::string& why) {
  throw ResourceError(fmt::format("cannot serve at {}: {}", path, why));
}

/// A folder cannot be opened, or nothing be made in it.
[[noreturn]] void fail_in_folder(const std::string& path, const std::string& folder, int error) {
  const char* remedy = error == ENOENT    ? "make it, or choose another path"
                       : error == ENOTDIR ? "choose another path"
                                          : "choose a path in another folder, such as /tmp";
  fail_to_serve(path, fmt::format("folder {}: {}; {}", folder, file::system_message(error), remedy));
}

/// A folder could be opened, and no socket be made in it. A file system that has none says so in many ways.
[[noreturn]] void fail_to_bind(const std::string& path, const std::string& folder, int error) {
  if (error == EADDRINUSE) fail_to_serve(path, "a file of that name has just been made; choose another path");
  const bool may_write = faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  if (may_write && (error == ENOENT || error == EPERM || error == EOPNOTSUPP || error == ENXIO)) {
    fail_to_serve(path, fmt::format("the file system of folder {} has no sockets ({}); choose a path in "
                                    "another folder, such as /tmp",
                                    folder, file::system_message(error)));
  }
  fail_in_folder(path, folder, error);
}

int new_socket() {
  const int made = system::make_socket();
  if (made < 0) throw ResourceError(fmt::format("cannot make a socket: {}", file::system_message(errno)));
  return made;
}

/// Returns 0, or the error number.
int try_to_connect(int descriptor, const sockaddr_un& address) {
  while (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EISCONN) return 0;  // a signal came meanwhile
    if (errno != EINTR && errno != EALREADY) return errno;
  }
  return 0;
}

/// Removes what a server that was killed has left.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat there = {};
  if (lstat(path.c_str(), &there) != 0) return;  // bind says what is wrong, if anything is
  if (S_ISDIR(there.st_mode)) fail_to_serve(path, "it is a folder; choose a path in it");
  if (!S_ISSOCK(there.st_mode)) fail_to_serve(path, "a file of that name is there, which is no socket");
  const Descriptor probe(system::make_socket(true));
  const int error = try_to_connect(probe.get(), address);
  if (error == ECONNREFUSED) {
    unlink(path.c_str());
    return;
  }
  if (error != 0 && error != EAGAIN)
    fail_to_serve(path, "there is a socket, and it cannot be asked: " + file::system_message(error));
  fail_to_serve(path, "a server answers there already; stop it, or choose another path");
}

/// Locks a folder. A server has it for a moment; who has it for longer is no server (`flock FOLDER warpmer
/// serve ...`), and not waited for.
void lock_for_a_while(int folder) {
  constexpr int kTries = 100, kMilliseconds = 20;
  for (int i = 0; i < kTries && flock(folder, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    poll(nullptr, 0, kMilliseconds);
  }
}

}  // namespace

void check_socket_path(const std::string& path) {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty()) throw UsageError("a socket needs a path that is not empty");
  if (path.size() > kMost) {
    throw UsageError(
        fmt::format("the path of a socket has {} bytes at most, and {} has {}; choose a shorter one", kMost,
                    path, path.size()));
  }
}

Listener::Listener(const std::string& path) : path_(path) {
  const sockaddr_un address = address_of(path);
  const std::string parent = file::parent_of(path);
  // Of two servers that begin at once, one finds the other's socket. Not all file systems have locks.
  const Descriptor folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) fail_in_folder(path, parent, errno);
  lock_for_a_while(folder.get());
  remove_stale(path, address);
  Descriptor made(new_socket());
  if (const int error = system::bind_for_user(made.get(), address); error != 0)
    fail_to_bind(path, parent, error);
  unfinished_.emplace(path);
  struct stat there = {};
  if (lstat(path.c_str(), &there) != 0 || fcntl(made.get(), F_SETFL, O_NONBLOCK) != 0 ||
      listen(made.get(), SOMAXCONN) != 0) {
    const int error = errno;
    unlink(path.c_str());
    fail_to_serve(path, file::system_message(error));
  }
  device_ = there.st_dev;
  inode_ = there.st_ino;
  socket_ = made.release();
}

Listener::~Listener() { close(); }

int Listener::accept() const {
  for (;;) {
    const int accepted = system::accept_connection(socket_);
    if (accepted >= 0 || errno != EINTR) return accepted;
  }
}

void Listener::close() noexcept {
  if (socket_ < 0) return;
  struct stat there = {};
  if (lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_)
    unlink(path_.c_str());
  unfinished_.reset();
  ::close(std::exchange(socket_, -1));
}

int connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  Descriptor made(new_socket());
  const int error = try_to_connect(made.get(), address);
  if (error == 0) return made.release();
  struct stat there = {};
  if (error == ECONNREFUSED && stat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
    throw ResourceError(
        fmt::format("{} is no socket; --server names the one that 'warpmer serve' was given", path));
  }
  if (error == ENOENT || error == ECONNREFUSED) {
    throw ResourceError(
        fmt::format("no server answers at {}; 'warpmer serve --socket {}' starts one", path, path));
  }
  throw ResourceError(fmt::format("cannot ask the server at {}: {}", path, file::system_message(error)));
}

}  // namespace warpmer::serve
