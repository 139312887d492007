#pragma once
/// A format whose files have a reader of their own: any but text, compressed or not. io/record_formats.cpp
/// has the list of them.

#include <atomic>
#include <memory>
#include <string_view>

#include "file/byte_file.h"
#include "io/fastx/record_reader.h"
#include "io/text/input_list.h"
#include "io/text/input_options.h"

namespace warpmer::io {

struct CramNeeds;  // io/hts/cram_memory.h

/// The parts that a reader is made of.
struct RecordInput {
  const InputFile& input;
  std::unique_ptr<file::ByteFile> file;  ///< of which nothing has been taken
  const InputOptions& options;
  unsigned threads;                    ///< threads that it may have of its own
  const CramNeeds* foreseen;           ///< of CRAM, what there is memory set aside for; else null
  const std::atomic<bool>& cancelled;  ///< makes reading throw Cancelled
};

struct RecordFormat {
  std::string_view name;  ///< as messages have it
  /// True for a file that begins so. Only peeks, in the first kBgzfHeaderBytes at first: a pipe may stay
  /// open, and not have more.
  bool (*is_format_of)(file::ByteFile& file);
  std::unique_ptr<RecordReader> (*open)(RecordInput&& input);
  bool is_in_help = true;
};

}  // namespace warpmer::io
