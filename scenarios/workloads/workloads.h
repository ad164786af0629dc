// The builders behind the table in registry.cpp; each is documented in its own file.
#pragma once

#include "sim/base/settings.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

sim::OpGraph BuildAmoebaNetD(const Settings& read);
sim::OpGraph BuildBert(const Settings& read);
sim::OpGraph BuildChain(const Settings& read);
sim::OpGraph BuildCifar10(const Settings& read);
sim::OpGraph BuildDiamond(const Settings& read);
sim::OpGraph BuildGnmt(const Settings& read);
sim::OpGraph BuildInceptionV3(const Settings& read);
sim::OpGraph BuildLayout(const Settings& read);  // parallel/layout.h
sim::OpGraph BuildLlama(const Settings& read);
sim::OpGraph BuildMoe(const Settings& read);
sim::OpGraph BuildNasNetA(const Settings& read);
sim::OpGraph BuildNmt(const Settings& read);
sim::OpGraph BuildNmtFamily(const Settings& read);
sim::OpGraph BuildPipeline(const Settings& read);
sim::OpGraph BuildPtb(const Settings& read);
sim::OpGraph BuildRandomDag(const Settings& read);
sim::OpGraph BuildResNet152(const Settings& read);
sim::OpGraph BuildRnnlm(const Settings& read);
sim::OpGraph BuildTransformerXl(const Settings& read);
sim::OpGraph BuildWaveNet(const Settings& read);

// What the member of that index of nmt_family has, as DefaultRelation::apply.
double NmtFamilySteps(double fallback, double index, double default_index);
double NmtFamilyBatch(double fallback, double index, double default_index);

}  // namespace stowplan::scenarios
