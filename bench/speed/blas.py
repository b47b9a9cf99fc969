"""One thread for NumPy's linear algebra; imported before NumPy, which reads it once. See README.md, "Threads"."""

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
