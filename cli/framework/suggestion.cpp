#include "cli/framework/suggestion.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace warpmer::cli {
namespace {

constexpr std::size_t kMostWords = 3;
/// Shorter ones begin too many words.
constexpr std::size_t kShortestBeginning = 2;

/// The name of an option in other programs, without dashes.
struct OtherName {
  std::string_view other;
  std::string_view ours;
};
constexpr OtherName kOtherNames[] = {
    {"k", "-k"},
    {"kmer", "-k"},
    {"kmer-len", "-k"},
    {"kmer-length", "-k"},
    {"kmer-size", "-k"},
    {"ksize", "-k"},
    {"klen", "-k"},
    {"mer-len", "-k"},
    {"mem", "--memory"},
    {"ram", "--memory"},
    {"max-memory", "--memory"},
    {"cpus", "--threads"},
    {"cores", "--threads"},
    {"cpu", "--threads"},
    {"num-threads", "--threads"},
    {"nthreads", "--threads"},
    {"temp-dir", "--tmp-dir"},
    {"tempdir", "--tmp-dir"},
    {"temp", "--tmp-dir"},
    {"silent", "--quiet"},
    {"lower-count", "--min-count"},
    {"upper-count", "--max-count"},
    {"gpu", "--device"},
    {"gpus", "--device"},
};

std::string_view without_dashes(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  return option;
}

/// Changes that a word of so many letters may have suffered and still be known.
std::size_t most_changes(std::size_t letters) {
  return letters <= 2 ? 0 : letters <= 4 ? 1 : letters <= 8 ? 2 : 3;
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string sought = lower(without_dashes(word));
  std::vector<std::string> words;
  std::size_t least = most_changes(sought.size()) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(sought, without_dashes(candidate));
    if (distance > most_changes(sought.size()) || distance > least) continue;
    if (distance < least) words.clear();
    least = distance;
    words.push_back(candidate);
  }
  if (words.empty() && sought.size() >= kShortestBeginning) {
    for (const std::string& candidate : candidates)
      if (without_dashes(candidate).starts_with(sought)) words.push_back(candidate);
  }
  if (words.size() > kMostWords) words.resize(kMostWords);
  return words;
}

std::vector<std::string> near_options(std::string_view option, const std::vector<std::string>& options) {
  const std::string_view name = option.substr(0, option.find('='));
  // A letter behind one dash is too little to guess from.
  if (without_dashes(name).size() < 2 && !name.starts_with("--")) return {};
  const std::string sought = lower(without_dashes(name));
  std::vector<std::string> words = near_words(name, options);
  if (!words.empty()) return words;
  for (const OtherName& known : kOtherNames) {
    if (known.other == sought && std::find(options.begin(), options.end(), known.ours) != options.end())
      words.emplace_back(known.ours);
  }
  return words;
}

std::string did_you_mean(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "; did you mean " : i + 1 == words.size() ? " or " : ", ";
    text += "'" + words[i] + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace warpmer::cli
