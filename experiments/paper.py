"""The paper's main table: scores on test in percent, with BERT-base and BioBERT-base."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """Scores in percent."""

    f1: float
    precision: float
    recall: float


DATA = ("bc5cdr-1.0", "bc5cdr-0.2", "conll03-kb", "conll03-1.0")
MAIN_TABLE = {  # F1, precision and recall for each of DATA
    "supervised": ((87.45, 85.86, 89.10), (87.45, 85.86, 89.10), (91.30, 90.82, 91.78), (91.30, 90.82, 91.78)),
    "dictionary": ((64.32, 86.39, 51.24), (15.69, 80.02, 8.70), (71.40, 81.13, 63.75), (63.93, 93.12, 48.67)),
    "autoner": ((73.02, 78.33, 68.39), (19.90, 68.34, 11.64), (64.03, 78.17, 54.21), (59.47, 81.89, 46.69)),
    "early-stopping": ((73.66, 80.43, 67.94), (17.21, 75.60, 9.71), (77.06, 84.03, 71.16), (67.74, 86.34, 55.74)),
    "negative-sampling": ((78.73, 79.30, 78.17), (24.25, 78.93, 14.32), (79.30, 83.16, 75.78), (74.90, 83.71, 67.78)),
    "mpu": ((68.22, 56.50, 86.05), (73.91, 70.08, 78.18), (65.75, 58.79, 74.58), (67.65, 63.63, 72.22)),
    "conf-mpu": ((77.22, 69.79, 86.42), (71.85, 81.02, 64.54), (79.16, 68.58, 79.75), (81.89, 81.71, 82.08)),
    "mproto": ((81.47, 77.53, 85.84), (74.30, 73.41, 75.22), (79.58, 79.80, 79.37), (82.49, 84.27, 80.79)),
}


def published(method: str, data: str) -> Published | None:
    """Return the paper's scores of a method on a data set, if it has any."""
    found = MAIN_TABLE.get(method)
    return Published(*found[DATA.index(data)]) if found else None
