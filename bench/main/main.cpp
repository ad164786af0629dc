#include <malloc.h>

#include "bench/command.h"

int main(int argc, char** argv) {
  // Learners ask for the same megabytes thousands of times a second. Handed back to the system in between, they are 40 % of a search.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as large as it may be
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return berth::bench::RunProgram(argc, argv);
}
