// warpmer::ChunkReader: a walk through an index that its reader asks for the next step.

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "backend/indexes/entries.h"
#include "base/error.h"
#include "base/thread_without_signals.h"
#include "host/limits.h"
#include "library/as_error.h"
#include "library/index_impl.h"
#include "warpmer/warpmer.h"

namespace warpmer {

namespace {

/// Ends the walk of a reader that is gone.
struct ReaderGone : std::exception {};

}  // namespace

struct ChunkReader::Impl {
  Impl(const index::IndexFile& file, unsigned threads, std::uint64_t kmers)
      : process(::getpid()),
        most_waiting(2 * std::size_t{threads}),
        walker(start_thread_without_signals([this, &file, threads, kmers] { walk(file, threads, kmers); },
                                            "to unpack k-mers")) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      is_reader_gone = true;
    }
    changed.notify_all();
    walker.join();
  }

  void walk(const index::IndexFile& file, unsigned threads, std::uint64_t kmers) {
    std::exception_ptr error;
    try {
      backend::for_each_packed(file, threads, kmers,
                               [&](backend::PackedEntries&& entries) { put(std::move(entries)); });
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    thrown = error;
    is_at_end = true;
    changed.notify_all();
  }

  void put(backend::PackedEntries&& entries) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_reader_gone || waiting.size() < most_waiting; });
    if (is_reader_gone) throw ReaderGone();
    waiting.push_back({entries.size, std::move(entries.kmers), std::move(entries.counts)});
    changed.notify_all();
  }

  bool take(PackedChunk& chunk) {
    if (process != ::getpid())
      throw UsageError("chunks of a process cannot be read in one that it forked; begin anew there");
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_at_end || !waiting.empty(); });
    if (!waiting.empty()) {
      chunk = std::move(waiting.front());
      waiting.pop_front();
      changed.notify_all();
      return true;
    }
    if (thrown) library::rethrow_as_error(thrown);
    return false;
  }

  const pid_t process;
  const std::size_t most_waiting;
  std::mutex mutex;  ///< guards what follows
  std::condition_variable changed;
  std::deque<PackedChunk> waiting;
  std::exception_ptr thrown;
  bool is_at_end = false;  ///< nothing more will wait
  bool is_reader_gone = false;
  std::thread walker;  ///< the last member: it uses all others
};

ChunkReader::ChunkReader(const Index& index, unsigned threads, std::uint64_t kmers)
    : impl_(library::with_errors([&] {
        if (kmers == 0) throw UsageError("chunks of 0 k-mers hold nothing; ask for at least 1");
        const std::uint64_t all = std::max<std::uint64_t>(1, index.impl_->file.totals().stored_distinct);
        return std::make_unique<Impl>(index.impl_->file, host::threads_or_all(threads), std::min(kmers, all));
      })) {}
ChunkReader::~ChunkReader() {
  // A forked process has a copy of this, and none of the thread, for which it would wait for ever.
  if (impl_ && impl_->process != ::getpid()) static_cast<void>(impl_.release());
}
ChunkReader::ChunkReader(ChunkReader&&) noexcept = default;
ChunkReader& ChunkReader::operator=(ChunkReader&& other) noexcept {
  ChunkReader moved(std::move(other));
  impl_.swap(moved.impl_);
  return *this;
}

bool ChunkReader::next(PackedChunk& chunk) { return impl_->take(chunk); }

}  // namespace warpmer
