#pragma once
/// The register of mapped inputs. A program that makes a mapped file shorter takes pages away from us, and a
/// disk may fail to read them: touching them then is a signal (SIGBUS), whose handler finds here which input
/// it was. And a change made meanwhile is noticed before an output is completed.

#include <optional>
#include <string>

namespace warpmer::file {

class MappedInput;
struct MappedSlot;

/// Words of errors that stand behind an input's name.
inline constexpr const char* kBecameShorter =
    " has become shorter while it was being read: wait for its writer, then run again";
inline constexpr const char* kWasChanged =
    " has been changed while it was being read: wait for its writer, then run again";
inline constexpr const char* kCannotBeRead =
    " cannot be read to its end: its disk failed, or it was cut off meanwhile; check it, then run again";

class MappedInputs {
 public:
  /// Keeps an input in the register for as long as it lives. When it goes, the register remembers whether it
  /// had been changed.
  class Registration {
   public:
    explicit Registration(const MappedInput& input);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    MappedSlot* slot_;
  };

  /// Returns the change of one of all inputs so far that is not what it was when it was opened, in the words
  /// of an error. Of an input that has gone it is told once.
  [[nodiscard]] static std::optional<std::string> change();
  /// Throws an InputError with it.
  static void check();
  /// To be called when an output begins: what there was of inputs before, if none of them is there any more,
  /// does not concern it.
  static void begin_output() noexcept;

  /// Says what a fault at an address means, where that is a mapped input's. Async-signal-safe; for the thread
  /// that has the fault.
  struct Fault {
    const char* name = nullptr;  ///< name of the input in messages; null when it is none
    const char* what = nullptr;  ///< words that come behind it
  };
  [[nodiscard]] static Fault fault_at(const void* address) noexcept;
  /// Says which input has been written to since it was opened, if one has: what was checked of it does not
  /// hold any more, and its numbers may lead anywhere. Async-signal-safe likewise.
  [[nodiscard]] static Fault written_input() noexcept;
};

}  // namespace warpmer::file
