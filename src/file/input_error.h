#pragma once
/// Words input errors, so that every one names its place in the same way.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace warpmer::file {

/// The name that messages and batches give to what "-" stands for.
inline constexpr std::string_view kStandardInput = "standard input";

/// The place in the input at which something is wrong. Zero or empty means unknown, and is left out.
struct InputPlace {
  std::string_view file;
  std::uint64_t record = 0;
  std::string_view name = {};
  std::uint64_t line = 0;
};

/// Thrown to unwind a thread that reads when the input set is cancelled; never leaves `io`.
struct Cancelled {};

/// Time after which a waiting thread looks whether the job was cancelled, which wakes no thread: a signal
/// handler may do it.
inline constexpr std::chrono::milliseconds kCancelCheck{100};

/// A regular file is not as long any more as it was when the job began: the missing part was never read, and
/// reading again would not say so.
class BecameShorter : public InputError {
 public:
  /// `shown` is the file's name for messages.
  explicit BecameShorter(std::string_view shown);
};

/// Throws the InputError "FILE, record 7 ('NAME'), line 25: WHAT".
[[noreturn]] void fail_at(const InputPlace& place, std::string_view what);

/// Throws the error for a file that cannot be opened, `error_number` being errno: a ResourceError where the
/// process or the machine has no more descriptors or memory, else an InputError.
[[noreturn]] void fail_opening(std::string_view file, int error_number);

/// Returns a character for people: 'x' in quotes if it can be printed, its code in hex if not.
std::string quoted(char character);

/// Number of characters of a text that messages show, unless they say otherwise.
constexpr std::size_t kQuotedCharacters = 40;

/// Returns the start of some text for people, in quotes: at most `limit` characters, unprintable ones as
/// \xHH.
std::string quoted(std::string_view text, std::size_t limit = kQuotedCharacters);

/// `strerror` without its race.
std::string system_message(int error_number);

}  // namespace warpmer::file
