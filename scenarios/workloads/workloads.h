// The builders behind the table in registry.cpp; each is documented in its own file.
#pragma once

#include "sim/base/spec.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

sim::OpGraph BuildAmoebaNetD(const Spec& spec);
sim::OpGraph BuildBert(const Spec& spec);
sim::OpGraph BuildChain(const Spec& spec);
sim::OpGraph BuildCifar10(const Spec& spec);
sim::OpGraph BuildDiamond(const Spec& spec);
sim::OpGraph BuildGnmt(const Spec& spec);
sim::OpGraph BuildInceptionV3(const Spec& spec);
sim::OpGraph BuildLlama(const Spec& spec);
sim::OpGraph BuildMoe(const Spec& spec);
sim::OpGraph BuildNasNetA(const Spec& spec);
sim::OpGraph BuildNmt(const Spec& spec);
sim::OpGraph BuildNmtFamily(const Spec& spec);
sim::OpGraph BuildPipeline(const Spec& spec);
sim::OpGraph BuildPtb(const Spec& spec);
sim::OpGraph BuildRandomDag(const Spec& spec);
sim::OpGraph BuildResNet152(const Spec& spec);
sim::OpGraph BuildRnnlm(const Spec& spec);
sim::OpGraph BuildTransformerXl(const Spec& spec);
sim::OpGraph BuildWaveNet(const Spec& spec);

}  // namespace stowplan::scenarios
