#include "cli/program.h"

int main(int argc, char** argv) {
  return stowplan::cli::RunProgram(argc, argv);
}
