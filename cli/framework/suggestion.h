#pragma once
/// "Did you mean": what a misspelled word of the command line may have been.

#include <string>
#include <string_view>
#include <vector>

namespace warpmer::cli {

/// Changes that turn one word into the other: a letter more, less or another, or two neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Those of the candidates that `word` may stand for: the nearest ones, if they are near for its length, else
/// those that it is the beginning of; at most three.
std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& candidates);

/// Those options, of the ones there are, that an unknown one may stand for: near ones, and what other
/// programs call so (`--kmer-size` is `-k`). What follows '=' does not matter.
std::vector<std::string> near_options(std::string_view option, const std::vector<std::string>& options);

/// `; did you mean 'a' or 'b'?`, nothing for no words.
std::string did_you_mean(const std::vector<std::string>& words);

}  // namespace warpmer::cli
