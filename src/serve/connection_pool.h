#pragma once
/// A client's connections to one server.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kmer/kmer.h"
#include "serve/frame_stream.h"

namespace warpmer::serve {

/// Connections that wait for their next request. Thread-safe.
class ConnectionPool {
 public:
  /// Connects once, to learn what the server has. ResourceError when there is none, or another version's.
  explicit ConnectionPool(const std::string& path);

  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Sends a request, and calls `use(stream)` to take the answer. What goes wrong between both sides is a
  /// ResourceError; an error that the server answers with is thrown as it is.
  template <class Use>
  void ask(FrameKind kind, std::string_view payload, const Use& use) {
    std::unique_ptr<FrameStream> stream = take();
    try {
      send(*stream, kind, payload);
      use(*stream);
    } catch (const Error&) {
      // Where the server has answered so, it waits for the next request.
      give_back(std::move(stream));
      throw;
    } catch (const ConnectionLost&) {
      throw_lost();
    } catch (const MalformedFrame&) {
      throw_malformed();
    }
    give_back(std::move(stream));
  }
  /// Returns a connection for whoever sends and takes by itself; it is not given back.
  [[nodiscard]] std::unique_ptr<FrameStream> take();

  [[noreturn]] void throw_lost() const;
  [[noreturn]] void throw_malformed() const;

 private:
  void send(FrameStream& stream, FrameKind kind, std::string_view payload) const;
  void give_back(std::unique_ptr<FrameStream> stream);
  [[nodiscard]] std::unique_ptr<FrameStream> connect(KmerParams& kmers) const;

  const std::string path_;
  KmerParams kmers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<FrameStream>> idle_;
};

/// Receives the header of a part of an answer. Throws the Error that the server answers with instead.
FrameHead receive_answer(FrameStream& stream);

}  // namespace warpmer::serve
