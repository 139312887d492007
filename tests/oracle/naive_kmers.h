#pragma once
/// A k-mer counter that is too simple to be wrong; unit tests compare with it. It is made of strings and a
/// std::map, and shares no code and no idea with warpmer: keep it that way.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

/// Returns the k-mers of `seq` as upper-case text over A C G T, each with the number of its occurrences.
/// Anything but A C G T U (any case; U counts as T) breaks k-mers. With `canonical`, a k-mer and its reverse
/// complement are one, named by the one that comes first in the alphabet. k may be any number from 1 on.
inline std::map<std::string, std::uint64_t> naive_kmers(std::string_view seq, int k, bool canonical) {
  std::map<std::string, std::uint64_t> counts;
  const auto length = static_cast<std::size_t>(k);
  for (std::size_t first = 0; first + length <= seq.size(); ++first) {
    std::string forward;
    std::string reverse;
    for (const char c : seq.substr(first, length)) {
      switch (c) {
        case 'A':
        case 'a':
          forward += 'A';
          reverse.insert(0, 1, 'T');
          break;
        case 'C':
        case 'c':
          forward += 'C';
          reverse.insert(0, 1, 'G');
          break;
        case 'G':
        case 'g':
          forward += 'G';
          reverse.insert(0, 1, 'C');
          break;
        case 'T':
        case 't':
        case 'U':
        case 'u':
          forward += 'T';
          reverse.insert(0, 1, 'A');
          break;
        default:
          break;
      }
    }
    if (forward.size() == length) {  // else it held something that breaks k-mers
      ++counts[canonical && reverse < forward ? reverse : forward];
    }
  }
  return counts;
}

/// Adds `more` to `counts`: a file's k-mers are those of its sequences taken together.
inline void add_naive_kmers(std::map<std::string, std::uint64_t>& counts,
                            const std::map<std::string, std::uint64_t>& more) {
  for (const auto& [kmer, count] : more) {
    counts[kmer] += count;
  }
}
