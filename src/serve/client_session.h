#pragma once
/// One client of a server: requests that come, answers that go.

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/live/live_table.h"
#include "base/buffer_pool.h"
#include "base/byte_room.h"
#include "serve/change_turns.h"
#include "serve/frame_stream.h"
#include "serve/protocol.h"

namespace warpmer::serve {

/// Memory for a request and its answer.
struct RequestBuffers {
  io::Batch batch;  ///< its text is the request
  backend::BatchSummary summary;
  Payload answer;
  std::vector<std::uint64_t> counts;
};

/// The common part of all sessions of a server.
struct SessionTerms {
  backend::LiveTable& table;
  ChangeTurns& changes;  ///< of the table
  BufferPool<RequestBuffers>& buffers;
  ByteRoom& room;  ///< for requests and their answers
  KmerParams kmers;
  unsigned threads = 1;          ///< that take a snapshot
  const std::string& read_only;  ///< ServerOptions, as is the next
  const index::IndexFile* frozen = nullptr;
  unsigned patience_seconds = 0;  ///< ServerOptions
};

class ClientSession {
 public:
  /// Both outlive the session.
  ClientSession(const SessionTerms& terms, FrameStream& stream);
  ~ClientSession() { stream_.note_waiting(nullptr); }
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Answers until the client has ended. What goes wrong between both sides ends it, too.
  void run() noexcept;

 private:
  void greet();
  void answer(const FrameHead& header);
  void answer_request(const FrameHead& header);
  void find();
  void profile();
  void summarise();
  void change(FrameKind kind);
  void send_totals();
  void send_tally();
  void send_tally(const index::Histogram& histogram, const index::Totals& totals);
  void send_snapshot();
  void send_shard(std::uint32_t shard, const index::FrozenShard& frozen);
  void send_error(const Error& error);
  void require_changes() const;

  const SessionTerms& terms_;
  FrameStream& stream_;
  // While there is a request. A client that keeps it waiting does not keep the room from others for long.
  std::optional<ByteRoom::Held> room_;
  BufferPool<RequestBuffers>::Lease buffers_;
};

}  // namespace warpmer::serve
