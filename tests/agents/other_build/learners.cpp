// Stands in for a libberth_rl.so that was left over from another build.
extern "C" __attribute__((visibility("default"))) const char berth_plugin_interface[] = "0123456789ab";

extern "C" __attribute__((visibility("default"))) const void* berth_rl_agents();

extern "C" const void* berth_rl_agents() {
  return nullptr;
}
