// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/read_file.h"
#include "core/media/decode.h"
#include "core/weights/safetensors_writer.h"
#include "tests/apps/classify_bench.h"
#include "tests/apps/result_effects.h"

#include <ATen/ops/ones.h>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;
using Arguments = ClassifyBench::Arguments;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

const ClassifyBench& bench() {
  return classify_bench();
}

/// Logits of flat/a.bmp with these flags.
Json logits(Arguments arguments) {
  arguments.emplace_back("--logits");
  return bench().row(arguments)["logits"];
}

const Json& plain_logits() {
  static const Json values = logits({});
  return values;
}

void expect_other_logits(const Arguments& arguments) {
  const Json values = logits(arguments);
  EXPECT_EQ(values.size(), plain_logits().size());
  EXPECT_NE(values, plain_logits());
}

void add_inputs(std::map<std::string, Effect>& effects) {
  effects["input"] = [] {
    EXPECT_EQ(inputs_of(bench().rows({"-i", "flat/b.bmp", "--input", "flat/a.bmp"})),
              (Names{"flat/b.bmp", "flat/a.bmp"}));
  };
  effects["list"] = [] {
    write_text_file(bench() / "list.txt",
                    "\xEF\xBB\xBF"
                    "flat/c.bmp\r\n\r\nflat/a.bmp");
    EXPECT_EQ(inputs_of(bench().rows({"--list", "list.txt"})), (Names{"flat/c.bmp", "flat/a.bmp"}));
    EXPECT_EQ(inputs_of(bench().rows({"--list", "-"}, 0, "flat/d.bmp\n")), Names{"flat/d.bmp"});
  };
  effects["split"] = [] {
    const Names test{"data/test/0/1.bmp", "data/test/1/1.bmp"};
    const Names train{"data/train/0/1.bmp", "data/train/1/1.bmp"};
    EXPECT_EQ(inputs_of(bench().rows({"data"})), test);
    EXPECT_EQ(inputs_of(bench().rows({"data", "--split", "train"})), train);
    expect_error(bench().run({"data", "--split", "nosuch", "--random-weights", "-m", "vit3_t"}), 2,
                 "nosuch");
  };
  effects["shard"] = [] {
    EXPECT_EQ(inputs_of(bench().rows({"flat", "--shard", "1/3"})), Names{"flat/b.bmp"});
    EXPECT_EQ(inputs_of(bench().rows({"flat", "--shard", "0/3"})),
              (Names{"flat/a.bmp", "flat/d.bmp"}));
    for (const char* bad : {"3/3", "-1/3", "1", "a/b", "1/0", "1/2/3"})
      expect_error(bench().run({"flat", "--shard", bad}), 2, "shard", "0 to N-1");
  };
  effects["stdin-jsonl"] = [] {
    const auto rows = bench().rows({"--stdin-jsonl"}, 4,
                                   "{\"input\": \"flat/a.bmp\", \"id\": 7}\n\nnonsense\n"
                                   "{\"input\": \"bad.jpg\"}\n{\"input\": 3}\n"
                                   "{\"input\": \"flat/b.bmp\"}");
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_EQ(rows[0]["id"], 7);
    EXPECT_EQ(rows[0]["topk"], bench().row({})["topk"]);
    EXPECT_EQ(rows[1]["error_kind"], "usage");
    EXPECT_EQ(rows[2]["error_kind"], "input");
    EXPECT_EQ(rows[3]["error_kind"], "usage");
    EXPECT_EQ(rows[4]["status"], "ok");
    EXPECT_EQ(rows[5]["counts"]["failed"], 3);
  };
  effects["on-error"] = [] {
    const Arguments inputs{"flat/a.bmp", "bad.jpg", "flat/b.bmp", "-b", "1"};
    EXPECT_EQ(bench().rows(inputs, 4).size(), 4U);
    Arguments stop = inputs;
    stop.insert(stop.end(), {"--on-error", "stop"});
    const auto rows = bench().rows(stop, 4);
    EXPECT_EQ(inputs_of(rows), (Names{"flat/a.bmp", "bad.jpg"}));
    EXPECT_EQ(rows.back()["counts"]["not_done"], 1);
  };
}

