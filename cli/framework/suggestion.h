#pragma once
/// "Did you mean": finds the words for which a misspelled word of the command line may stand.

#include <string>
#include <string_view>
#include <vector>

namespace warpmer::cli {

/// Returns the number of changes that turn one word into the other: a letter more, less or another, or two
/// neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidates that `word` may stand for: the nearest ones, if they are near for its length, else
/// those that begin with it; at most three.
std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& candidates);

/// Returns the options that an unknown one may stand for: near ones, and those that other programs call so
/// (`--kmer-size` is `-k`). Text behind '=' does not matter.
std::vector<std::string> near_options(std::string_view option, const std::vector<std::string>& options);

/// Returns `; did you mean 'a' or 'b'?`, or nothing for no words.
std::string did_you_mean(const std::vector<std::string>& words);

}  // namespace warpmer::cli
