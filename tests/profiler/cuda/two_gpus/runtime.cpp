#include "tests/profiler/cuda/two_gpus/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include <cuda_runtime_api.h>

namespace stowplan::profiler::cuda {

MadeUpGpus& Gpus() {
  static MadeUpGpus gpus;
  return gpus;
}

}  // namespace stowplan::profiler::cuda

using stowplan::profiler::cuda::Gpus;

struct CUstream_st {
  int device;
  double free_at_us;
};
struct CUevent_st {
  int device;
  double at_us;
};

namespace {

int current = 0;
double now_us = 0;                     // the host's
double busy_until_us[2] = {};          // of the copies from each device
std::map<const void*, int> device_of;  // of memory
std::set<std::pair<int, int>> reaching;

cudaError_t Enqueue(cudaStream_t stream, double us) {
  stream->free_at_us = std::max(stream->free_at_us, now_us) + us;
  return cudaSuccess;
}

// way: 0 from the first device (or the host), 1 back.
cudaError_t EnqueueCopy(cudaStream_t stream, int way, double bytes, double gigabytes) {
  const double start = std::max(stream->free_at_us, now_us);
  if (busy_until_us[1 - way] > start) gigabytes *= Gpus().both;
  Enqueue(stream, Gpus().latency_us + bytes / (gigabytes * 1e3));
  busy_until_us[way] = stream->free_at_us;
  return cudaSuccess;
}

template <typename Handle, typename... Fields>
cudaError_t Make(Handle* handle, Fields... fields) {
  *handle = new std::remove_pointer_t<Handle>{fields...};
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  *count = Gpus().devices;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int device) {
  if (device < 0 || device >= Gpus().devices) return cudaErrorInvalidDevice;
  current = device;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = Gpus().reach ? 1 : 0;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer, unsigned int) {
  if (!Gpus().reach) return cudaErrorPeerAccessUnsupported;
  return reaching.emplace(current, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}
cudaError_t CUDARTAPI cudaGetLastError() {
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMalloc(void** data, std::size_t bytes) {
  *data = std::malloc(bytes);
  device_of[*data] = current;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaFree(void* data) {
  device_of.erase(data);
  std::free(data);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaHostAlloc(void** data, std::size_t bytes, unsigned int) {
  *data = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  return Make(stream, current, 0.0);
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  now_us = std::max(now_us, stream->free_at_us);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  stream->free_at_us = std::max(stream->free_at_us, event->at_us);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return stream->device == current ? Enqueue(stream, 0) : cudaErrorInvalidResourceHandle;
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  return Make(event, current, 0.0);
}
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  Enqueue(stream, 0);
  event->at_us = stream->free_at_us;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
  return event->at_us <= now_us ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start->device != end->device) return cudaErrorInvalidResourceHandle;
  if (std::max(start->at_us, end->at_us) > now_us) return cudaErrorNotReady;
  *milliseconds = static_cast<float>((end->at_us - start->at_us) / 1e3);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* target, const void*, std::size_t bytes, cudaMemcpyKind,
                                      cudaStream_t stream) {
  return EnqueueCopy(stream, device_of.contains(target) ? 0 : 1, static_cast<double>(bytes),
                     Gpus().pinned_gigabytes);
}
cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* target, int to, const void* source, int from,
                                          std::size_t bytes, cudaStream_t stream) {
  if (device_of.at(target) != to || device_of.at(source) != from) return cudaErrorInvalidValue;
  double gigabytes = from == 0 ? Gpus().there_gigabytes : Gpus().back_gigabytes;
  if (!reaching.contains({from, to}) || !Gpus().reach) gigabytes *= Gpus().through_host;
  return EnqueueCopy(stream, from, static_cast<double>(bytes), gigabytes);
}

}  // extern "C"