void add_model(std::map<std::string, Effect>& effects) {
  effects["weights"] = [] {
    const ProgramResult shipped = bench().run({"flat/a.bmp"});
    EXPECT_EQ(shipped.code, 0);
    EXPECT_TRUE(contains(shipped.err, "the shipped model"));
    expect_error(bench().run({"flat/a.bmp", "-m", "vit3_t"}), 2, "no weights", "--weights");
    expect_error(bench().run({"flat/a.bmp", "-w", "none.pth"}), 3, "none.pth");
    EXPECT_EQ(bench().summary({})["weights"], "tiny.safetensors");
  };
  effects["model"] = [] {
    expect_error(bench().run({"flat/a.bmp", "-w", "tiny.safetensors", "-m", "vit3_t"}), 3, "");
    expect_error(bench().run({"flat/a.bmp", "--random-weights", "-m", "vit3_x"}), 2, "vit3_x");
  };
  effects["weights-key"] = [] {
    const std::string file = shared("golden/vision/vit3_tiny32.pth");
    if (!fs::exists(file)) return;
    EXPECT_EQ(
        bench().summary({"-w", file, "--size", "64", "--weights-key", "model"})["weights_key"],
        "model");
    expect_error(bench().run({"flat/a.bmp", "-w", file, "--weights-key", "nosuch"}), 3, "nosuch");
  };
  const auto changed_file = [](const std::string& name, bool add) {
    const WeightFile file = WeightFile::open(bench() / "tiny.safetensors");
    std::vector<NamedTensor> tensors;
    for (const TensorInfo& info : file.tensors())
      if (add || info.name != "head.bias") tensors.push_back({info.name, file.read(info.name)});
    if (add) tensors.push_back({"extra.scale", at::ones({3})});
    write_safetensors(bench() / name, tensors);
  };
  effects["allow-missing"] = [=] {
    changed_file("less.safetensors", false);
    expect_error(bench().run({"flat/a.bmp", "-w", "less.safetensors", "--size", "32"}), 3,
                 "head.bias");
    bench().row({"-w", "less.safetensors", "--allow-missing", "head.*"});
  };
  effects["allow-unexpected"] = [=] {
    changed_file("more.safetensors", true);
    expect_error(bench().run({"flat/a.bmp", "-w", "more.safetensors", "--size", "32"}), 3,
                 "extra.scale");
    EXPECT_EQ(logits({"-w", "more.safetensors", "--allow-unexpected", "extra.*"}), plain_logits());
  };
  const Arguments random{"flat/a.bmp", "--random-weights", "-m",    "vit3_t",  "--size",
                         "32",         "--format",         "jsonl", "--logits"};
  const auto random_logits = [random](const std::string& seed) {
    Arguments arguments = random;
    arguments.insert(arguments.end(), {"--seed", seed});
    const ProgramResult result = bench().run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.json_lines();
  };
  effects["random-weights"] = [=] {
    EXPECT_TRUE(random_logits("1").back()["weights"].is_null());
    expect_error(bench().run({"flat/a.bmp", "--random-weights"}), 2, "", "--model");
  };
  effects["seed"] = [=] {
    const auto first = random_logits("1");
    EXPECT_EQ(first[0]["logits"], random_logits("1")[0]["logits"]);
    EXPECT_NE(first[0]["logits"], random_logits("2")[0]["logits"]);
    // A negative seed is a random one; the recorded value gives the same again.
    const auto unknown = random_logits("-1");
    const auto seed = unknown.back()["seed"].get<std::uint64_t>();
    EXPECT_EQ(unknown[0]["logits"], random_logits(std::to_string(seed))[0]["logits"]);
  };
}

