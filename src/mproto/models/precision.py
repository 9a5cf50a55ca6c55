"""The precision of an encoder: float32, or mixed precision with bfloat16."""

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
    """Return whether to train in bfloat16 on a device. `auto` uses it on GPUs that support it.

    Raises:
        InputError: the setting is bfloat16, but the device would only emulate it, which is slower
            than float32.
    """
    if precision == "auto":
        return has_bfloat16(device)
    if precision == "bfloat16" and not (has_bfloat16(device) or _processor_has_bfloat16(device)):
        problem = f"training.precision is bfloat16, but '{device}' does not support it"
        raise InputError(problem, hint="choose auto or float32")
    return precision == "bfloat16"


def has_bfloat16(device: torch.device) -> bool:
    """Return whether a device is a GPU with bfloat16.

    Trained models use float32 on every CPU, so that their results do not depend on the processor.
    """
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)


def _processor_has_bfloat16(device: torch.device) -> bool:
    """Return whether a CPU has bfloat16 instructions; `False` if PyTorch cannot tell."""
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


@contextmanager
def mixed_precision(device: torch.device) -> Iterator[None]:
    """Compute products in bfloat16, and operations that need more precision in float32.

    On a CPU, attention is computed in float32, too, because the backward pass of its bfloat16
    kernel is slow.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.autocast(device.type, torch.bfloat16))
        if device.type == "cpu":
            stack.enter_context(_Float32Attention())
        yield


class _Float32Attention(TorchFunctionMode):
    """Compute attention in float32, and return the result in the type of the query."""

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
            output = function(*map(_float32, args), **{name: _float32(value) for name, value in kwargs.items()})
        query = args[0] if args else kwargs["query"]
        return output.to(query.dtype)


def _float32(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
