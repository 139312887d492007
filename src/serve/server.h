#pragma once
/// Serves a live table to other processes.

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "backend/live/live_table.h"
#include "base/buffer_pool.h"
#include "base/byte_room.h"
#include "serve/change_turns.h"
#include "serve/client_session.h"
#include "serve/frame_stream.h"
#include "serve/unix_socket.h"

namespace warpmer::serve {

struct ServerOptions {
  std::string path = {};
  KmerParams kmers = {};                     ///< of the table
  unsigned threads = 1;                      ///< LiveTablePlan::threads
  std::string read_only = {};                ///< why nothing may be added, removed or saved; empty: it may
  const index::IndexFile* frozen = nullptr;  ///< the index that the table is, if it is read only
  unsigned most_clients = 1024;              ///< connections at once; more are refused
  std::uint64_t request_bytes = 1 << 30;     ///< for requests that are worked on, and their answers
  unsigned grace_seconds = 2;                ///< after `stop`, for answers that are under way
  unsigned patience_seconds = 60;            ///< for a client that takes a snapshot, as additions wait for it
};

/// Answers clients, each connection on a thread of its own. A connection takes memory only while there is a
/// request, and waits for it until others have given theirs back; one that does not send it all, or does not
/// take its answer, keeps nobody else waiting for more than a tenth of a second.
class Server {
 public:
  /// Begins to listen. ResourceError when it cannot (unix_socket.h). The table outlives the server.
  Server(backend::LiveTable& table, const ServerOptions& options);
  ~Server();

  /// Answers until `stop`, a descriptor, can be read. Then it accepts nothing more, lets calls of the table
  /// that are under way come to their end, and ends all connections. ResourceError when it cannot go on.
  void run(int stop);

 private:
  using Buffers = BufferPool<RequestBuffers>;

  struct Client {
    explicit Client(int socket) : stream(socket) {}
    FrameStream stream;
    std::thread thread;
    bool has_ended = false;  ///< guarded by mutex_
  };

  void accept();
  void join_ended();
  void serve(Client& client);
  void end_all();

  backend::LiveTable& table_;
  const ServerOptions options_;
  ChangeTurns changes_;
  // Threads work on no more requests at a time, however many connections there are. Where each request got
  // memory from the system, and gave it back, that took a sixth of a server's CPU time.
  Buffers buffers_;
  ByteRoom room_;
  Listener listener_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::list<std::unique_ptr<Client>> clients_;
  unsigned running_ = 0;
  bool is_stopping_ = false;
};

}  // namespace warpmer::serve