void add_preprocessing(std::map<std::string, Effect>& effects) {
  effects["size"] = [] {
    expect_other_logits({"--size", "64x32"});
    for (const char* more : {"--no-dry-run", "--dry-run"})
      expect_error(bench().run({"flat/a.bmp", "-w", "tiny.safetensors", "--size", "33x32", "-o",
                                "size.jsonl", more}),
                   2, "33", "32");
    EXPECT_FALSE(fs::exists(bench() / "size.jsonl.run.json"));
    expect_error(bench().run({"flat/a.bmp", "--size", "32*32"}), 2, "not a size", "224x224");
  };
  effects["resize"] = [] { expect_other_logits({"--resize", "squash"}); };
  effects["crop-pct"] = [] { expect_other_logits({"--crop-pct", "1"}); };
  effects["mean"] = [] { expect_other_logits({"--mean", "0.5,0.5,0.5"}); };
  effects["std"] = [] { expect_other_logits({"--std", "0.5"}); };
  effects["decode"] = [] {
    const auto photo = bench().rows({"alpha.png", "--logits"});
    const auto official = bench().rows({"alpha.png", "--logits", "--decode", "official"});
    EXPECT_NE(photo[0]["logits"], official[0]["logits"]);
  };
  effects["preset"] = [] {
    EXPECT_EQ(bench().summary({"--preset", "official"})["preprocess"]["decode"], "official");
  };
}

