#pragma once
/// A server in this process, on a thread of its own.

#include <unistd.h>

#include <string>
#include <thread>

#include "serve/server.h"
#include "unit/index/index_file_common.h"

namespace warpmer::tests {

class ServedTable {
 public:
  ServedTable(backend::LiveTable& table, const KmerParams& kmers, const serve::ServerOptions& options = {})
      : server_(table, at(scratch_ / "s", kmers, options)) {
    if (pipe(stop_) != 0) throw ResourceError("no pipe");
    thread_ = std::thread([this] { server_.run(stop_[0]); });
  }
  ~ServedTable() {
    stop();
    close(stop_[0]);
    close(stop_[1]);
  }
  ServedTable(const ServedTable&) = delete;
  ServedTable& operator=(const ServedTable&) = delete;

  [[nodiscard]] std::string path() const { return scratch_ / "s"; }
  [[nodiscard]] const index::test::ScratchFolder& scratch() const { return scratch_; }
  void stop() {
    if (!thread_.joinable()) return;
    CHECK(write(stop_[1], "x", 1) == 1);
    thread_.join();
  }

 private:
  static serve::ServerOptions at(const std::string& path, const KmerParams& kmers,
                                 serve::ServerOptions options) {
    options.path = path;
    options.kmers = kmers;
    return options;
  }

  index::test::ScratchFolder scratch_;
  serve::Server server_;
  int stop_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace warpmer::tests
