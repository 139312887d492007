#pragma once
/// Says how refusals speak of memory: in the units that -m is given in, less than 1 MiB in KiB, and with what
/// can be done.

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmer {

/// Returns an amount that there is, rounded down: "512 MiB".
inline std::string mebibytes(std::uint64_t bytes) {
  return bytes >> 20 > 0 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

/// Returns an amount that is needed, rounded up, so that a cap of as much will do.
inline std::string mebibytes_needed(std::uint64_t bytes) {
  return bytes >> 20 > 0 ? std::to_string((bytes >> 20) + 1) + " MiB"
                         : std::to_string((bytes >> 10) + 1) + " KiB";
}

/// "1 thread", "8 threads".
inline std::string number_of_threads(unsigned threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

/// Says what to do where so many threads take more memory than there is: one thread cannot be fewer.
inline std::string_view memory_advice(unsigned threads) {
  return threads > 1 ? "raise -m or lower -t" : "raise -m";
}

}  // namespace warpmer
