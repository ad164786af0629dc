// Which segment of time the ops that cannot avoid it fill most.
//
// An op that starts no earlier than `head`, runs for `length` and has `tail` to be done after it does at most a - head of itself before
// time a, and at most c - tail in the last c of the run. The rest falls into the window between, so devices that can do so much at once
// need T >= a + c + rest / devices (Fernández, Bussell: Bounds on the number of processors and time for multiprocessor optimal schedules,
// IEEE TC 1973). Without heads and tails that is the bound of all work.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::agents {

struct Span {
  sim::Picos head = 0;
  sim::Picos length = 0;
  sim::Picos tail = 0;

  // What of it falls between `before` and the last `behind` of the run.
  sim::Picos Within(sim::Picos before, sim::Picos behind) const {
    const sim::Picos early = std::max<sim::Picos>(0, before - head);
    const sim::Picos late = std::max<sim::Picos>(0, behind - tail);
    return early >= length || late >= length - early ? 0 : length - early - late;
  }
};

struct Window {
  sim::Picos before = 0;
  sim::Picos behind = 0;
};

// The window that promises most for so many equal devices, with before + behind <= `known`, a time that no run beats: else it could be longer than the
// run. Of many windows some are tried, so that it takes about a second for any graph. It proves nothing: see bounds.cpp.
Window BusiestWindow(const std::vector<Span>& spans, double devices, sim::Picos known);

// What a device needs that does one of them at a time: of any of them the least head, all lengths and the least tail. That is the
// time of the schedule that always goes on with what has the longest tail of those whose head is over (Carlier: The one-machine
// sequencing problem, EJOR 1982).
sim::Picos OneDeviceBound(std::vector<Span> spans);

}  // namespace stowplan::agents
