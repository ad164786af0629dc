#include "tests/profiler/testing.h"

#include "profiler/traces/record_fields.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

std::string RandomText() {
  return *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("ab_ :\"\\/<>,{}\n\t0") + std::string("\x01", 1)));
}

// Fills every field of a record with anything the format can hold.
struct Filler {
  template <typename Integer>
  void operator()(std::string_view, Integer& member) const requires std::is_integral_v<Integer> {
    const std::int64_t limit = sizeof(Integer) == 4 ? INT32_MAX : std::int64_t{1} << 61;
    member = static_cast<Integer>(*rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-2, 3),
                                                  rc::gen::inRange<std::int64_t>(-limit, limit)));
  }
  void operator()(std::string_view, std::string& member) const { member = RandomText(); }
  void operator()(std::string_view, std::array<std::int32_t, 3>& member) const {
    for (auto& one : member) one = *rc::gen::inRange(0, INT32_MAX);
  }
  void operator()(std::string_view, sim::Attributes& member) const {
    member.clear();
    if (*rc::gen::arbitrary<bool>()) return;
    const sim::Attribute row{
        sim::Attribute::List{{std::int64_t{64}}, {*rc::gen::inRange<std::int64_t>(0, 99)}}};
    member.emplace_back("Input Dims", sim::Attribute{sim::Attribute::List{row, {nullptr}, {2.5}}});
    member.emplace_back("Input type", sim::Attribute{sim::Attribute::List{{RandomText()}}});
  }
  template <typename Enum, std::size_t Count>
  void operator()(std::string_view, Enum& member, const std::string_view (&)[Count]) const {
    member = static_cast<Enum>(*rc::gen::inRange<std::size_t>(0, Count));
  }
};

}  // namespace

std::string SamplePath(const std::string& name) {
  return std::string(STOWPLAN_SOURCE_DIR "/tests/profiler/samples/") + name;
}

std::string MessageOf(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

rc::Gen<ActivityTrace> RandomTrace() {
  return rc::gen::exec([] {
    ActivityTrace trace;
    for (std::int64_t* number : {&trace.base_ns, &trace.buffers, &trace.lost_records, &trace.cut_records}) {
      *number = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 61);
    }
    if (*rc::gen::arbitrary<bool>()) trace.refused = {"memory: " + RandomText()};
    VisitLists(trace, [](std::string_view, auto& records) {
      records.resize(*rc::gen::inRange<std::size_t>(0, 4));
      for (auto& record : records) VisitFields(record, Filler{});
    });
    return trace;
  });
}

ActivityTrace SoundTrace(int kernels) {
  constexpr Nanos kMicro = 1000;
  ActivityTrace trace;
  for (int i = 0; i < kernels; ++i) {
    const Nanos call = (i + 1) * 100 * kMicro;
    const Id id = i + 1;
    trace.calls.push_back({"cudaLaunchKernel", call, call + 5 * kMicro, ApiCall::Level::kRuntime, 1, 2, id});
    KernelRecord kernel;
    kernel.name = "k" + std::to_string(i % 3);
    kernel.start = call + 20 * kMicro;
    kernel.end = call + 50 * kMicro;
    kernel.stream = 7;
    kernel.correlation = id;
    trace.kernels.push_back(kernel);
    trace.external.push_back({id, id});
    trace.markers.push_back({"aten::op", call - kMicro, call + 6 * kMicro, Marker::What::kOp, 1, 2, id, {}});
  }
  const Nanos end = (kernels + 1) * 100 * kMicro;
  trace.synchronisations.push_back({end, end + kMicro, Synchronisation::What::kContext, 1, 0, 0, 0});
  return trace;
}

}  // namespace stowplan::profiler
