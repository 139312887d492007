// Tests signals, sockets and the program as the system of this build has them: portable builds run the same.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>

#include "system/program.h"
#include "system/signals.h"
#include "system/sockets.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::index::test;

namespace {

sockaddr_un address_at(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool is_handed_on(int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0; }
bool waits(int fd) { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }

}  // namespace

TEST_CASE("system: a signal that is held back is taken once") {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  CHECK_FALSE(system::take_signal(SIGUSR2));
  REQUIRE(::raise(SIGUSR2) == 0);
  CHECK(system::take_signal(SIGUSR2));
  CHECK_FALSE(system::take_signal(SIGUSR2));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("system: the program is this one") {
  // Under an emulator, /proc/self/exe is the emulator when it is opened.
  const std::filesystem::path program = system::program_path();
  CHECK(program.is_absolute());
  CHECK(program.filename() == "warpmer_tests");
  CHECK(std::filesystem::exists(program));
  ::setenv("WARPMER_TEST_VARIABLE", "there", 1);
  bool is_found = false;
  for (char** variable = system::environment_variables(); *variable != nullptr; ++variable)
    is_found = is_found || std::string(*variable) == "WARPMER_TEST_VARIABLE=there";
  CHECK(is_found);
  ::unsetenv("WARPMER_TEST_VARIABLE");
}

TEST_CASE("system: sockets are their user's, are not handed on, and do not end who sends to nobody") {
  const ScratchFolder scratch;
  const sockaddr_un address = address_at(scratch / "socket");
  const auto* const general = reinterpret_cast<const sockaddr*>(&address);
  const int listening = system::make_socket(true);
  REQUIRE(listening >= 0);
  CHECK_FALSE(is_handed_on(listening));
  CHECK_FALSE(waits(listening));
  const mode_t mask = ::umask(0);
  CHECK(system::bind_for_user(listening, address) == 0);
  ::umask(mask);
  struct stat status {};
  REQUIRE(::stat((scratch / "socket").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::listen(listening, 4) == 0);
  const int other = system::make_socket();
  CHECK(system::bind_for_user(other, address) == EADDRINUSE);
  CHECK(system::accept_connection(listening) == -1);
  CHECK(errno == EAGAIN);
  REQUIRE(::connect(other, general, sizeof address) == 0);
  CHECK(waits(other));
  const int accepted = system::accept_connection(listening);
  REQUIRE(accepted >= 0);
  CHECK(waits(accepted));
  CHECK_FALSE(is_handed_on(accepted));
  std::string text = "text";
  iovec piece = {text.data(), text.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  CHECK(system::send_message(other, message) == 4);
  char received[4];
  CHECK(::recv(accepted, received, sizeof received, 0) == 4);
  CHECK(std::string(received, 4) == "text");
  ::close(accepted);
  CHECK(system::send_message(other, message) == -1);  // and no SIGPIPE
  CHECK(errno == EPIPE);
  ::close(other);
  ::close(listening);
}
