"""Every compiled loop of the library: arrays and scalars in, arrays out.

Nothing here allocates per row or knows of estimators. Each kernel works on the rows
``start:stop`` of its arrays or on all of them, releases the GIL, and is split over
threads from outside (`everypair.threads`).
"""

from everypair._kernels.boxes import (
    COEFFICIENTS,
    box_evaluate,
    box_far,
    box_moments,
    box_near,
    box_near_rows,
    box_row_moments,
    box_slots,
    csr_box_row_moments,
)
from everypair._kernels.descent import (
    descend_coordinates,
)
from everypair._kernels.labellings import (
    best_f_beta_table,
)
from everypair._kernels.left_out import (
    left_out_pairs_won,
)
from everypair._kernels.ordering import (
    mend_order,
    order_keys,
)
from everypair._kernels.rankings import (
    doubled_wins,
    mass_below,
    merge_levels,
)
from everypair._kernels.rows import (
    csr_add_gram,
    csr_add_moments,
    csr_add_rows,
    csr_add_rows_in_blocks,
    csr_dot,
    csr_dot_moments,
    csr_has_duplicates,
    csr_window_cross,
    dense_add_moments,
    dense_add_rows,
)
from everypair._kernels.simplex import (
    simplex_ascent,
)
from everypair._kernels.stumps import (
    best_stump,
)
from everypair._kernels.walks import (
    auc_pairs,
    compensated_sum,
    count_short,
    growing_sum,
    window_rows,
    window_sum,
)

__all__ = [
    "COEFFICIENTS",
    "auc_pairs",
    "best_f_beta_table",
    "best_stump",
    "box_evaluate",
    "box_far",
    "box_moments",
    "box_near",
    "box_near_rows",
    "box_row_moments",
    "box_slots",
    "compensated_sum",
    "count_short",
    "csr_add_gram",
    "csr_add_moments",
    "csr_add_rows",
    "csr_add_rows_in_blocks",
    "csr_box_row_moments",
    "csr_dot",
    "csr_dot_moments",
    "csr_has_duplicates",
    "csr_window_cross",
    "dense_add_moments",
    "dense_add_rows",
    "descend_coordinates",
    "doubled_wins",
    "growing_sum",
    "left_out_pairs_won",
    "mass_below",
    "mend_order",
    "merge_levels",
    "order_keys",
    "simplex_ascent",
    "window_rows",
    "window_sum",
]
