"""Names for types of numpy arrays, which type annotations use."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]
Uint64s: TypeAlias = npt.NDArray[np.uint64]
Int32s: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = Int32s | Int64s
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
#: An array of texts of equal width, or of rows of a structured type.
Texts: TypeAlias = npt.NDArray[np.void]
