// stowplan._core: what the package stowplan/ wraps in NumPy (python/README.md). Arrays go in as buffers and come out as bytearrays,
// so that the module belongs to no version of NumPy. Every long call releases the interpreter's lock.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "agents/agent.h"
#include "agents/plugin.h"
#include "problem/plausibility.h"
#include "python/episodes.h"
#include "python/estimates.h"
#include "python/prepared.h"
#include "scenarios/importers/aten.h"
#include "scenarios/importers/saved.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::python {
namespace {

namespace py = pybind11;
using namespace py::literals;

template <typename T>
py::bytearray ToBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// One number for each item.
template <typename T, typename Items, typename Get>
py::bytearray Column(const Items& items, const Get& get) {
  std::vector<T> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(static_cast<T>(get(item)));
  return ToBytes(values);
}

// Of an array that the package has made 32-bit, contiguous and not empty.
std::span<const std::int32_t> Integers(const py::buffer_info& info) {
  if (info.itemsize != sizeof(std::int32_t) || info.ndim != 1)
    throw InputError("placements: wanted a flat array of 32-bit integers.");
  return {static_cast<const std::int32_t*>(info.ptr), static_cast<std::size_t>(info.size)};
}

// Lets handlers in Python run (Ctrl-C), and throws what they raise.
void RaiseInterrupts() {
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

struct Graph {
  std::shared_ptr<const sim::OpGraph> graph;
  std::vector<std::string> notes;
};

Graph LoadGraph(const std::string& name_or_path) {
  const py::gil_scoped_release unlocked;
  Graph loaded;
  loaded.graph = std::make_shared<const sim::OpGraph>(
      scenarios::LoadGraph(name_or_path, &cost_models::BuiltinCatalogue(), &loaded.notes));
  for (std::string& note : problem::ImplausibleWork(*loaded.graph)) loaded.notes.push_back(std::move(note));
  return loaded;
}

Graph ParseGraph(const std::string& json, const std::string& source) {
  const py::gil_scoped_release unlocked;
  auto graph =
      std::make_shared<sim::OpGraph>(formats::ParseGraph(json, source, &cost_models::BuiltinCatalogue()));
  std::vector<std::string> notes = scenarios::CountAnew(*graph);
  for (std::string& note : problem::ImplausibleWork(*graph)) notes.push_back(std::move(note));
  return {std::move(graph), std::move(notes)};
}

py::bytearray GraphEdges(const Graph& graph) {
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  for (sim::OpIndex op = 0; op < graph.graph->size(); ++op) {
    for (const sim::OpIndex consumer : graph.graph->consumers(op)) {
      from.push_back(op);
      to.push_back(consumer);
    }
  }
  from.insert(from.end(), to.begin(), to.end());
  return ToBytes(from);
}

py::dict Evaluate(Prepared& problem, const py::buffer& placements, int threads) {
  const py::buffer_info info = placements.request();
  BatchResult result;
  {
    const py::gil_scoped_release unlocked;
    result = problem.Evaluate(Integers(info), threads, RaiseInterrupts);
  }
  py::dict out;
  out["runtime_us"] = ToBytes(result.runtime_us);
  out["fits"] = ToBytes(result.fits);
  out["reward"] = ToBytes(result.reward);
  out["peak_bytes"] = ToBytes(result.peak_bytes);
  return out;
}

py::object OutOfMemoryOf(const sim::Problem& problem, const sim::Outcome& outcome) {
  if (!outcome.oom) return py::none();
  const sim::OutOfMemory& oom = *outcome.oom;
  return py::dict("device"_a = problem.cluster().devices[static_cast<std::size_t>(oom.device)].name,
                  "op"_a = problem.graph().ops[static_cast<std::size_t>(oom.op)].name,
                  "what"_a = ToString(oom.what), "time_us"_a = sim::ToMicros(oom.time),
                  "needed_bytes"_a = oom.needed, "capacity_bytes"_a = oom.capacity);
}

py::dict ToDict(const Prepared& problem, const Run& run) {
  const sim::Outcome& outcome = run.outcome;
  py::dict out;
  out["runtime_us"] = sim::ToMicros(outcome.runtime);
  out["out_of_memory"] = OutOfMemoryOf(problem.problem(), outcome);
  out["device_busy_us"] =
      Column<double>(outcome.devices, [](const auto& use) { return sim::ToMicros(use.busy); });
  out["device_peak_bytes"] = Column<std::int64_t>(outcome.devices, [](const auto& use) { return use.peak; });
  out["op_device"] = ToBytes(run.placement.device);
  out["op_issue_us"] = Column<double>(outcome.ops, [](const auto& op) { return sim::ToMicros(op.issue); });
  out["op_start_us"] = Column<double>(outcome.ops, [](const auto& op) { return sim::ToMicros(op.start); });
  out["op_end_us"] = Column<double>(outcome.ops, [](const auto& op) { return sim::ToMicros(op.end); });
  const auto& moved = outcome.transfers;
  out["transfer_op"] = Column<std::int32_t>(moved, [](const auto& t) { return t.tensor.op; });
  out["transfer_output"] = Column<std::int32_t>(moved, [](const auto& t) { return t.tensor.output; });
  out["transfer_from"] = Column<std::int32_t>(moved, [](const auto& t) { return t.from; });
  out["transfer_to"] = Column<std::int32_t>(moved, [](const auto& t) { return t.to; });
  out["transfer_bytes"] = Column<std::int64_t>(moved, [](const auto& t) { return t.bytes; });
  out["transfer_queued_us"] = Column<double>(moved, [](const auto& t) { return sim::ToMicros(t.queued); });
  out["transfer_start_us"] = Column<double>(moved, [](const auto& t) { return sim::ToMicros(t.start); });
  out["transfer_end_us"] = Column<double>(moved, [](const auto& t) { return sim::ToMicros(t.end); });
  return out;
}

// `placement` makes one without the lock.
template <typename MakePlacement>
py::dict Simulate(const Prepared& problem, const MakePlacement& placement) {
  Run run;
  {
    const py::gil_scoped_release unlocked;
    run = problem.Simulate(placement());
  }
  return ToDict(problem, run);
}

// Runs work(stop) without the lock in a thread of its own, while this one lets handlers in Python run. Where one raises (Ctrl-C)
// `stop` is set, and its exception thrown once the work has ended.
template <typename Work>
auto Interruptible(const Work& work) {
  std::atomic<bool> stop{false};
  bool raised = false;
  py::gil_scoped_release unlocked;
  auto result = std::async(std::launch::async, [&] { return work(std::as_const(stop)); });
  while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    if (raised) continue;
    const py::gil_scoped_acquire lock;
    raised = PyErr_CheckSignals() != 0;
    stop = raised;
  }
  if (raised) {
    const py::gil_scoped_acquire lock;
    throw py::error_already_set();
  }
  return result.get();
}

py::dict Search(const Prepared& problem, const SearchRequest& request) {
  const SearchResult found =
      Interruptible([&](const std::atomic<bool>& stop) { return problem.Search(request, stop); });
  py::dict out;
  out["agent"] = found.agent;
  py::list rivals;
  if (found.advice) {
    out["placement"] = ToBytes(found.advice->chosen.placement);
    out["runtime_us"] = sim::ToMicros(found.advice->chosen.runtime);
    out["best_runtime_us"] = sim::ToMicros(found.best_runtime);
    for (const problem::Rival& rival : found.advice->rivals) {
      py::dict one;
      one["name"] = rival.name;
      one["placement"] = ToBytes(rival.placement);
      one["runtime_us"] = sim::ToMicros(rival.runtime);
      one["fits"] = rival.fits;
      one["peak_bytes"] = Column<std::int64_t>(rival.peak, [](sim::Bytes bytes) { return bytes; });
      rivals.append(one);
    }
  }
  out["rivals"] = rivals;
  out["samples"] = found.samples;
  out["distinct"] = found.distinct;
  out["proposals"] = found.proposals;
  out["screens"] = found.screens;
  out["wall_seconds"] = found.wall_seconds;
  out["simulator_seconds"] = found.simulator_seconds;
  out["left_out"] = found.left_out;
  out["curve_sample"] = Column<std::int64_t>(found.curve, [](const auto& point) { return point.sample; });
  out["curve_runtime_us"] =
      Column<double>(found.curve, [](const auto& point) { return sim::ToMicros(point.best); });
  out["curve_wall_seconds"] =
      Column<double>(found.curve, [](const auto& point) { return point.wall_seconds; });
  return out;
}

py::dict TrainOn(const std::string& agent, const std::vector<std::shared_ptr<Prepared>>& problems,
                 std::int64_t samples, std::int64_t seed, int threads, const std::string& init,
                 const std::string& path) {
  const TrainingResult trained = Interruptible([&](const std::atomic<bool>& stop) {
    return Train({agent, problems, samples, seed, threads, init, path}, stop);
  });
  const auto micros = [](const std::optional<sim::Picos>& time) {
    return time ? sim::ToMicros(*time) : std::numeric_limits<double>::infinity();
  };
  py::dict out;
  out["agent"] = trained.agent;
  out["samples"] = trained.samples;
  out["problem_samples"] =
      Column<std::int64_t>(trained.problems, [](const auto& one) { return one.samples; });
  out["best_runtime_us"] =
      Column<double>(trained.problems, [&](const auto& one) { return micros(one.best); });
  out["reference_runtime_us"] =
      Column<double>(trained.problems, [](const auto& one) { return sim::ToMicros(one.reference); });
  return out;
}

// `form`: "text", "json" or "page"; the placement by op, as of `placement_text`.
std::string Explain(const Prepared& problem, const std::string& placement, double faster,
                    const std::string& form) {
  const py::gil_scoped_release unlocked;
  return problem.Explain(problem.FromText(placement, "placement"), faster,
                         form == "json"   ? Prepared::Form::kJson
                         : form == "page" ? Prepared::Form::kPage
                                          : Prepared::Form::kText);
}

// The text for another program, and notes.
std::pair<std::string, std::vector<std::string>> Export(const Prepared& problem, const std::string& placement,
                                                        const std::string& to,
                                                        const std::string& graph_file) {
  const py::gil_scoped_release unlocked;
  const scenarios::ExporterRow& exporter = scenarios::FindExporter(to);
  const sim::Placement placed = problem.FromText(placement, "placement");
  scenarios::Exported exported =
      exporter.print({.problem = problem.problem(), .placement = placed, .graph_file = graph_file});
  return {std::move(exported.text), std::move(exported.notes)};
}

py::dict Bounds(const Prepared& problem) {
  agents::LowerBound bound;
  {
    const py::gil_scoped_release unlocked;
    bound = problem.Bounds();
  }
  return py::dict("runtime_us"_a = sim::ToMicros(bound.best()),
                  "critical_path_us"_a = sim::ToMicros(bound.critical_path),
                  "work_us"_a = sim::ToMicros(bound.work), "window_us"_a = sim::ToMicros(bound.window),
                  "together_us"_a = sim::ToMicros(bound.together),
                  "memory_us"_a = sim::ToMicros(bound.memory), "nothing_fits"_a = bound.nothing_fits);
}

py::dict Facts(const Prepared& problem) {
  const agents::Task& task = problem.task();
  const sim::Problem& loaded = problem.problem();
  py::list names;
  for (const sim::Device& device : loaded.cluster().devices) names.append(device.name);
  py::dict out;
  out["cluster_name"] = loaded.cluster().name;
  out["cost_model"] = loaded.costs().cost_model;
  out["device_names"] = names;
  out["device_capacity_bytes"] =
      Column<std::int64_t>(loaded.cluster().devices, [](const auto& device) { return device.capacity(); });
  out["devices"] = ToBytes(task.devices);
  out["grouper"] = task.units.grouper;
  out["unit_of_op"] = ToBytes(task.units.unit_of_op);
  std::vector<sim::Picos> unit_cost;
  for (agents::UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    for (sim::DeviceIndex device = 0; device < loaded.cluster().size(); ++device)
      unit_cost.push_back(task.unit_cost(unit, device));
  }
  out["unit_cost_us"] = Column<double>(unit_cost, [](sim::Picos cost) { return sim::ToMicros(cost); });
  out["unit_persistent_bytes"] = ToBytes(task.persistent);
  out["unit_output_bytes"] = ToBytes(task.output);
  out["edge_from"] = Column<std::int32_t>(task.edges, [](const auto& edge) { return edge.from; });
  out["edge_to"] = Column<std::int32_t>(task.edges, [](const auto& edge) { return edge.to; });
  out["edge_bytes"] = Column<std::int64_t>(task.edges, [](const auto& edge) { return edge.bytes; });
  out["reference_runtime_us"] = sim::ToMicros(task.reference_runtime);
  out["reference"] = task.reference;
  return out;
}

template <typename Row>
py::dict Named(const Row& row) {
  const std::string name = Settings({row.name, {}, {}}, row.settings).Canonical();
  const std::size_t open = std::min(name.find('('), name.size() - 1);
  return py::dict("name"_a = row.name, "what"_a = row.what,
                  "parameters"_a = name.ends_with(')') ? name.substr(open + 1, name.size() - open - 2) : "");
}

template <typename Rows>
py::list NamedRows(const Rows& rows) {
  py::list list;
  for (const auto& row : rows) list.append(Named(row));
  return list;
}

py::list AgentRows() {
  py::list list;
  for (const agents::AgentRow& row : agents::Agents()) {
    py::dict entry = Named(row);
    entry["samples"] = agents::Samples(row);
    entry["source"] = row.source;
    list.append(entry);
  }
  return list;
}

std::shared_ptr<Prepared> MakePrepared(const Graph& graph, const std::string& graph_name,
                                       const std::string& cluster, const std::string& cluster_text,
                                       const std::string& cost_model, const std::string& rules,
                                       const std::string& interconnect,
                                       const std::vector<std::string>& memory,
                                       const std::vector<std::string>& sheets, const std::string& grouper,
                                       const std::string& devices, const std::string& reserve,
                                       const std::string& host) {
  const py::gil_scoped_release unlocked;
  problem::ProblemSource source;
  source.graph = graph_name;
  source.cluster = cluster;
  source.cluster_text = cluster_text;
  source.cost_model = cost_model;
  source.rules = rules;
  source.interconnect = interconnect;
  source.memory = memory;
  source.reserve = reserve;
  source.host = host;
  source.sheets = sheets;
  return std::make_shared<Prepared>(*graph.graph, source, grouper, devices);
}

// Three flat arrays of 32-bit integers; empty ones have no pointer.
struct StartsIn {
  py::buffer_info which, problem, choice;
  explicit StartsIn(const py::tuple& from)
      : which(from[0].cast<py::buffer>().request()),
        problem(from[1].cast<py::buffer>().request()),
        choice(from[2].cast<py::buffer>().request()) {}
  Starts get() const { return {Integers(which), Integers(problem), Integers(choice)}; }
};

void SendToEpisodes(Episodes& episodes, const py::buffer& actions, const py::buffer& moved,
                    const py::tuple& begun, const py::tuple& again) {
  if (begun.size() != 3 || again.size() != 3)
    throw InputError("starts: wanted episodes, their problems and their placements.");
  const py::buffer_info actions_in = actions.request();
  const py::buffer_info moved_in = moved.request();
  const StartsIn begun_in(begun);
  const StartsIn again_in(again);
  episodes.Send(Integers(actions_in), Integers(moved_in), begun_in.get(), again_in.get());
}

py::dict StatesOf(const EpisodeStates& states) {
  return py::dict("problem"_a = ToBytes(states.problem), "choice"_a = ToBytes(states.choice),
                  "current"_a = ToBytes(states.current), "runtime_us"_a = ToBytes(states.runtime_us),
                  "fits"_a = ToBytes(states.fits), "told"_a = ToBytes(states.told));
}

py::dict RecvFromEpisodes(Episodes& episodes) {
  const StepResult* result = nullptr;
  {
    const py::gil_scoped_release unlocked;
    result = &episodes.Recv(RaiseInterrupts);
  }
  return py::dict("now"_a = StatesOf(result->now), "before"_a = StatesOf(result->before),
                  "reward"_a = ToBytes(result->reward), "ended"_a = ToBytes(result->ended));
}

// What Python makes of failures: the same sentences, in exceptions that are also what a program without stowplan would catch.
void RegisterErrors(py::module_& module) {
  py::register_exception<InputError>(module, "InputError", PyExc_ValueError).attr("__doc__") =
      "What was given is wrong: one sentence says where, what, and what would be right.";
  py::register_exception<RunError>(module, "RunError", PyExc_RuntimeError).attr("__doc__") =
      "The input was right, but the work could not be done: a file cannot be written, a library is missing.";
}

void BindGraph(py::module_& module) {
  py::class_<Graph>(module, "Graph")
      .def_property_readonly("name", [](const Graph& graph) { return graph.graph->name; })
      .def_property_readonly("notes", [](const Graph& graph) { return graph.notes; })
      .def("__len__", [](const Graph& graph) { return graph.graph->size(); })
      .def("names",
           [](const Graph& graph) {
             py::list names;
             for (const sim::Op& op : graph.graph->ops) names.append(op.name);
             return names;
           })
      .def("types",
           [](const Graph& graph) {
             py::list types;
             for (const sim::Op& op : graph.graph->ops) types.append(op.type);
             return types;
           })
      .def("edges", &GraphEdges)
      .def("json", [](const Graph& graph) { return formats::PrintGraph(*graph.graph); })
      .def("save",
           [](const Graph& graph, const std::string& path) { formats::WriteGraph(path, *graph.graph); });
  module.def("load_graph", &LoadGraph);
  module.def("parse_graph", &ParseGraph);
}

void BindProblem(py::module_& module) {
  py::class_<Prepared, std::shared_ptr<Prepared>>(module, "Problem")
      .def(py::init(&MakePrepared))
      .def("facts", &Facts)
      .def("cluster_text",
           [](const Prepared& problem) { return formats::PrintCluster(problem.problem().cluster()); })
      .def("evaluate", &Evaluate)
      .def("simulate_units",
           [](const Prepared& problem, const py::buffer& units) {
             const py::buffer_info info = units.request();
             return Simulate(problem, [&] { return problem.FromUnits(Integers(info)); });
           })
      .def("simulate_text",
           [](const Prepared& problem, const std::string& json, const std::string& source) {
             return Simulate(problem, [&] { return problem.FromText(json, source); });
           })
      .def("simulate_named",
           [](const Prepared& problem, const std::string& name) {
             return Simulate(problem, [&] { return problem.FromName(name); });
           })
      .def("units_of",
           [](const Prepared& problem, const std::string& name) {
             const py::gil_scoped_release unlocked;
             const agents::UnitPlacement units = problem.ToUnits(problem.FromName(name));
             const py::gil_scoped_acquire lock;
             return ToBytes(units);
           })
      .def("placement_text",
           [](const Prepared& problem, const py::buffer& units) {
             const py::buffer_info info = units.request();
             return formats::PrintPlacement(problem.FromUnits(Integers(info)), problem.problem().graph(),
                                            problem.problem().cluster());
           })
      .def("search",
           [](const Prepared& problem, const std::string& agent, std::int64_t samples, std::int64_t seed,
              int threads, const std::string& init, bool learn, double within) {
             return Search(problem, {agent, samples, seed, threads, init, learn, within});
           })
      .def("named_text",
           [](const Prepared& problem, const std::string& name) {
             const py::gil_scoped_release unlocked;
             return formats::PrintPlacement(problem.FromName(name), problem.problem().graph(),
                                            problem.problem().cluster());
           })
      .def("explain", &Explain)
      .def("export", &Export)
      .def("bounds", &Bounds);
}

void BindEpisodes(py::module_& module) {
  py::class_<Episodes>(module, "Episodes")
      .def(py::init<std::vector<std::shared_ptr<Prepared>>, int, bool, int, int>())
      .def("send", &SendToEpisodes)
      .def("recv", &RecvFromEpisodes);
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ part of stowplan; use the package `stowplan`.";
  RegisterErrors(module);
  BindGraph(module);
  BindProblem(module);
  BindEpisodes(module);
  BindEstimates(module);
  module.def("train", &TrainOn);
  module.def("write_file", &formats::WriteFile);
  module.def("set_plugin_folder", &agents::SetPluginFolder);
  module.def("agents", &AgentRows);
  module.def("aten_types", [] {
    py::dict types;
    for (const scenarios::AtenType& row : scenarios::AtenTypes())
      types[py::str(row.name)] = py::str(row.type);
    return types;
  });
  module.def("workloads", [] { return NamedRows(scenarios::Workloads()); });
  module.def("clusters", [] { return NamedRows(scenarios::Clusters()); });
  module.def("groupers", [] { return NamedRows(agents::Groupers()); });
  module.def("cost_models", [] { return NamedRows(cost_models::CostModels()); });
}

}  // namespace stowplan::python
