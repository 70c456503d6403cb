// SPDX-License-Identifier: Apache-2.0
#include <transmute/export/compiler.h>

#include <torch/csrc/jit/frontend/ir_emitter.h>
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/types.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace torchscript {

namespace jit = torch::jit;

namespace {

constexpr const char* kNamespace = "__torch__.transmute.";  // where LibTorch looks for the classes of a file

std::vector<jit::ClassDef> parse(const std::string& file) {
  jit::Parser parser(std::make_shared<jit::Source>(source(file), file + ".py"));
  std::vector<jit::ClassDef> classes;
  while (parser.lexer().cur().kind != jit::TK_EOF) classes.emplace_back(parser.parseClass());
  return classes;
}

// `name` is that of a file and a class in it, with a dot between them.
jit::ClassDef class_named(const std::string& name) {
  const size_t dot = name.find('.');
  for (const auto& definition : parse(name.substr(0, dot)))
    if (definition.name().name() == name.substr(dot + 1)) return definition;
  throw std::logic_error("no class " + name);
}

// `torch.relu` is an operator, `torch.float32` a number.
struct TorchName : jit::BuiltinModule {
  TorchName() : BuiltinModule("aten") {}
  std::shared_ptr<jit::SugaredValue> attr(const jit::SourceRange& range, jit::GraphFunction& function,
                                          const std::string& field) override {
    static const std::map<std::string, torch::Dtype> kDtypes{
        {"float16", torch::kHalf},      {"float32", torch::kFloat}, {"float64", torch::kDouble},
        {"bfloat16", torch::kBFloat16}, {"int64", torch::kLong},    {"bool", torch::kBool}};
    const auto dtype = kDtypes.find(field);
    if (dtype == kDtypes.end()) return BuiltinModule::attr(range, function, field);
    return std::make_shared<jit::SimpleValue>(
        jit::insertConstant(*function.graph(), static_cast<int64_t>(dtype->second), range));
  }
};

c10::ClassTypePtr module_type(const jit::Value* value) {
  const auto type = value->type()->cast<c10::ClassType>();
  return type && type->is_module() ? type : nullptr;
}

// A module as Python's torch.jit.script sees it: `self.norm(x)` calls its forward, a loop over a list of modules (whose
// attributes are "0", "1" …) is unrolled.
class ModuleValue : public jit::SugaredValue {
 public:
  explicit ModuleValue(jit::Value* value) : value_(std::make_shared<jit::SimpleValue>(value)) {}

  std::string kind() const override { return value_->kind(); }

  jit::Value* asValue(const jit::SourceRange& range, jit::GraphFunction& function) override {
    return value_->asValue(range, function);
  }

  std::shared_ptr<jit::SugaredValue> attr(const jit::SourceRange& range, jit::GraphFunction& function,
                                          const std::string& field) override {
    auto found = value_->attr(range, function, field);
    const auto simple = std::dynamic_pointer_cast<jit::SimpleValue>(found);
    const auto type = simple ? module_type(simple->getValue()) : nullptr;
    if (!type) return found;
    const auto module = std::make_shared<ModuleValue>(simple->getValue());
    if (!type->hasAttribute("0")) return module;
    std::vector<std::shared_ptr<jit::SugaredValue>> modules;
    for (size_t i = 0; type->hasAttribute(std::to_string(i)); ++i)
      modules.push_back(module->attr(range, function, std::to_string(i)));
    return std::make_shared<jit::SugaredTupleValue>(std::move(modules));
  }

  bool hasAttr(const jit::SourceRange& range, jit::GraphFunction& function, const std::string& field) override {
    return value_->hasAttr(range, function, field);
  }

  std::shared_ptr<jit::SugaredValue> call(const jit::SourceRange& range, jit::GraphFunction& function,
                                          at::ArrayRef<jit::NamedValue> args, at::ArrayRef<jit::NamedValue> kwargs,
                                          size_t n_binders) override {
    return attr(range, function, "forward")->call(range, function, args, kwargs, n_binders);
  }

 private:
  std::shared_ptr<jit::SimpleValue> value_;
};

struct ModuleSelf : jit::Self {
  explicit ModuleSelf(c10::ClassTypePtr type) : type(std::move(type)) {}
  std::shared_ptr<jit::SugaredValue> makeSugared(jit::Value* value) const override {
    value->setType(type);
    return std::make_shared<ModuleValue>(value);
  }
  c10::ClassTypePtr getClassType() const override { return type; }

  c10::ClassTypePtr type;
};

}  // namespace

// The meaning of free names in the files: torch, ValueError, and the named tuples of types.py.
class Compiler::Names : public jit::Resolver, public std::enable_shared_from_this<Names> {
 public:
  void add_tuple(const jit::ClassDef& definition) {
    const jit::ScriptTypeParser types(shared_from_this());
    std::vector<std::string> fields;
    std::vector<c10::TypePtr> field_types;
    for (const auto& statement : definition.body()) {
      if (statement.kind() != jit::TK_ASSIGN) continue;
      const jit::Assign field(statement);
      fields.push_back(jit::Var(field.lhs()).name().name());
      field_types.push_back(types.parseTypeFromExpr(field.type().get()));
    }
    const std::string name = definition.name().name();
    tuples_[name] = c10::TupleType::createNamed(c10::QualifiedName(kNamespace + name), fields, field_types);
  }

  std::shared_ptr<jit::SugaredValue> resolveValue(const std::string& name, jit::GraphFunction&,
                                                  const jit::SourceRange&) override {
    if (name == "torch") return std::make_shared<TorchName>();
    if (name == "ValueError") return std::make_shared<jit::ExceptionValue>(name);
    const auto tuple = tuples_.find(name);
    return tuple == tuples_.end() ? nullptr : std::make_shared<jit::NamedTupleConstructor>(tuple->second);
  }

  c10::TypePtr resolveType(const std::string& name, const jit::SourceRange&) override {
    const auto tuple = tuples_.find(name);
    return tuple == tuples_.end() ? nullptr : tuple->second;
  }

 private:
  std::map<std::string, c10::TupleTypePtr> tuples_;
};

Compiler::Compiler() : unit_(std::make_shared<jit::CompilationUnit>()), names_(std::make_shared<Names>()) {
  for (const auto& definition : parse("types")) names_->add_tuple(definition);
}

Compiler::~Compiler() = default;

jit::Module Compiler::make(const std::string& name, const std::vector<std::string>& classes,
                           const std::function<void(jit::Module&)>& fill) {
  const auto known = classes_.find(name);
  jit::Module module = known == classes_.end() ? jit::Module(c10::QualifiedName(kNamespace + name), unit_)
                                               : jit::Module(unit_, known->second);
  module.register_attribute("training", c10::BoolType::get(), false);
  fill(module);
  if (known != classes_.end()) return module;
  classes_[name] = module.type();

  std::vector<jit::Def> methods;
  for (const auto& methods_of : classes)
    for (const auto& statement : class_named(methods_of).body())
      if (statement.kind() == jit::TK_DEF) methods.emplace_back(statement);
  const ModuleSelf self(module.type());
  unit_->define(*module.type()->name(), {}, {}, methods, std::vector<jit::ResolverPtr>(methods.size(), names_), &self);
  return module;
}

}  // namespace torchscript
}  // namespace v0
}  // namespace transmute
