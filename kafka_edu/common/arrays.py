"""Names for the types of numpy's arrays."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = Int32s | Int64s
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
#: Texts of equal width, or rows of a structured type.
Texts: TypeAlias = npt.NDArray[np.void]
