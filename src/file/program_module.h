#pragma once
/// The program's modules: libraries that it opens only when it needs them, since what they link with may not
/// be there.

#include <string>

namespace warpmer::file {

/// A module, and the one function that is asked of it.
struct ProgramModule {
  const char* name;        ///< of its file
  const char* subject;     ///< what it is for, in messages
  const char* symbol;      ///< of the function
  const char* library;     ///< what it links with: it is built where that is installed
  const char* package;     ///< of ours, that has it; null if there is none
  const char* instead;     ///< what the user can do without it
  bool is_global = false;  ///< its symbols are for all to see, as MPI's own modules need it
};

/// Returns the address of a module's function. The module stands beside the program, or where that is
/// installed in ../lib/warpmer, or whatever the folder of libraries is. It stays open. ResourceError, in one
/// sentence, where it is not there, cannot be opened, or is of another version of the program. `need` is what
/// needs it, unless the subject says that.
void* module_function(const ProgramModule& module, const std::string& need = {});

}  // namespace warpmer::file
