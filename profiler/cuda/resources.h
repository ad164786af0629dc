// Memory, streams and events that free themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "profiler/cuda/check.h"

namespace stowplan::profiler::cuda {

// Device memory by plain allocation: its contents are undefined. Empty where `bytes` is 0.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) STOWPLAN_CUDA(cudaMalloc(&data_, bytes));
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Host memory that the device can reach.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) {
    STOWPLAN_CUDA(cudaHostAlloc(&data_, bytes, cudaHostAllocMapped));
  }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { STOWPLAN_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  // Takes over a stream of something that must outlive it.
  Stream(cudaStream_t made, std::shared_ptr<const void> owner) : owner_(std::move(owner)), stream_(made) {}
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept
      : owner_(std::move(other.owner_)), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Wait() const { STOWPLAN_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  std::shared_ptr<const void> owner_;
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  // timed: MicrosSince() will be asked.
  explicit Event(bool timed = true) {
    STOWPLAN_CUDA(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Record(const Stream& stream) { STOWPLAN_CUDA(cudaEventRecord(event_, stream.get())); }
  bool Reached() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) {
      STOWPLAN_CUDA(status);
      return true;
    }
    cudaGetLastError();  // or the next launch would find it and call it its own
    return false;
  }
  // [us]; both must have been recorded and reached.
  double MicrosSince(const Event& earlier) const {
    float milliseconds = 0;
    STOWPLAN_CUDA(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return static_cast<double>(milliseconds) * 1e3;
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace stowplan::profiler::cuda
