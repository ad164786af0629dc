// Where numbers come from, and that all come from one machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

// Throws InputError naming two recordings and the first fact in which they differ: recorders of two families;
// of one device, any fact of machine or software; of two (a GPU and its host's CPU), any that both tell.
void CheckOneMachine(const std::vector<NamedRecording>& recordings);

// Whether a recording says which GPU it speaks of.
bool TellsGpu(const profiler::Recording& recording);

// Throws InputError where what a recording of steps tells of machine and software is not what the probes tell.
void CheckSameHost(const std::vector<NamedRecording>& probes, const NamedRecording& steps);

// Of recordings that passed CheckOneMachine(). The date is the newest part's, the commit the recorders'.
Provenance ProvenanceOf(const std::vector<NamedRecording>& recordings, const std::string& command);

// "clocks.sm 1980 MHz to 1980 MHz …" over all parts; empty where no recorder told.
std::string ClocksText(const std::vector<NamedRecording>& recordings);

// The catalogue's kind of each device class that was recorded. `given` ({"gpu": "h200"}) wins; else a GPU's is
// told by its name, a CPU's is "cpu". Throws InputError for kinds that are not in the catalogue, and where a
// GPU's name tells none.
std::map<sim::DeviceClass, std::string> KindsOf(const std::vector<NamedRecording>& recordings,
                                                const std::map<std::string, std::string>& given,
                                                const Catalogue& catalogue);

}  // namespace stowplan::cost_models
