#pragma once
/// Refuses outputs that would replace a file that the job reads, or sequence data.

#include <string>
#include <vector>

namespace warpmer::jobs {

/// Throws a UsageError when the output, by whichever name, is one of the inputs: it would replace it or, as
/// standard output, be written into it while it is read. "-" is the standard stream.
void check_is_no_input(const std::string& output, const std::vector<std::string>& inputs);

/// Throws a UsageError, which ends with `advice`, when the output would replace sequence data
/// (io::sequence_data_in). What is written to a stream replaces nothing.
void check_replaces_no_sequences(const std::string& output, const std::string& advice);

}  // namespace warpmer::jobs
