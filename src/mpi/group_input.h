#pragma once
/// A job's inputs as one of its ranks sees them: what it reads itself, and batches that others have read for
/// it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "io/input_set.h"
#include "mpi/process_group.h"

namespace warpmer::mpi {

class GroupInput {
 public:
  /// To be called on all ranks together. Rank 0 lists the inputs, and shares them out by size
  /// (io/fastx/input_shares.h); errors as io::InputSet has them. `threads` of each rank will call `next`
  /// until it returns false.
  GroupInput(ProcessGroup& ranks, const std::vector<std::string>& paths, const io::InputOptions& options,
             unsigned threads, bool may_divide = true);
  /// The inputs of a job of one process.
  GroupInput(const std::vector<std::string>& paths, const io::InputOptions& options)
      : GroupInput(single_process(), paths, options, 1) {}
  ~GroupInput();

  /// Does the same as io::InputSet::next, by threads 0 to `threads` - 1 at once. Batches that one rank reads
  /// for all go to the ranks in turn.
  bool next(io::Batch& batch, unsigned thread);

  /// Makes batches text from now on where the backend's sessions take it (io::InputSet::enable_raw_text).
  void enable_raw_text(const backend::Backend& backend);

  /// Makes all calls of `next` on this rank return false soon.
  void cancel() noexcept;

  /// To be called when a batch of a part of a file (io::Batch::is_of_part) is in error: its place cannot be
  /// named, and perhaps there would be none if the file was read from its beginning. All ranks stop reading
  /// soon.
  void give_up_parts();
  /// True when some rank has done so: then nothing that was read counts, and all has to be read again with
  /// `may_divide` false. To be called on all ranks together, when `next` has returned false.
  bool must_read_again();

  [[nodiscard]] ProcessGroup& ranks() const { return ranks_; }
  /// Returns what this rank reads itself.
  [[nodiscard]] io::InputSet& own() { return *own_; }
  [[nodiscard]] const io::InputSet& own() const { return *own_; }

 private:
  bool next_own(io::Batch& batch, bool& has_ended);
  bool next_handed_on(io::Batch& batch, std::chrono::milliseconds patience);
  void tell_all(char word);

  ProcessGroup& ranks_;
  std::unique_ptr<io::InputSet> own_;
  std::vector<char> has_ended_;            ///< true, by thread, when it has come to the end of `own_`
  std::atomic<unsigned> threads_reading_;  ///< number of threads that have not
  std::atomic<std::uint64_t> next_turn_{0};
  std::atomic<unsigned> ranks_reading_;  ///< others that have not
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> have_parts_failed_{false};
};

}  // namespace warpmer::mpi
