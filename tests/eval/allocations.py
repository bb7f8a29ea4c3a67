"""Counting the bytes of tensors while they live."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Allocations(TorchDispatchMode):
    """The most bytes held at once by tensors made inside, and the largest single one."""

    def __init__(self):
        super().__init__()
        self.held = self.peak = self.largest = 0
        self._known = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves((args, kwargs)):
            if isinstance(tensor, torch.Tensor):
                self._known.add(tensor.untyped_storage()._cdata)
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return result

    def _count(self, storage):
        if storage._cdata in self._known:
            return
        size = storage.nbytes()
        self._known.add(storage._cdata)
        self.held += size
        self.peak = max(self.peak, self.held)
        self.largest = max(self.largest, size)
        weakref.finalize(storage, self._release, storage._cdata, size)

    def _release(self, address, size):
        self._known.discard(address)
        self.held -= size
