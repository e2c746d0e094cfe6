// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
//
// A library of its own, because GNU OpenMP reads its settings when it is loaded, before anything
// else of the program runs: the loader runs this constructor earlier still, since `ttt` names the
// library last. Unless told otherwise OpenMP's threads spin for many milliseconds while they wait
// for each other, and take the cores from threads that decode, or from other programs. Labelling
// 200 small pictures beside two busy processes took ten times as long.
#include <cstdlib>

namespace {

/// 2000 rounds still bridge the gap between two parallel regions of a model. What the user has set
/// stays.
[[gnu::constructor]] void limit_openmp_spinning() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  if (policy == nullptr || *policy == 0) setenv("GOMP_SPINCOUNT", "2000", /*overwrite=*/0);
}

}  // namespace
