// What clients do that are no good ones, and what becomes of a server's socket.

#include "serve/server.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "base/error.h"
#include "base/thread_team.h"
#include "live/oracle_table.h"
#include "random_text.h"
#include "refusal.h"
#include "serve/remote_table.h"
#include "tier.h"
#include "unit/cpu/one_piece.h"
#include "unit/serve/served_table.h"

using namespace warpmer;
using namespace warpmer::tests;
using index::test::says;
using serve::FrameKind;
using serve::FrameStream;
using serve::Payload;
using serve::RemoteTable;

namespace {

constexpr KmerParams kKmers{11, true};

void greet(FrameStream& stream) {
  Payload hello;
  put(hello, serve::Hello{});
  stream.send(FrameKind::hello, hello);
  stream.receive_payload(serve::receive_answer(stream));
}

/// A connection that has said hello.
std::unique_ptr<FrameStream> greeted(const std::string& path) {
  auto stream = std::make_unique<FrameStream>(serve::connect_to(path));
  greet(*stream);
  return stream;
}

/// True when the server has ended a connection, though it may have sent what is still to be taken.
bool has_ended(int socket) {
  pollfd ended = {socket, 0, 0};
  return poll(&ended, 1, 10) > 0 && (ended.revents & POLLHUP) != 0;
}

Payload batch_payload(const io::Batch& batch) {
  Payload payload;
  serve::for_each_request(batch, kKmers.k, [&](std::span<const serve::SentStretch> stretches) {
    serve::put_batch(payload, batch, stretches, false);
  });
  return payload;
}

/// Returns the sentence of the error that comes next; nothing where the connection just ends.
std::string error_of(FrameStream& stream) {
  try {
    serve::receive_answer(stream);
  } catch (const Error& error) {
    return error.what();
  } catch (const serve::ConnectionLost&) {
    return "";
  }
  return "an answer";
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Waits until something is so; false where that takes too long.
bool comes_true(const std::function<bool()>& is_so) {
  for (int i = 0; i < 3000; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Additions take until it is open.
class BlockedTable : public OracleTable {
 public:
  using OracleTable::OracleTable;
  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    ++calls;
    comes_true([&] { return is_open.load(); });
    return OracleTable::add(batch, lenient);
  }

  std::atomic<unsigned> calls = 0;
  std::atomic<bool> is_open = false;
};

void send_raw(int socket, std::string_view bytes) {
  CHECK(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE("a frame that is none ends its connection, and no other") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers);
  RemoteTable good(served.path());
  good.add(batch_of("ACGTTGCATTACC"), false);
  const char* const said = "the server was sent what is no request of warpmer's";

  SUBCASE("no hello") {
    FrameStream stream(serve::connect_to(served.path()));
    stream.send(FrameKind::tally, Payload());
    CHECK(error_of(stream) == said);
    CHECK(error_of(stream).empty());
  }
  SUBCASE("another protocol") {
    const int socket = serve::connect_to(served.path());
    FrameStream stream(socket);
    send_raw(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(error_of(stream) == said);
  }
  SUBCASE("too long") {
    const auto stream = greeted(served.path());
    const std::string large(serve::kMostRequestBytes + 1, 'A');
    try {
      stream->send(FrameKind::find, {large});
    } catch (const serve::ConnectionLost&) {
    }
    CHECK(error_of(*stream) == said);
  }
  SUBCASE("an answer") {
    const auto stream = greeted(served.path());
    stream->send(FrameKind::answer, Payload());
    CHECK(error_of(*stream) == said);
  }
  SUBCASE("no batch") {
    for (const FrameKind kind :
         {FrameKind::profile, FrameKind::summarise, FrameKind::add, FrameKind::remove}) {
      const auto stream = greeted(served.path());
      stream->send(kind, {"ACGT"});
      CHECK(error_of(*stream) == said);
      CHECK(error_of(*stream).empty());
    }
  }
  SUBCASE("half a k-mer") {
    const auto stream = greeted(served.path());
    stream->send(FrameKind::find, {"ACGT"});
    CHECK(error_of(*stream) == said);
  }
  CHECK(good.lookup(false).find("ACGTTGCATTA") == 1);
}

TEST_CASE("a client of another version is told so") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers);
  FrameStream stream(serve::connect_to(served.path()));
  Payload hello;
  put(hello, serve::Hello{.version = serve::kProtocolVersion + 1});
  stream.send(FrameKind::hello, hello);
  CHECK(error_of(stream) == "the server is of another version of warpmer; use the same for both");
}

TEST_CASE("clients that go at any point leave the server as it was") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers);
  RemoteTable good(served.path());
  std::mt19937_64 random(4);
  Payload hello;
  put(hello, serve::Hello{});
  const Payload batch = batch_payload(batch_of(random_text(random, 50)));
  std::string whole;
  for (const auto& [kind, payload] : {std::pair(FrameKind::hello, hello),
                                      {FrameKind::profile, batch},
                                      {FrameKind::tally, Payload()},
                                      {FrameKind::snapshot, Payload()},
                                      {FrameKind::profile, batch}}) {
    char header[serve::kHeaderBytes];
    serve::encode({kind, static_cast<std::uint32_t>(payload.size())}, header);
    whole.append(header, sizeof header).append(payload.bytes());
  }
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const int socket = serve::connect_to(served.path());
    send_raw(socket, std::string_view(whole).substr(0, bytes));
    close(socket);
  }
  CHECK(good.tally().histogram().empty());
  good.add(batch_of("ACGTTGCATTACC"), false);
  CHECK(good.lookup(false).find("ACGTTGCATTA") == 1);
}