void add_results(std::map<std::string, Effect>& effects) {
  effects["top-k"] = [] {
    EXPECT_EQ(bench().row({})["topk"].size(), 5U);
    EXPECT_EQ(bench().row({"-k", "2"})["topk"].size(), 2U);
    EXPECT_EQ(bench().row({"-k", "99"})["topk"].size(), 10U);
    expect_error(bench().run({"flat/a.bmp", "-k", "0"}), 2, "out of range (-", "from 1");
  };
  effects["labels"] = [] {
    std::string names;
    for (int i = 0; i < 10; ++i) names += "name" + std::to_string(i) + "\n";
    write_text_file(bench() / "labels.txt", names);
    const Json best = bench().row({"--labels", "labels.txt"})["topk"][0];
    EXPECT_EQ(best["label"], "name" + std::to_string(best["index"].get<int>()));
    write_text_file(bench() / "few.txt", "one\ntwo\n");
    Arguments arguments = ClassifyBench::model();
    arguments.insert(arguments.end(), {"flat/a.bmp", "--labels", "few.txt"});
    EXPECT_TRUE(contains(bench().run(arguments).err, "2 labels for 10 classes"));
  };
  effects["logits"] = [] {
    EXPECT_FALSE(bench().row({}).contains("logits"));
    EXPECT_EQ(plain_logits().size(), 10U);
  };
  effects["features"] = [] {
    bench().rows({"flat", "bad.jpg", "--features", "f.safetensors"}, 4);
    const WeightFile file = WeightFile::open(bench() / "f.safetensors");
    EXPECT_EQ(file.tensors().at(0).name, "features");
    EXPECT_EQ(file.tensors().at(0).shape, (std::vector<std::int64_t>{4, 48}));
    EXPECT_EQ(Json::parse(file.metadata().at("inputs")).at(3), "flat/d.bmp");
    expect_error(bench().run({"flat", "--features", "f.npz"}), 2, "safetensors");
    expect_error(bench().run({"flat", "--features", "f.safetensors"}), 5, "exists already");
  };
  effects["sheet"] = [] {
    bench().rows({"flat", "bad.jpg", "--sheet", "sheet.png"}, 4);
    const Image sheet =
        decode_image(inputs::read_file(bench() / "sheet.png"), DecodeMode::photo, "sheet.png");
    EXPECT_GT(sheet.width, 300);  // several columns
    bench().rows({"data", "--sheet", "labelled.png"});
    expect_error(bench().run({"flat", "--sheet", "s.jpg"}), 2, "PNG");
    expect_error(bench().run({"flat", "--sheet", "sheet.png"}), 5, "exists already");
  };
  effects["format"] = [] {
    Arguments arguments = ClassifyBench::model();
    arguments.insert(arguments.end(), {"flat/a.bmp", "-q", "--format", "csv"});
    EXPECT_TRUE(bench().run(arguments).out.starts_with("input,status,error,error_kind,top1_index"));
    arguments.back() = "json";
    const Json document = Json::parse(bench().run(arguments).out);
    EXPECT_EQ(document["results"][0]["input"], "flat/a.bmp");
    EXPECT_EQ(document["summary"]["counts"]["ok"], 1);
    arguments.back() = "table";
    EXPECT_TRUE(bench().run(arguments).out.starts_with("flat/a.bmp  40x48"));
  };
  effects["output"] = [] {
    EXPECT_TRUE(bench().rows({"flat", "-o", "out.jsonl"}).empty());
    EXPECT_EQ(read_text_file(bench() / "out.jsonl").substr(0, 10), "{\"schema\":");
    const Json record = Json::parse(read_text_file(bench() / "out.jsonl.run.json"));
    EXPECT_EQ(record["status"], "complete");
    EXPECT_EQ(record["counts"]["ok"], 4);
    EXPECT_EQ(record["options"]["size"]["origin"], "command line");
    expect_error(bench().run({"flat", "-o", "out.jsonl", "--format", "csv"}), 2, "contradicts");
    expect_error(bench().run({"flat", "-o", "/dev/null/x.csv"}), 5, "");
  };
  effects["overwrite"] = [] {
    bench().rows({"flat/a.bmp", "-o", "twice.jsonl"});
    expect_error(bench().run({"flat/a.bmp", "-o", "twice.jsonl"}), 5, "exists already",
                 "--overwrite");
    bench().rows({"flat/b.bmp", "-o", "twice.jsonl", "--overwrite"});
    EXPECT_TRUE(contains(read_text_file(bench() / "twice.jsonl"), "flat/b.bmp"));
  };
  effects["resume"] = [] {
    bench().rows({"flat/a.bmp", "flat/b.bmp", "-o", "some.jsonl"});
    const std::string before = read_text_file(bench() / "some.jsonl");
    // With others of the flags that change speed alone.
    bench().rows({"flat", "-o", "some.jsonl", "--resume", "--cuda-graph", "off", "--workers", "1",
                  "--batch", "2", "--threads", "1"});
    const std::string after = read_text_file(bench() / "some.jsonl");
    // The rows that were there are kept as they are, times included.
    EXPECT_EQ(after.substr(0, before.find("{\"schema\":1,\"status\":\"summary\"")),
              before.substr(0, before.find("{\"schema\":1,\"status\":\"summary\"")));
    EXPECT_TRUE(contains(after, "\"counts\":{\"total\":4,\"ok\":4"));
    Arguments other = ClassifyBench::model();
    other.insert(other.end(), {"flat", "-o", "some.jsonl", "--resume", "-k", "1"});
    expect_error(bench().run(other), 2, "top_k was 5, now it is 1");
    EXPECT_EQ(read_text_file(bench() / "some.jsonl"), after);
    EXPECT_FALSE(fs::exists(bench() / "some.jsonl.partial"));
    expect_error(bench().run({"flat", "--resume"}), 2, "--resume", "--output");
  };
}

