#include "serve/connection_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "serve/unix_socket.h"

namespace warpmer::serve {

ConnectionPool::ConnectionPool(const std::string& path) : path_(path) {
  idle_.reserve(kMostConnections);
  idle_.push_back(connect(kmers_));
}

std::unique_ptr<FrameStream> ConnectionPool::connect(KmerParams& kmers) const {
  auto stream = std::make_unique<FrameStream>(connect_to(path_));
  Payload payload;
  put(payload, Hello{});
  try {
    send(*stream, FrameKind::hello, payload.bytes());
    const FrameHead header = receive_answer(*stream);
    if (header.kind != FrameKind::hello) throw MalformedFrame{};
    const Hello hello = take_hello(stream->receive_payload(header));
    if (hello.version != kProtocolVersion || hello.kmers.k < 1 || hello.kmers.k > kMaxK)
      throw MalformedFrame{};
    kmers = hello.kmers;
  } catch (const ConnectionLost&) {
    throw_lost();
  } catch (const MalformedFrame&) {
    throw_malformed();
  }
  return stream;
}

std::unique_ptr<FrameStream> ConnectionPool::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    returned_.wait(lock, [&] { return in_use_ < most_; });
    ++in_use_;
    if (!idle_.empty()) {
      auto stream = std::move(idle_.back());
      idle_.pop_back();
      return stream;
    }
    lock.unlock();
    try {
      return connect();
    } catch (...) {
      lock.lock();
      most_ = std::max<std::size_t>(--in_use_, 1);
      returned_.notify_all();
      if (in_use_ == 0 && idle_.empty()) throw;  // else those that are there will do
    }
  }
}

std::unique_ptr<FrameStream> ConnectionPool::connect() const {
  KmerParams kmers;
  auto stream = connect(kmers);
  if (kmers.k != kmers_.k || kmers.canonical != kmers_.canonical)
    throw ResourceError(fmt::format("another server than before answers at {}", path_));
  return stream;
}

/// There is room for all of them.
void ConnectionPool::give_back(std::unique_ptr<FrameStream> stream) noexcept {
  const std::lock_guard lock(mutex_);
  --in_use_;
  if (stream) idle_.push_back(std::move(stream));
  returned_.notify_one();
}

/// A server that ends, or refuses the connection, says why before it does.
void ConnectionPool::send(FrameStream& stream, FrameKind kind, std::string_view payload) const {
  try {
    stream.send(kind, {payload});
  } catch (const ConnectionLost&) {
    receive_answer(stream);
    throw;
  }
}

void ConnectionPool::throw_lost() const {
  throw ResourceError(
      fmt::format("the server at {} is gone; what it had not answered may be done or not", path_));
}

void ConnectionPool::throw_malformed() const {
  throw ResourceError(
      fmt::format("what answers at {} is no warpmer of this version; use the same for both", path_));
}

FrameHead receive_answer(FrameStream& stream) {
  const auto header = stream.receive_header(kMostAnswerBytes);
  if (!header) throw ConnectionLost{};
  if (header->kind == FrameKind::error) throw Error(take_error(stream.receive_payload(*header)));
  return *header;
}

}  // namespace warpmer::serve
