// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/checks.h"
#include "kernels/support/torch_library.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace ttt::ops::library {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;
using torch::jit::Stack;

constexpr std::string_view kNamespace = "ttt::";

/// Where an argument of the backward op comes from.
struct Source {
  enum class Kind { argument, result, gradient } kind;
  std::size_t index;  ///< of the argument or result of the forward op
};

/// `Gradients` with names resolved to positions.
struct Recipe {
  c10::OperatorHandle forward, backward;
  std::size_t results;                               ///< of the op itself
  std::vector<Source> sources;                       ///< per argument of `backward`
  std::vector<std::optional<std::size_t>> gradient;  ///< per argument: the result of `backward`
};

std::optional<std::size_t> position(const std::vector<c10::Argument>& list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name() == name) return i;
  return std::nullopt;
}

Source find_source(const c10::FunctionSchema& forward, const std::string& name) {
  if (const auto i = position(forward.arguments(), name)) return {Source::Kind::argument, *i};
  if (const auto i = position(forward.returns(), name)) return {Source::Kind::result, *i};
  const auto i = name.front() == 'd' ? position(forward.returns(), name.substr(1)) : std::nullopt;
  TTT_CHECK(i, internal, "a backward op has an argument that its op doesn't know: " + name,
            forward.name());
  return {Source::Kind::gradient, *i};
}

Recipe make_recipe(const Gradients& gradients) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto find = [&](const std::string& name) {
    return dispatcher.findSchemaOrThrow((std::string(kNamespace) + name).c_str(), "");
  };
  const std::string& forward_name = gradients.forward.empty() ? gradients.op : gradients.forward;
  Recipe recipe{find(forward_name),
                find(gradients.backward),
                find(gradients.op).schema().returns().size(),
                {},
                {}};
  const c10::FunctionSchema& forward = recipe.forward.schema();
  const c10::FunctionSchema& backward = recipe.backward.schema();
  for (const c10::Argument& argument : backward.arguments())
    recipe.sources.push_back(find_source(forward, argument.name()));
  for (const c10::Argument& argument : forward.arguments())
    recipe.gradient.push_back(position(backward.returns(), "d" + argument.name()));
  return recipe;
}

