#pragma once
/// A job's inputs, shared out among the processes that read them: whole files, parts of large ones, and files
/// that one process reads for all.

#include <cstdint>
#include <vector>

#include "io/text/input_list.h"

namespace warpmer::io {

struct InputShare {
  std::uint32_t file = 0;   ///< in InputShares::files
  std::uint32_t owner = 0;  ///< the process that reads it
  std::uint32_t part = 0;   ///< number of the part, of a file that is divided (io/fastx/text_part.h)
  std::uint32_t parts = 1;  ///< 1: the whole file
  bool for_all = false;     ///< its batches are cut by all processes in turn
};

struct InputShares {
  std::vector<InputFile> files;    ///< all inputs of the job, in the order given
  std::vector<InputShare> shares;  ///< each part of each of them once
};

/// Shares inputs out by size, the largest first, each to the process that has least. Files of which one
/// process would have more than its fair share are divided if they are plain FASTA or FASTQ or FASTQ in BGZF,
/// in `parts_each` parts for every process; files that cannot be divided are for all. Pipes and descriptors
/// are read by process 0, for all. With `may_divide` false no file is divided. InputError for a large file of
/// a format that is not read.
InputShares share_out(std::vector<InputFile> files, std::uint32_t processes, std::uint32_t parts_each,
                      bool may_divide);

/// Returns all inputs in their order, for a job of one process.
InputShares all_for_one(std::vector<InputFile> files);

}  // namespace warpmer::io
