// torch.classes.tensorrt.Engine as far as PyTorch's serializer sees it: a
// record of strings. make_engines.py builds it where Torch-TensorRT's library,
// which needs TensorRT, can't be loaded.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using Record = std::vector<std::string>;

struct Engine : torch::CustomClassHolder {
  explicit Engine(Record r) : record(std::move(r)) {}
  Record record;
};
using EnginePtr = c10::intrusive_ptr<Engine>;

}  // namespace

TORCH_LIBRARY(tensorrt, m) {
  m.class_<Engine>("Engine")
      .def(torch::init<Record>())
      .def("record", [](const EnginePtr& e) { return e->record; })
      .def("__obj_flatten__",
           [](const EnginePtr& e) {
             return std::make_tuple(
                 std::make_tuple(std::string("name"), e->record[1]));
           })
      .def_pickle(
          [](const EnginePtr& e) { return e->record; },
          [](Record r) { return c10::make_intrusive<Engine>(std::move(r)); });
  m.def(
      "execute_engine(Tensor[] input_tensors, "
      "__torch__.torch.classes.tensorrt.Engine engine) -> Tensor[]");
}