/// The recipes, by op. Made at the first use, when all ops are defined; never removed.
class Recipes {
 public:
  void add(const Gradients& gradients) {
    const std::lock_guard lock(mutex_);
    entries_[gradients.op].gradients = gradients;
  }
  const Recipe& get(const std::string& op) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_.at(op);
    if (!entry.recipe) entry.recipe = std::make_unique<Recipe>(make_recipe(entry.gradients));
    return *entry.recipe;
  }

 private:
  struct Entry {
    Gradients gradients;
    std::unique_ptr<Recipe> recipe;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

Recipes& recipes() {
  static Recipes all;
  return all;
}

at::Tensor tensor_or_undefined(const c10::IValue& value) {
  return value.isNone() ? at::Tensor() : value.toTensor();
}

std::string saved_name(std::size_t argument) {
  return "argument " + std::to_string(argument);
}

/// One recorded call. `inputs` are the tensors that get gradients.
struct RecordedCall : Function<RecordedCall> {
  static constexpr bool is_traceable = true;  // all that backward uses is in the context

  static variable_list forward(AutogradContext* context, at::TensorList inputs,
                               const std::string& op, const std::vector<c10::IValue>& arguments) {
    (void)inputs;  // named for autograd, used through `arguments`
    const Recipe& recipe = recipes().get(op);
    Stack stack(arguments);
    {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      recipe.forward.callBoxed(stack);
    }
    context->saved_data["op"] = op;
    std::vector<std::int64_t> differentiable;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (recipe.gradient[i] && !arguments[i].isNone())
        differentiable.push_back(static_cast<std::int64_t>(i));
    context->saved_data["inputs"] = differentiable;
    save(context, recipe, arguments, stack);
    variable_list results;
    for (std::size_t i = 0; i < recipe.results; ++i) results.push_back(stack[i].toTensor());
    return results;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const std::string op = context->saved_data["op"].toStringRef();
    try {
      refuse_second_derivative(op);
    } catch (const Error& error) {
      rethrow(error);
    }
    const Recipe& recipe = recipes().get(op);
    Stack stack = backward_arguments(context, recipe, gradients);
    recipe.backward.callBoxed(stack);
    variable_list results;
    for (const std::int64_t i : context->saved_data["inputs"].toIntVector())
      results.push_back(stack[*recipe.gradient[static_cast<std::size_t>(i)]].toTensor());
    results.resize(results.size() + 2);  // none for `op` and `arguments`
    return results;
  }

 private:
  /// Keeps what the backward op asks for: tensors in the order of its arguments, the rest by name.
  static void save(AutogradContext* context, const Recipe& recipe,
                   const std::vector<c10::IValue>& arguments, const Stack& results) {
    const std::vector<c10::Argument>& wanted = recipe.backward.schema().arguments();
    variable_list tensors;
    for (std::size_t i = 0; i < recipe.sources.size(); ++i) {
      const auto [kind, index] = recipe.sources[i];
      if (kind == Source::Kind::gradient) continue;
      const c10::IValue& value = kind == Source::Kind::result ? results[index] : arguments[index];
      if (is_tensor(wanted[i])) {
        tensors.push_back(tensor_or_undefined(value));
      } else {
        context->saved_data[saved_name(i)] = value;
      }
    }
    context->save_for_backward(std::move(tensors));
  }

  static Stack backward_arguments(AutogradContext* context, const Recipe& recipe,
                                  const variable_list& gradients) {
    const std::vector<c10::Argument>& wanted = recipe.backward.schema().arguments();
    const variable_list saved = context->get_saved_variables();
    std::size_t next = 0;
    Stack stack;
    for (std::size_t i = 0; i < recipe.sources.size(); ++i) {
      const auto [kind, index] = recipe.sources[i];
      if (kind == Source::Kind::gradient) {
        stack.emplace_back(gradients[index]);
      } else if (!is_tensor(wanted[i])) {
        stack.push_back(context->saved_data[saved_name(i)]);
      } else {
        const at::Tensor& tensor = saved[next++];
        stack.push_back(tensor.defined() ? c10::IValue(tensor) : c10::IValue());
      }
    }
    return stack;
  }

  static bool is_tensor(const c10::Argument& argument) {
    return argument.type()->isSubtypeOf(*c10::getTypePtr<std::optional<at::Tensor>>());
  }
};

/// The Autograd kernel of an op.
class Recorder : public c10::OperatorKernel {
 public:
  explicit Recorder(std::string op) : op_(std::move(op)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, Stack* stack) {
    const std::size_t count = handle.schema().arguments().size();
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(count);
    const Recipe& recipe = recipes().get(op_);
    std::vector<at::Tensor> inputs;
    bool needed = false;
    for (std::size_t i = 0; i < count; ++i) {
      const c10::IValue& value = first[static_cast<std::ptrdiff_t>(i)];
      if (!recipe.gradient[i] || value.isNone()) continue;
      inputs.push_back(value.toTensor());
      needed = needed || needs_gradient({inputs.back()});
    }
    if (!needed) {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      return handle.callBoxed(stack);
    }
    const std::vector<c10::IValue> arguments(first, stack->end());
    stack->erase(first, stack->end());
    const at::TensorList list(inputs);
    for (at::Tensor& result : RecordedCall::apply(list, op_, arguments))
      stack->emplace_back(std::move(result));
  }

 private:
  std::string op_;
};

}  // namespace

void differentiate(torch::Library& library, const Gradients& gradients) {
  recipes().add(gradients);
  library.impl(
      gradients.op.c_str(),
      torch::dispatch(c10::DispatchKey::Autograd, torch::CppFunction::makeFromBoxedFunctor(
                                                      std::make_unique<Recorder>(gradients.op))));
}

}  // namespace ttt::ops::library
