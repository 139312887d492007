#pragma once
/// On rank 0: deals out what is to be read, in the order of the inputs.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "io/input_set.h"
#include "io/text/input_list.h"
#include "mpi/read_results.h"

namespace warpmer::mpi {

/// Work for a rank, as a message: part of a file that it reads itself, or a batch.
struct ReadWork {
  static constexpr char kPart = 'p';   ///< followed by a PartOfInput
  static constexpr char kBatch = 'b';  ///< followed by a batch (mpi/input_message.h)
};

/// A part of an input (io/fastx/text_part.h), or with one part all of it.
struct PartOfInput {
  std::uint32_t file = 0;
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
};

/// Large files of many records are read by all ranks, in small parts; other small files by one rank each.
/// Other inputs (pipes, and large files that cannot be divided) are read here, and dealt out in batches.
///
/// When a part turns out not to be whole records, because of a wrong guess or of damage, all before it is
/// written and right: the first part begins with the file, and each ended where the next began. So that file
/// is read here from its beginning, records that are written are left out, and those that follow are dealt
/// again.
class ReadDealer {
 public:
  using Give = std::function<void(unsigned rank, Message&& work)>;

  /// `threads`: of all ranks together, among which all is shared out.
  ReadDealer(const std::vector<io::InputFile>& files, const io::InputOptions& options, std::uint64_t threads,
             ReadResults& results, Give give);

  /// Returns when everything is written, or after `stop`. Throws InputError for what is read here, when
  /// everything before it is written.
  void deal();

  /// `deal` returns soon.
  void stop() noexcept;

 private:
  bool deal_file(std::uint32_t index);
  bool deal_batches(std::uint32_t index, const ReadProgress& written);
  bool deal_parts(std::uint32_t index, std::uint32_t parts);
  bool give(std::uint32_t index, const std::function<void(Message&)>& put_work);
  std::shared_ptr<io::InputSet> open(std::uint32_t index);

  const std::vector<io::InputFile>& files_;
  const io::InputOptions options_;
  std::uint64_t part_bytes_;
  ReadResults& results_;
  const Give give_;

  std::mutex mutex_;  ///< guards what follows
  std::shared_ptr<io::InputSet> reading_;
  bool is_stopped_ = false;
};

/// Leaves out of a batch, read from a file's beginning, what of the file is written. `overlap_bases` as
/// io::InputOptions has it.
void leave_out_written(const ReadProgress& written, std::uint32_t overlap_bases, io::Batch& batch);

/// Returns all of an input, or a part of it, as if it were the only one.
io::InputShares only_part(const io::InputFile& file, std::uint32_t part, std::uint32_t parts);

}  // namespace warpmer::mpi
