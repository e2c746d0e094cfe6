// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The self-test must find what is wrong: made-up ops with one fault each.
#include "kernels/selftest.h"

#include "core/error.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>

namespace ttt::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using OpRun = std::function<Tensors(const Tensors&, Backend)>;

/// What the op of these tests does; an op's functions are plain pointers.
std::vector<OpCase> the_cases;

const OpSupport& the_support() {
  static const OpSupport support{"made_up", {at::kFloat, at::kBFloat16}, {}};
  return support;
}

OpCase case_of(const OpRun& run) {
  OpCase op_case;
  op_case.name = "the case";
  op_case.inputs = [](at::ScalarType dtype) { return Tensors{case_tensor("x", {3, 4}).to(dtype)}; };
  op_case.run = run;
  return op_case;
}

const Op kOp{"made_up", the_support, [] { return the_cases; }};

CheckResult check(const OpRun& run, at::ScalarType dtype = at::kFloat) {
  the_cases = {case_of(run)};
  return check_op(kOp, dtype, {Variant{.backend = Backend::cpu, .isa = CpuIsa::baseline}})[0];
}

at::Tensor with_last(const at::Tensor& x, double value) {
  at::Tensor result = x.clone();
  result.view({-1})[x.numel() - 1] = value;
  return result;
}

TEST(SelfTest, GoodOpPasses) {
  const CheckResult result = check([](const Tensors& in, Backend) { return Tensors{in[0] * 2}; });
  EXPECT_TRUE(result.passed()) << result.problem;
  EXPECT_EQ(result.cases, 1);
  ASSERT_EQ(result.outputs.size(), 1U);
  ASSERT_EQ(result.gradients.size(), 1U);
  EXPECT_EQ(result.outputs[0].error, 0);
  EXPECT_EQ(result.outputs[0].tolerance, rounding_tolerance(at::kFloat));
}

TEST(SelfTest, SmallErrorIsMeasured) {
  const OpRun run = [](const Tensors& in, Backend backend) {
    const at::Tensor out = in[0] / in[0].detach().abs().max();
    return Tensors{backend == Backend::reference ? out : out + 3e-5};
  };
  const CheckResult result = check(run);
  EXPECT_FALSE(result.passed());
  EXPECT_NEAR(worst(result.outputs)->error, 3e-5, 1e-6);
  EXPECT_NE(worst(result.outputs)->where.find("the case, output 0"), std::string::npos);
  EXPECT_TRUE(worst(result.gradients)->within());
  EXPECT_TRUE(check(run, at::kBFloat16).passed()) << "bf16 can't hold such a difference";
}

TEST(SelfTest, OneWrongElementOfTheGradientIsFound) {
  const CheckResult result = check([](const Tensors& in, Backend backend) {
    // The same values, another slope.
    const at::Tensor off = in[0].narrow(0, 0, 1).sum() * 1e-3;
    return Tensors{backend == Backend::reference ? in[0] * 1 : in[0] + (off - off.detach())};
  });
  EXPECT_FALSE(result.passed());
  EXPECT_TRUE(worst(result.outputs)->within());
  EXPECT_NE(worst(result.gradients)->where.find("gradient of input 0"), std::string::npos);
}

TEST(SelfTest, ValuesThatAreNotFiniteFail) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    const CheckResult fast = check([=](const Tensors& in, Backend backend) {
      return Tensors{backend == Backend::reference ? in[0] * 1 : with_last(in[0], bad)};
    });
    EXPECT_FALSE(fast.passed());
    EXPECT_EQ(worst(fast.outputs)->error, kInfinity);
    EXPECT_NE(worst(fast.outputs)->where.find("not finite"), std::string::npos);
    const CheckResult both =
        check([=](const Tensors& in, Backend) { return Tensors{with_last(in[0], bad)}; });
    EXPECT_FALSE(both.passed()) << "the reference must not be a pattern for NaN";
    const CheckResult reference = check([=](const Tensors& in, Backend backend) {
      return Tensors{backend == Backend::reference ? with_last(in[0], bad) : in[0] * 1};
    });
    EXPECT_FALSE(reference.passed());
  }
}

TEST(SelfTest, OtherShapesTypesAndCountsFail) {
  const auto fails = [](const std::function<Tensors(const at::Tensor&)>& wrong) {
    const CheckResult result = check([&](const Tensors& in, Backend backend) {
      return backend == Backend::reference ? Tensors{in[0] * 1} : wrong(in[0]);
    });
    return !result.passed();
  };
  EXPECT_TRUE(fails([](const at::Tensor& x) { return Tensors{(x * 1).view({4, 3})}; }));
  EXPECT_TRUE(fails([](const at::Tensor& x) { return Tensors{x.to(at::kDouble)}; }));
  EXPECT_TRUE(fails([](const at::Tensor& x) { return Tensors{x * 1, x * 1}; }));
  EXPECT_FALSE(fails([](const at::Tensor& x) { return Tensors{x * 1}; }));
}

