#include "state_tensors.h"

#include "hybrid_error.h"

namespace tenon::python {
namespace {

Sizes IntsOf(PyObject* tuple) {
  Sizes out;
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  for (Py_ssize_t i = 0; i < count; ++i) {
    out.push_back(ToInt(PyTuple_GET_ITEM(tuple, i)));
  }
  return out;
}

}  // namespace

std::shared_ptr<const void> Keep(PyObject* object) {
  Py_INCREF(object);
  return std::shared_ptr<const void>(object, [](const void* kept) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject*>(const_cast<void*>(kept)));
  });
}

std::string StateTensors::DeviceOf(PyObject* tensor) {
  const nb::object device = Attr(tensor, N().device);
  const int is_cpu =
      PyObject_RichCompareBool(device.ptr(), Torch::Get().cpu, Py_EQ);
  return is_cpu == 1 ? "" : Str(device.ptr());
}

std::string StateTensors::Add(PyObject* tensor, const std::string& place) {
  const Torch& torch = Torch::Get();
  const nb::object layout = Attr(tensor, N().layout);
  if (layout.ptr() != torch.strided) {
    throw HybridError(Rule::kUnsupported, place,
                      "a tensor of layout " + Str(layout.ptr()));
  }
  const nb::object dtype_object = Attr(tensor, N().dtype);
  const auto dtype = torch.dtypes.find(dtype_object.ptr());
  if (dtype == torch.dtypes.end()) {
    throw HybridError(Rule::kUnsupported, place,
                      "a tensor of " + Str(dtype_object.ptr()));
  }
  const nb::object storage = CallMethod(tensor, N().untyped_storage);
  const int64_t identity = ToInt(Attr(storage.ptr(), N().cdata).ptr());
  const int64_t offset = ToInt(CallMethod(tensor, N().storage_offset).ptr());
  Sizes sizes = IntsOf(Attr(tensor, N().shape).ptr());
  Sizes strides = IntsOf(CallMethod(tensor, N().stride).ptr());
  std::string view = std::to_string(identity) + '+' + std::to_string(offset) +
                     ':' + std::string(Name(dtype->second));
  for (const int64_t size : sizes) view += ',' + std::to_string(size);
  for (const int64_t stride : strides) view += '/' + std::to_string(stride);
  const auto known = keys_.find(view);
  if (known != keys_.end()) return known->second;

  std::shared_ptr<Storage>& shared = storages_[identity];
  if (shared == nullptr) {
    const auto size =
        static_cast<size_t>(ToInt(CallMethod(storage.ptr(), N().nbytes).ptr()));
    const std::byte* data = nullptr;
    if (DeviceOf(tensor).empty()) {
      // Fake tensors refuse to tell an address.
      PyObject* address =
          PyObject_CallMethodNoArgs(storage.ptr(), N().data_ptr);
      if (address == nullptr) {
        PyErr_Clear();
      } else {
        data = static_cast<const std::byte*>(
            PyLong_AsVoidPtr(nb::steal(address).ptr()));
      }
    }
    shared = Storage::BorrowConst(Bytes(data, data == nullptr ? 0 : size),
                                  Keep(tensor));
  }
  const std::string key = "t" + std::to_string(all_.tensors.size());
  all_.tensors.push_back({key, Tensor(shared, dtype->second, std::move(sizes),
                                      std::move(strides), offset)});
  objects_.push_back(nb::borrow(tensor));
  keys_.emplace(std::move(view), key);
  return key;
}

PyObject* StateTensors::Find(const Bytes& storage, const Type& type) const {
  for (size_t i = 0; i < objects_.size(); ++i) {
    const Tensor& t = all_.tensors[i].tensor;
    const bool is_alike =
        objects_[i].is_valid() && t.storage()->data() == storage.data() &&
        t.dtype() == type.dtype && t.offset() == type.storage_offset.value &&
        t.sizes().size() == type.sizes.size();
    if (!is_alike) continue;
    bool is_same = true;
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      is_same = is_same && t.sizes()[d] == type.sizes[d].value &&
                t.strides()[d] == type.strides[d].value;
    }
    if (is_same) return objects_[i].ptr();
  }
  return nullptr;
}

std::string StateTensors::AddBytes(PyObject* buffer, const std::string& place) {
  struct View {
    Py_buffer buffer{};
    ~View() {
      if (Py_IsInitialized() == 0) return;
      const nb::gil_scoped_acquire gil;
      PyBuffer_Release(&buffer);
    }
  };
  auto view = std::make_shared<View>();
  if (PyObject_GetBuffer(buffer, &view->buffer, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    throw HybridError(Rule::kUnsupported, place,
                      "the payload isn't bytes, bytearray, memoryview or the "
                      "like");
  }
  const auto size = static_cast<size_t>(view->buffer.len);
  const Bytes bytes(static_cast<const std::byte*>(view->buffer.buf), size);
  const std::string key = "p" + std::to_string(all_.tensors.size());
  all_.tensors.push_back(
      {key, Tensor(Storage::BorrowConst(bytes, std::move(view)), DType::kUInt8,
                   {static_cast<int64_t>(size)}, {1}, 0)});
  objects_.emplace_back();
  return key;
}

}  // namespace tenon::python
