#pragma once
/// The formats whose files have a reader of their own.

#include <string>

#include "io/fastx/record_format.h"

namespace warpmer::io {

/// Returns the format that a file begins as, without taking anything of it; null if it is none of them.
const RecordFormat* record_format_of(file::ByteFile& file);

/// Returns their names for a sentence of the help: "BAM or CRAM".
std::string record_format_names();

}  // namespace warpmer::io
