#pragma once
/// A client's connections to one server.

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kmer/kmer.h"
#include "serve/frame_stream.h"

namespace warpmer::serve {

/// Connections to a server, of which there are at most kMostConnections, or as many as the server takes: more
/// threads wait for theirs. Thread-safe.
class ConnectionPool {
 public:
  static constexpr std::size_t kMostConnections = 16;

  /// Connects once, to learn what the server has. ResourceError when there is none, or another version's.
  explicit ConnectionPool(const std::string& path);

  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Sends a request, and calls `use(stream)` to take the answer. What goes wrong between both sides is a
  /// ResourceError; an error that the server answers with is thrown as it is.
  template <class Use>
  void ask(FrameKind kind, std::string_view payload, const Use& use) {
    Loan loan(*this);
    try {
      send(loan.stream(), kind, payload);
      use(loan.stream());
    } catch (const Error&) {
      loan.keep();  // the server has answered so, and waits for the next request
      throw;
    } catch (const ConnectionLost&) {
      throw_lost();
    } catch (const MalformedFrame&) {
      throw_malformed();
    }
    loan.keep();
  }
  /// Returns a connection besides, which is the caller's.
  [[nodiscard]] std::unique_ptr<FrameStream> connect() const;

  [[noreturn]] void throw_lost() const;
  [[noreturn]] void throw_malformed() const;

 private:
  /// A connection in use. It is closed in the end, unless it is kept.
  class Loan {
   public:
    explicit Loan(ConnectionPool& pool) : pool_(pool), stream_(pool.take()) {}
    ~Loan() { pool_.give_back(is_kept_ ? std::move(stream_) : nullptr); }

    [[nodiscard]] FrameStream& stream() { return *stream_; }
    void keep() noexcept { is_kept_ = true; }

   private:
    ConnectionPool& pool_;
    std::unique_ptr<FrameStream> stream_;
    bool is_kept_ = false;
  };

  [[nodiscard]] std::unique_ptr<FrameStream> take();
  void send(FrameStream& stream, FrameKind kind, std::string_view payload) const;
  void give_back(std::unique_ptr<FrameStream> stream) noexcept;
  [[nodiscard]] std::unique_ptr<FrameStream> connect(KmerParams& kmers) const;

  const std::string path_;
  KmerParams kmers_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable returned_;
  std::vector<std::unique_ptr<FrameStream>> idle_;
  std::size_t in_use_ = 0;  ///< those that are being made included
  std::size_t most_ = kMostConnections;
};

/// Receives the header of a part of an answer. Throws the Error that the server answers with instead.
FrameHead receive_answer(FrameStream& stream);

}  // namespace warpmer::serve
