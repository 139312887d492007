#pragma once
/// The index that htslib wants beside the reference of a CRAM file.

#include <string>

namespace warpmer::io {

/// Makes REFERENCE.fai, and REFERENCE.gzi where that is BGZF, unless the first is there: htslib would do so
/// in place, where other jobs take a half of it for all, and one that was cut short stays. Does nothing for a
/// URL, for what cannot be read, and where no file can be made: then htslib says what it lacks. ResourceError
/// for a full disk, InputError for what is no FASTA. Thread-safe.
void index_reference(const std::string& reference);

}  // namespace warpmer::io
