#include "bench/command.h"

int main(int argc, char** argv) {
  return stowplan::bench::RunProgram(argc, argv);
}
