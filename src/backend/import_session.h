#pragma once
/// Counted k-mers on their way into an index: in any order in, frozen shards out.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/backend.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::backend {

struct ImportPlan {
  std::uint32_t k = 31;
  bool canonical = true;        ///< k-mers become canonical
  bool may_repeat = true;       ///< a k-mer that comes more than once does not mean that the input is damaged
  bool sum_duplicates = false;  ///< a k-mer may come more than once, and its counts are added up
  unsigned threads = 1;
  std::uint64_t memory_bytes = 0;    ///< bytes that the session may hold
  std::uint64_t other_bytes = 0;     ///< bytes that the rest of the process holds, for messages
  std::uint64_t writer_share = 16;   ///< such a part of the cap is the index writer's, and in `other_bytes`
  std::uint64_t expected_kmers = 0;  ///< 0: not known
  std::string input;                 ///< name that messages give it
};

class ImportSession {
 public:
  virtual ~ImportSession() = default;
  /// Takes k-mers. Called concurrently, with a different `thread` each.
  virtual void add(std::span<const formats::CountedKmer> kmers, unsigned thread) = 0;
  /// To be called once, after all of `add` have returned. ResourceError, with what is needed, when memory was
  /// too little; InputError when all counts add up to more than 2^64 - 1.
  virtual void end_of_input() = 0;
  /// Does the same as CountingSession::finish. InputError when a k-mer came twice and was not to.
  virtual void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) = 0;
  /// To be called after all threads have returned from `finish`.
  [[nodiscard]] virtual Tally tally() const = 0;
};

/// Makes a session on the CPU (src/cpu). ResourceError when what is expected does not fit.
std::unique_ptr<ImportSession> make_cpu_import_session(const ImportPlan& plan);

}  // namespace warpmer::backend
