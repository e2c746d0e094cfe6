// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/prefixes.h"

#include "tests/core/weights/weight_test_files.h"

namespace ttt {
namespace {

using Names = std::vector<std::string>;

Names stripped(Names names) {
  weights::strip_wrapper_prefixes(names);
  return names;
}

TEST(Prefixes, AllLayersInAnyOrder) {
  EXPECT_EQ(stripped({"module._orig_mod.w"}), Names{"w"});
  EXPECT_EQ(stripped({"_orig_mod.module.module.a.w"}), Names{"a.w"});
  EXPECT_EQ(stripped({"module.model._orig_mod.model.w"}), Names{"w"});
  EXPECT_EQ(stripped({"a._checkpoint_wrapped_module.b._orig_mod.w"}), Names{"a.b.w"});
}

TEST(Prefixes, OnlyWholePartsAndNeverTheParameterItself) {
  const Names names{"my_module.w", "submodule.module", "module", "modules.0.w", "a.model.w"};
  EXPECT_EQ(stripped(names), names);
}

TEST(Prefixes, ModelGoesOnlyWhereEveryNameHasIt) {
  EXPECT_EQ(stripped({"model.a", "model.b"}), (Names{"a", "b"}));
  EXPECT_EQ(stripped({"model.a", "head.b"}), (Names{"model.a", "head.b"}));
  EXPECT_EQ(stripped({"model.model.a", "model.b"}), (Names{"model.a", "b"}));
  EXPECT_EQ(stripped({"model.", "model.b"}), (Names{"model.", "model.b"}));
}

TEST(Prefixes, CollisionsAreErrors) {
  const std::string header = R"({"module.w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  const std::string error = test::open_error(test::safetensors_bytes(header, 2));
  EXPECT_CONTAINS(error, "\"module.w\" and \"w\" are the same tensor");
}

}  // namespace
}  // namespace ttt
