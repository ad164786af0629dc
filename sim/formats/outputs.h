// Where results will be written: made, or refused, before the work that they are of.
#pragma once

#include <string>

namespace stowplan::formats {

// Makes the folder, with those that it is in. Throws InputError where a file is in the way or it may not be made.
void MakeFolder(const std::string& path);

// Makes the folder of a file that will be written, and sees that a file can be written there; "-" is standard output.
// Throws InputError, as WriteFile() would.
void PrepareOutput(const std::string& path);

// Throws InputError where there is such a file already; special files may be.
void RefuseExisting(const std::string& path);

}  // namespace stowplan::formats
