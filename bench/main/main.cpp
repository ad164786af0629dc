#include "bench/command.h"

int main(int argc, char** argv) {
  return berth::bench::RunProgram(argc, argv);
}
