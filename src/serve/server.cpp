#include "serve/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "file/input_error.h"

namespace warpmer::serve {

namespace {

/// Descriptors that are for other things than clients.
constexpr rlim_t kOtherDescriptors = 64;
/// The time after which it is tried again to accept a connection for which something was lacking.
constexpr int kRetryMilliseconds = 20;

/// Raises the limit of open files as far as it may be, and returns how many clients it leaves room for.
unsigned room_for_clients(unsigned wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = wanted + kOtherDescriptors;
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min(limit.rlim_max, needed);
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= needed) return wanted;
  return static_cast<unsigned>(std::max(limit.rlim_cur, kOtherDescriptors + 1) - kOtherDescriptors);
}

ServerOptions with_room(ServerOptions options) {
  options.most_clients = room_for_clients(options.most_clients);
  return options;
}

/// Returns how many buffers are kept for the next requests.
std::size_t idle_buffers(const ServerOptions& options) {
  constexpr std::uint64_t kBufferBytes = std::uint64_t{8} << 20;
  return std::clamp<std::uint64_t>(options.request_bytes / kBufferBytes, 1, options.threads);
}

/// Tells a client that it is not served.
void refuse(FrameStream& stream, const std::string& why) {
  stream.limit_waiting(1);
  Payload payload;
  put(payload, ResourceError(why));
  try {
    stream.send(FrameKind::error, payload);
  } catch (const ConnectionLost&) {
  }
}

}  // namespace

Server::Server(backend::LiveTable& table, const ServerOptions& options)
    : table_(table),
      options_(with_room(options)),
      changes_(options.threads),
      buffers_([] { return std::make_unique<RequestBuffers>(); }, SIZE_MAX, Buffers::Order::last_returned,
               idle_buffers(options)),
      room_(options.request_bytes),
      listener_(options.path) {}

Server::~Server() { end_all(); }

void Server::run(int stop) {
  pollfd waited[] = {{listener_.descriptor(), POLLIN, 0}, {stop, POLLIN, 0}};
  for (;;) {
    if (poll(waited, 2, -1) < 0) {
      if (errno == EINTR) continue;
      throw ResourceError("the server cannot wait for clients: " + file::system_message(errno));
    }
    if (waited[1].revents != 0) break;
    if (waited[0].revents != 0) accept();
  }
  end_all();
}

void Server::accept() {
  join_ended();
  const int socket = listener_.accept();
  if (socket < 0) {
    // Whoever waits is still there when there are descriptors again.
    if (errno != EAGAIN && errno != ECONNABORTED) poll(nullptr, 0, kRetryMilliseconds);
    return;
  }
  auto client = std::make_unique<Client>(socket);
  const std::lock_guard lock(mutex_);
  if (running_ >= options_.most_clients) {
    return refuse(client->stream, fmt::format("the server has {} connection{}, which is as many as it takes; "
                                              "try again later, or lower -t",
                                              running_, running_ == 1 ? "" : "s"));
  }
  Client& added = *clients_.emplace_back(std::move(client));
  try {
    added.thread = std::thread([this, &added] { serve(added); });
    ++running_;
  } catch (const std::system_error& error) {
    refuse(added.stream, fmt::format("the server can start no thread for a connection: {}", error.what()));
    clients_.pop_back();
  }
}

void Server::serve(Client& client) {
  const SessionTerms terms{table_,
                           changes_,
                           buffers_,
                           room_,
                           options_.kmers,
                           options_.threads,
                           options_.read_only,
                           options_.frozen,
                           options_.patience_seconds};
  ClientSession(terms, client.stream).run();
  std::unique_lock lock(mutex_);
  if (is_stopping_) {
    lock.unlock();
    refuse(client.stream, "the server has been stopped");
    lock.lock();
  }
  client.stream.shut();
  client.has_ended = true;
  --running_;
  changed_.notify_all();
}

void Server::join_ended() {
  std::list<std::unique_ptr<Client>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = clients_.begin(); at != clients_.end();) {
      const auto next = std::next(at);
      if ((*at)->has_ended) ended.splice(ended.end(), clients_, at);
      at = next;
    }
  }
  for (const auto& client : ended) client->thread.join();
}

void Server::end_all() {
  listener_.close();
  {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    changes_.stop();  // not before: a client whose session ends for it is told why
    for (const auto& client : clients_) client->stream.shut_receiving();
    changed_.wait_for(lock, std::chrono::seconds(options_.grace_seconds), [&] { return running_ == 0; });
    for (const auto& client : clients_) client->stream.shut();
    changed_.wait(lock, [&] { return running_ == 0; });
  }
  join_ended();
}

}  // namespace warpmer::serve
