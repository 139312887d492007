#pragma once
/// What `query --reads` has to say about a batch of reads, and how it comes from the rank that looked them up
/// to the one that writes.

#include <string>
#include <variant>
#include <vector>

#include "cli/read_profile.h"
#include "cli/sequence_track.h"
#include "cli/text_output.h"
#include "engine/ranks.h"

namespace warpmer::cli {

/// In order: finished text, and parts of reads that wait for their other parts.
using BatchText = std::vector<std::variant<std::string, ReadPart, TrackPart>>;

/// Puts the parts of reads together.
class BatchJoiner {
 public:
  BatchJoiner(TrackRule::Format format, TextOutput& output) : tracks_(format), output_(output) {}

  /// Batches come in order.
  void write(BatchText&& batch);

 private:
  void write_part(std::string&& text) { output_.write(text); }
  void write_part(ReadPart&& part) { output_.write(reads_.add(std::move(part))); }
  void write_part(TrackPart&& part);

  PartJoiner reads_;
  TrackJoiner tracks_;
  TextOutput& output_;
};

/// Appends to a message.
void put_batch_text(engine::Message& message, const BatchText& batch);
/// The next of a message.
BatchText take_batch_text(engine::MessageReader& message);

}  // namespace warpmer::cli
