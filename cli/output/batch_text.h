#pragma once
/// The text of `query --reads` for a batch of reads, and its messages from the rank that looked them up to
/// the one that writes.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/framework/text_output.h"
#include "cli/output/read_profile.h"
#include "cli/output/sequence_track.h"
#include "mpi/process_group.h"

namespace warpmer::cli {

/// The text of a batch, in order: finished text, and parts of reads that wait for their other parts.
using BatchText = std::vector<std::variant<std::string, ReadPart, TrackPart>>;

/// Puts the parts of reads together, and writes them.
class BatchJoiner {
 public:
  BatchJoiner(TrackRule::TrackFormat format, TextOutput& output) : tracks_(format), output_(output) {}

  /// Writes a batch. Batches come in order; `so_far` is the share of the reads that is there with this one.
  void write(BatchText&& batch, const Progress& so_far = {});
  /// All batches of reads come again from the first on, and say the same: what was written is not written
  /// again.
  void begin_again();

 private:
  void put(std::string_view text, const Progress& so_far);

  PartJoiner reads_;
  TrackJoiner tracks_;
  TextOutput& output_;
  std::uint64_t written_ = 0;  ///< bytes of text so far
  std::uint64_t known_ = 0;    ///< bytes of it that the output has from the time before
};

/// Appends a batch's text to a message.
void put_batch_text(mpi::Message& message, const BatchText& batch);
/// Returns the next batch's text of a message.
BatchText take_batch_text(mpi::MessageReader& message);

}  // namespace warpmer::cli