void add_running(std::map<std::string, Effect>& effects) {
  effects["device"] = [] {
    EXPECT_EQ(bench().summary({"--device", "cpu"})["device_reason"], "asked for");
    expect_error(bench().run({"flat/a.bmp", "--device", "tpu"}), 2, "tpu", "cpu");
    expect_error(bench().run({"flat/a.bmp", "--device", "cuda:99"}), 7, "");
  };
  effects["backend"] = [] {
    const Json reference = logits({"--backend", "reference"});
    for (std::size_t i = 0; i < reference.size(); ++i)
      EXPECT_NEAR(reference[i].get<double>(), plain_logits()[i].get<double>(), 1e-3);
    EXPECT_NE(reference, plain_logits()) << "double precision inside must show in the last digits";
    Arguments cuda = ClassifyBench::model();
    cuda.insert(cuda.end(), {"flat/a.bmp", "--device", "cpu", "--backend", "cuda"});
    EXPECT_EQ(bench().run(cuda).code, 7);
  };
  effects["dtype"] = [] {
    expect_other_logits({"--dtype", "bf16"});
    expect_error(bench().run({"flat/a.bmp", "--dtype", "fp23"}), 2, "fp23", "fp32");
  };
  effects["tf32"] = [] {
    EXPECT_EQ(bench().summary({})["tf32"], false);
    EXPECT_EQ(bench().summary({"--tf32"})["tf32"], true);
  };
  effects["cuda-graph"] = [] {
    EXPECT_EQ(bench().summary({})["cuda_graph"], "auto");
    EXPECT_EQ(bench().summary({"--cuda-graph", "off"})["cuda_graph"], "off");
    expect_error(bench().run({"flat/a.bmp", "--device", "cpu", "--cuda-graph", "on"}), 7,
                 "need a GPU", "--device cuda");
    expect_error(bench().run({"flat/a.bmp", "--cuda-graph", "maybe"}), 2, "maybe");
  };
  effects["deterministic"] = [] {
    Arguments arguments = ClassifyBench::model();
    arguments.insert(arguments.end(), {"flat/a.bmp", "--deterministic"});
    EXPECT_TRUE(contains(bench().run(arguments).err, "deterministic: the same numbers"));
  };
  effects["threads"] = [] { EXPECT_EQ(bench().summary({"-t", "2"})["threads"], 2); };
  effects["batch"] = [] {
    EXPECT_EQ(bench().summary({"-b", "3"})["batch"], 3);
    const auto one = bench().rows({"flat", "-b", "1"});
    const auto all = bench().rows({"flat", "-b", "4"});
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(one[i]["topk"][0]["index"], all[i]["topk"][0]["index"]);
  };
  effects["workers"] = [] { EXPECT_EQ(bench().summary({"--workers", "3"})["workers"], 3); };
  effects["dry-run"] = [] {
    const auto plan = bench().rows({"flat", "--dry-run"});
    ASSERT_EQ(plan.size(), 1U);
    EXPECT_EQ(plan[0]["status"], "dry-run");
    EXPECT_EQ(plan[0]["pictures"], 4);
    EXPECT_GT(plan[0]["memory_mib"], 0);
  };
  effects["inner-update"] = [] { expect_other_logits({"--no-inner-update"}); };
  effects["inner-report"] = [] {
    const Json layers = bench().row({"--inner-report"})["inner"];
    ASSERT_EQ(layers.size(), 2U);
    for (const Json& layer : layers) {
      EXPECT_EQ(layer["steps"], 1);
      EXPECT_LT(layer["gated_linear"]["loss_after"], layer["gated_linear"]["loss_before"]);
    }
    EXPECT_EQ(bench().row({"--inner-report", "--no-inner-update"})["inner"][0]["steps"], 0);
  };
  effects["progress-fd"] = [] {
    Arguments arguments{"classify", "flat"};
    const Arguments model = ClassifyBench::model();
    arguments.insert(arguments.end(), model.begin(), model.end());
    const Json last = last_progress(arguments, bench().path());
    EXPECT_EQ(last["done"], 4);
    EXPECT_EQ(last["finished"], true);
    expect_error(bench().run({"flat", "--progress-fd", "77"}), 2, "not open", "77>");
  };
}

}  // namespace

std::map<std::string, Effect> classify_effects() {
  std::map<std::string, Effect> effects;
  Arguments call{"classify", bench() / "flat/a.bmp", "-w", bench() / "tiny.safetensors", "--size",
                 "32"};
  add_general_effects(effects, call);
  add_inputs(effects);
  add_model(effects);
  add_preprocessing(effects);
  add_results(effects);
  add_running(effects);
  return effects;
}

}  // namespace ttt::test
