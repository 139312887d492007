#pragma once
/// The rights of an output that replaces a file: which users may read and write it.

#include <sys/types.h>

#include <string>

namespace warpmer::file {

/// Gives the open file `fd` the owner, the group, the mode and the access control list of the regular file
/// `replaced`, as far as this process may, and beyond that `also`; nothing if there is no such file. Where
/// the group cannot be kept, another group gets no more rights than all others have.
void take_rights_of(const std::string& replaced, int fd, mode_t also = 0) noexcept;

}  // namespace warpmer::file
