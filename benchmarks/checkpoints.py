"""Time of checkpoints, and memory of training compared with the bare encoder and AdamW.

    python benchmarks/checkpoints.py

Trains the bundled encoder on the bundled corpus for some steps and writes a checkpoint after each.
The mean time of a checkpoint is divided by the default interval between two. Peak memory is measured
in two processes with the same batches: one trains as usual, the other only runs the encoder forward
and backward with fused AdamW.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 20
SETTINGS = ["training.epochs=0", f"training.min_steps={STEPS}", "training.average=0.5"]


def train() -> dict[str, float]:
    from mproto import annotate, demo
    from mproto import train as train_model
    from mproto.config import load_config
    from mproto.training import folder as folder_module

    seconds: list[float] = []
    save = folder_module.checkpoint.save

    def timed(*arguments: object) -> object:
        start = time.perf_counter()
        found = save(*arguments)  # type: ignore[arg-type]
        seconds.append(time.perf_counter() - start)
        return found

    folder_module.checkpoint.save = timed  # type: ignore[assignment]
    documents = list(annotate(demo.documents("train"), demo.gazetteer()))
    config = load_config(settings=[*SETTINGS, "training.checkpoint_minutes=0"])
    with tempfile.TemporaryDirectory() as folder:
        train_model(documents, config=config, output=Path(folder) / "run")
    return {"checkpoint": sum(seconds) / len(seconds), "interval": 60 * load_config().training.checkpoint_minutes}


def bare() -> dict[str, float]:
    import torch

    from mproto import annotate, demo
    from mproto.config import load_config
    from mproto.models.baselines.tagger import TaggerModel
    from mproto.models.encoder import Encoder
    from mproto.training.data import Data

    documents = list(annotate(demo.documents("train"), demo.gazetteer()))
    config = load_config(settings=SETTINGS)
    model = TaggerModel.build(Encoder.load(), ["Chemical", "Disease"], config).train()
    data = Data.of(documents, model)
    optimiser = torch.optim.AdamW(model.encoder.parameters(), fused=True)
    batches = data.batches(config.training, torch.Generator().manual_seed(0))
    for indices in (batches * STEPS)[:STEPS]:
        optimiser.zero_grad()
        model.encoder(data.batch(indices)).square().mean().backward()
        optimiser.step()
    return {}


def main() -> None:
    if len(sys.argv) > 1:
        found = {"train": train, "bare": bare}[sys.argv[1]]()
        print(json.dumps({**found, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
        return
    whole, floor = (
        json.loads(subprocess.run([sys.executable, __file__, name], check=True, capture_output=True).stdout)
        for name in ("train", "bare")
    )
    share = whole["checkpoint"] / whole["interval"]
    print(
        f"a checkpoint takes {whole['checkpoint']:.2f} s: {100 * share:.2f} % of {whole['interval']:.0f} s (limit 2 %)"
    )
    print(
        f"peak memory {whole['memory']:.0f} MB with checkpoints and averaged weights, bare {floor['memory']:.0f} MB: "
        f"{whole['memory'] / floor['memory']:.2f} times (limit 1.2)"
    )


if __name__ == "__main__":
    main()
