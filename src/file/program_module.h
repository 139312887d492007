#pragma once
/// The program's modules: libraries that it opens only when it needs them, since what they link with may not
/// be there.

namespace warpmer::file {

/// A module, and the one function that is asked of it.
struct ProgramModule {
  const char* name;        ///< of its file
  const char* subject;     ///< what it is for, in messages
  const char* symbol;      ///< of the function
  const char* remedy;      ///< what the user can do when it cannot be opened
  bool is_global = false;  ///< its symbols are for all to see, as MPI's own modules need it
};

/// Returns the address of a module's function; null if there is no such module. It stands beside the program,
/// or where that is installed in ../lib/warpmer. It stays open. ResourceError: it cannot be opened, or is of
/// another version of the program.
void* module_function(const ProgramModule& module);

}  // namespace warpmer::file