TEST(SelfTest, ExceptionsAreProblemsOfTheirVariant) {
  the_cases = {case_of([](const Tensors& in, Backend backend) {
    if (backend == Backend::cpu) throw Error(ErrorKind::internal, "gave up\nsecond line", "here");
    return Tensors{in[0] * 1};
  })};
  const std::vector<CheckResult> results = check_op(
      kOp, at::kFloat, {Variant{.backend = Backend::cpu}, Variant{.backend = Backend::reference}});
  EXPECT_FALSE(results[0].passed());
  EXPECT_NE(results[0].problem.find("gave up"), std::string::npos);
  EXPECT_TRUE(results[1].passed()) << results[1].problem;
  const OpRun out_of_memory = [](const Tensors& in, Backend backend) {
    if (backend == Backend::cpu) throw std::bad_alloc();
    return Tensors{in[0] * 1};
  };
  EXPECT_THROW(check(out_of_memory), std::bad_alloc);
}

TEST(SelfTest, AFailingReferenceFailsEveryVariant) {
  const CheckResult result = check([](const Tensors& in, Backend backend) {
    TTT_CHECK(backend != Backend::reference, internal, "gave up", "there");
    return Tensors{in[0] * 1};
  });
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.problem.find("the reference failed: gave up"), std::string::npos);
}

TEST(SelfTest, ChangedInputsAreFound) {
  const CheckResult result = check([](const Tensors& in, Backend backend) {
    at::Tensor out = in[0] * 1;
    if (backend == Backend::cpu) in[0].data_ptr<float>()[5] += 1;
    return Tensors{out};
  });
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.problem.find("input 0 was changed"), std::string::npos) << result.problem;
}

TEST(SelfTest, ReferenceIsComparedWithDouble) {
  the_cases = {case_of([](const Tensors& in, Backend) {
    // Loses digits unless in double.
    return Tensors{(in[0] + 1e6) - 1e6};
  })};
  const Variant reference{.backend = Backend::reference};
  EXPECT_FALSE(check_op(kOp, at::kFloat, {reference})[0].passed());
  EXPECT_EQ(checked_types(kOp, Backend::reference).size(), 3U);
}

TEST(SelfTest, NothingComparedIsNoSuccess) {
  the_cases.clear();
  EXPECT_FALSE(check_op(kOp, at::kFloat, {Variant{}})[0].passed());
}

TEST(SelfTest, LargeCasesRunOnlyWhenAsked) {
  the_cases = {case_of([](const Tensors& in, Backend) { return Tensors{in[0] * 1}; })};
  the_cases.push_back(the_cases[0]);
  the_cases[1].large = true;
  EXPECT_EQ(check_op(kOp, at::kFloat, {Variant{}})[0].cases, 1);
  EXPECT_EQ(check_op(kOp, at::kFloat, {Variant{}}, true)[0].cases, 2);
}

TEST(SelfTest, KeepsTheWorstOfEachType) {
  std::vector<Deviation> list;
  record(list, {at::kFloat, 2e-6, 1e-5, "a"});
  record(list, {at::kBFloat16, 1e-3, 1e-2, "b"});
  record(list, {at::kFloat, 5e-6, 1e-5, "c"});
  record(list, {at::kFloat, 1e-6, 1e-5, "d"});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].where, "c");
  EXPECT_EQ(worst(list)->where, "c") << "the larger share of its tolerance counts";
  record(list, {at::kBFloat16, std::nan(""), 1e-2, "e"});
  EXPECT_EQ(worst(list)->where, "e");
  EXPECT_EQ(worst(list)->error, kInfinity);
  EXPECT_EQ(worst({}), nullptr);
}

TEST(SelfTest, EmptyTensorsAgree) {
  std::vector<Deviation> list;
  record(list, at::empty({0, 3}), at::empty({0, 3}), 1e-5, "empty");
  EXPECT_TRUE(worst(list)->within());
}

TEST(SelfTest, LeavesTheInstructionSetAsItWas) {
  const CpuIsa before = cpu_isa();
  check([](const Tensors& in, Backend) {
    EXPECT_TRUE(cpu_isa() <= best_cpu_isa());
    return Tensors{in[0] * 1};
  });
  EXPECT_EQ(cpu_isa(), before);
}

}  // namespace
}  // namespace ttt::ops