TEST_CASE("random bytes get errors, or nothing") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers);
  std::mt19937_64 random(9);
  for (int round = 0; round < 300; ++round) {
    const auto stream = greeted(served.path());
    std::string bytes(1 + random() % 100, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    const auto kind = static_cast<FrameKind>(3 + random() % 9);
    if (kind == FrameKind::add && random() % 2 == 0) bytes = batch_payload(batch_of("ACGTTGCATTACC")).bytes();
    stream->send(kind, {bytes});
    stream->shut_receiving();
  }
  RemoteTable good(served.path());
  CHECK(good.lookup(false).find("CCCCCCCCCCC") == 0);
}

TEST_CASE("a client that takes no answers keeps nobody from theirs, nor the server from its end") {
  OracleTable table(kKmers);
  ServedTable served(table, kKmers, {.grace_seconds = 1});
  RemoteTable good(served.path());
  std::mt19937_64 random(12);
  const io::Batch batch = batch_of(random_text(random, 100'000));
  good.add(batch, false);
  const Payload payload = batch_payload(batch);
  const auto slow = greeted(served.path());
  slow->limit_waiting(1);
  try {
    for (;;) slow->send(FrameKind::profile, payload);
  } catch (const serve::ConnectionLost&) {
  }
  CHECK(good.lookup(false).find(batch.bases(batch.pieces[0]).substr(0, 11)) > 0);
  const double seconds = seconds_of([&] { served.stop(); });
  CHECK(seconds >= 0.9);
  CHECK(seconds < 10);
  CHECK(refusal<Error>([&] { static_cast<void>(good.totals()); }) == "the server has been stopped");
}

TEST_CASE("a client that is slow keeps the memory for requests from nobody") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers, {.request_bytes = 1});
  RemoteTable good(served.path());
  std::mt19937_64 random(12);
  const io::Batch batch = batch_of(random_text(random, 100'000));
  good.add(batch, false);
  const Payload payload = batch_payload(batch);
  char header[serve::kHeaderBytes];
  serve::encode({FrameKind::profile, static_cast<std::uint32_t>(payload.size())}, header);
  const int sockets[] = {serve::connect_to(served.path()), serve::connect_to(served.path())};
  FrameStream takes_nothing(sockets[0]), sends_no_more(sockets[1]);
  greet(takes_nothing);
  greet(sends_no_more);
  takes_nothing.send(FrameKind::profile, payload);
  send_raw(sockets[1], std::string(header, sizeof header) + std::string(payload.bytes().substr(0, 1000)));
  backend::Profile counts;
  for (int i = 0; i < 20; ++i) good.lookup(false).profile(batch, counts);
  CHECK(counts.counts.size() > 99'000);
  // Both go on where they were.
  takes_nothing.receive_payload(serve::receive_answer(takes_nothing));
  send_raw(sockets[1], payload.bytes().substr(1000));
  CHECK(sends_no_more.receive_payload(serve::receive_answer(sends_no_more)).size() > 4 * 99'000);
}

TEST_CASE("a client that takes no snapshot loses it, and additions go on") {
  OracleTable table(KmerParams{12, true});
  const ServedTable served(table, {12, true}, {.patience_seconds = 1});
  RemoteTable good(served.path());
  std::mt19937_64 random(13);
  good.add(batch_of(random_text(random, 1'000'000)), false);
  const int socket = serve::connect_to(served.path());
  FrameStream slow(socket);
  greet(slow);
  slow.send(FrameKind::snapshot, Payload());
  // OracleTable's snapshot is a copy: what is tested is that the server gives up, once it has begun.
  slow.receive_payload(serve::receive_answer(slow));
  CHECK(comes_true([&] { return has_ended(socket); }));
  bool has_all = false;
  try {
    while (const auto header = slow.receive_header(serve::kMostAnswerBytes)) {
      slow.receive_payload(*header);
      has_all = has_all || header->kind == FrameKind::answer;
      if (has_all) break;
    }
  } catch (const serve::ConnectionLost&) {
  }
  CHECK(!has_all);
  CHECK(good.add(batch_of("ACGTTGCATTACC"), false) == 2);
}

TEST_CASE("a client that takes little of a snapshot at a time loses it, too") {
  OracleTable table(KmerParams{12, true});
  const ServedTable served(table, {12, true}, {.patience_seconds = 1});
  std::mt19937_64 random(13);
  RemoteTable(served.path()).add(batch_of(random_text(random, 1'000'000)), false);
  const int socket = serve::connect_to(served.path());
  FrameStream slow(socket);
  greet(slow);
  slow.send(FrameKind::snapshot, Payload());
  // The server ends the connection while there is more to be taken.
  const bool is_lost = comes_true([&] {
    char bytes[600];
    return recv(socket, bytes, sizeof bytes, 0) == sizeof bytes && has_ended(socket);
  });
  CHECK(is_lost);
}

TEST_CASE("clients are told that the server has been stopped, or that it is gone") {
  OracleTable table(kKmers);
  ServedTable served(table, kKmers);
  RemoteTable client(served.path());
  client.add(batch_of("ACGTTGCATTACC"), false);
  CHECK(seconds_of([&] { served.stop(); }) < 1.5);
  CHECK(refusal<Error>([&] { client.add(batch_of("ACGTTGCATTACC"), false); }) ==
        "the server has been stopped");
  const std::string gone = refusal<Error>([&] { client.add(batch_of("ACGTTGCATTACC"), false); });
  CHECK(says(gone, served.path()));
  CHECK(table.lookup(false).find("ACGTTGCATTA") == 1);
  CHECK(!std::filesystem::exists(served.path()));
  CHECK(says(refusal<Error>([&] { RemoteTable again(served.path()); }), "no server answers at"));
}

TEST_CASE("additions that wait for their turn when the server is stopped are refused") {
  BlockedTable table(kKmers);
  ServedTable served(table, kKmers, {.threads = 1, .grace_seconds = 60});
  RemoteTable first(served.path()), second(served.path());
  std::string said;
  std::atomic<bool> has_ended = false;
  std::thread adding([&] { first.add(batch_of("ACGTTGCATTACC"), false); });
  CHECK(comes_true([&] { return table.calls > 0; }));
  std::thread waiting([&] {
    said = refusal<Error>([&] { second.add(batch_of("ACGTTGCATTACC"), false); });
    has_ended = true;
  });
  std::thread stopping([&] { served.stop(); });
  CHECK(comes_true([&] { return has_ended.load(); }));
  table.is_open = true;
  adding.join();
  waiting.join();
  stopping.join();
  CHECK(said == "the server has been stopped");
  CHECK(table.calls == 1);
  CHECK(table.lookup(false).find("ACGTTGCATTA") == 1);
}

TEST_CASE("a client opens 16 connections, however many threads it has") {
  BlockedTable table(kKmers);
  const ServedTable served(table, kKmers, {.threads = 64});
  RemoteTable client(served.path());
  std::thread team([&] {
    run_team(
        40, [&](unsigned) { client.add(batch_of("ACGTTGCATTACC"), false); }, [] {});
  });
  CHECK(comes_true([&] { return table.calls >= 16; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(table.calls == 16);
  table.is_open = true;
  team.join();
  CHECK(table.lookup(false).find("ACGTTGCATTA") == 40);
}

TEST_CASE("a client makes do with the connections that the server takes") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers, {.most_clients = 1});
  RemoteTable client(served.path());
  const auto add_often = [&](unsigned) {
    for (int i = 0; i < 50; ++i) client.add(batch_of("ACGTTGCATTACC"), false);
  };
  CHECK(refusal<Error>([&] { run_team(4, add_often, [] {}); }).empty());
  CHECK(says(refusal<Error>([&] { RemoteTable second(served.path()); }),
             "the server has 1 connection, which is"));
  CHECK(table.lookup(false).find("ACGTTGCATTA") == 200);
}

TEST_CASE("more clients than it takes are told so") {
  OracleTable table(kKmers);
  const ServedTable served(table, kKmers, {.most_clients = 2});
  std::optional<RemoteTable> first(served.path());
  RemoteTable second(served.path());
  CHECK(says(refusal<Error>([&] { RemoteTable third(served.path()); }), "the server has 2 connections"));
  first.reset();
  CHECK(comes_true([&] { return refusal<Error>([&] { RemoteTable third(served.path()); }).empty(); }));
}

TEST_CASE("a socket is its user's, replaces one that is left behind, and nothing else") {
  const index::test::ScratchFolder scratch;
  const std::string path = scratch / "s";
  const mode_t mask = umask(0);
  {
    const serve::Listener listener(path);
    umask(mask);
    struct stat there = {};
    REQUIRE(lstat(path.c_str(), &there) == 0);
    CHECK(S_ISSOCK(there.st_mode));
    CHECK((there.st_mode & 0777) == 0600);
    CHECK(says(refusal<Error>([&] { serve::Listener second(path); }), "a server answers there already"));
    CHECK(std::filesystem::exists(path));
  }
  CHECK(!std::filesystem::exists(path));

  // Left behind by a server that was killed.
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  close(left);
  CHECK(says(refusal<Error>([&] { serve::connect_to(path); }), "no server answers at " + path));
  { const serve::Listener listener(path); }
  CHECK(!std::filesystem::exists(path));

  std::ofstream(path) << "mine";
  CHECK(says(refusal<Error>([&] { serve::Listener listener(path); }), "which is no socket"));
  CHECK(index::test::read_bytes(path) == "mine");
  std::filesystem::remove(path);
  std::filesystem::create_symlink(scratch / "nowhere", path);
  CHECK(says(refusal<Error>([&] { serve::Listener listener(path); }), "which is no socket"));
  CHECK(std::filesystem::is_symlink(path));
}

TEST_CASE("another's socket at its path is not removed") {
  const index::test::ScratchFolder scratch;
  const std::string path = scratch / "s";
  serve::Listener first(path);
  std::filesystem::remove(path);
  const serve::Listener second(path);
  first.close();
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("paths that no socket can have are refused") {
  const std::string longest = "/tmp/" + std::string(102, 'x');
  CHECK(refusal<Error>([&] { serve::check_socket_path(longest); }).empty());
  CHECK(says(refusal<Error>([&] { serve::check_socket_path(longest + "x"); }),
             "the path of a socket has 107 bytes at most"));
  CHECK_THROWS_AS(serve::check_socket_path(""), UsageError);
  CHECK(says(refusal<Error>([&] { serve::Listener listener("/nowhere/at/all"); }),
             "cannot serve at /nowhere/at/all: folder /nowhere/at: No such file or directory; make it"));
}
