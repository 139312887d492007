#include "io/hts/cram_feed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/thread_without_signals.h"
#include "file/input_error.h"
#include "system/descriptors.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kStep = std::size_t{256} << 10;

}  // namespace

CramFeed::CramFeed(std::unique_ptr<file::ByteFile> file, std::function<void(std::string_view)> inspect)
    : file_(std::move(file)), inspect_(std::move(inspect)) {
  int ends[2];
  if (const int error = system::make_pipe(ends); error != 0) {
    throw ResourceError(
        fmt::format("{}: no pipe could be made to read it: {}", file_->shown(), file::system_message(error)));
  }
  reading_end_ = ends[0];
  writing_end_ = ends[1];
  system::widen_pipe(writing_end_);  // fewer switches; the default does as well
  try {
    thread_ = start_thread_without_signals([this] { run(); });
  } catch (...) {
    ::close(reading_end_);
    ::close(writing_end_);
    throw;
  }
}

CramFeed::~CramFeed() {
  stop();
  if (reading_end_ >= 0) ::close(reading_end_);
  if (thread_.joinable()) thread_.join();
}

int CramFeed::take_reading_end() {
  const int taken = reading_end_;
  reading_end_ = -1;
  return taken;
}

void CramFeed::finish() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

void CramFeed::run() {
  // The thread blocks SIGPIPE like all signals, so a reader that is gone shows as EPIPE.
  try {
    const std::unique_ptr<char[]> buffer(new char[kStep]);
    bool is_open = true;
    while (is_open) {
      const std::size_t count = file_->read(buffer.get(), kStep);
      if (count == 0) break;
      inspect_({buffer.get(), count});
      remember_tail({buffer.get(), count});
      for (std::size_t done = 0; is_open && done < count;) {
        const ssize_t written = ::write(writing_end_, buffer.get() + done, count - done);
        if (written > 0) done += static_cast<std::size_t>(written);
        is_open = written > 0 || errno == EINTR;
      }
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  ::close(writing_end_);
}

void CramFeed::remember_tail(std::string_view bytes) {
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes)));
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

}  // namespace warpmer::io
