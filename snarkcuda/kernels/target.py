"""stub"""

import os
from numba import cuda
from numba.cuda.types import uint32


def simulated():
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
