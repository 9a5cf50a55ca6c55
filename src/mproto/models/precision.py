"""In which numbers an encoder computes: float32, or bfloat16 where that will do."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from mproto.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Precision = Literal["auto", "float32", "bfloat16"]


def trains_in_bfloat16(precision: Precision, device: torch.device) -> bool:
    """Whether to train in bfloat16 on a device; `auto` on a GPU that can.

    Raises:
        InputError: bfloat16 is asked for, and would only be slower there.
    """
    if precision == "auto":
        return has_bfloat16(device)
    if precision == "bfloat16" and not (has_bfloat16(device) or _processor_has_bfloat16(device)):
        raise InputError(
            f"training.precision is bfloat16, and '{device}' here cannot compute in it", hint="choose auto, or float32"
        )
    return precision == "bfloat16"


def has_bfloat16(device: torch.device) -> bool:
    """Whether a trained model should compute in bfloat16 there; on a CPU it gives the same everywhere."""
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)


def _processor_has_bfloat16(device: torch.device) -> bool:
    """Whether it is faster there, and not emulated; versions of torch that cannot tell are taken for a no."""
    able: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(able.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


@contextmanager
def mixed_precision(device: torch.device) -> Iterator[None]:
    """Products in bfloat16, what needs more in float32; attention too on a CPU, whose kernel for it has a slow gradient."""
    with ExitStack() as stack:
        stack.enter_context(torch.autocast(device.type, torch.bfloat16))
        if device.type == "cpu":
            stack.enter_context(_Float32Attention())
        yield


class _Float32Attention(TorchFunctionMode):
    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if function is not scaled_dot_product_attention:
            return function(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            found = function(*map(_float32, args), **{name: _float32(value) for name, value in kwargs.items()})
        query = args[0] if args else kwargs["query"]
        return found.to(query.dtype)


def _float32(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
