"""Every compiled loop of the library: arrays and scalars in, arrays out.

Nothing here allocates per row or knows of estimators. Each kernel works on the rows
``start:stop`` of its arrays or on all of them, releases the GIL, and is split over
threads from outside (`everypair.linalg.threads`).
"""

from everypair._compiled.binned_products import (
    binned_dot,
    binned_rows,
    binned_sums,
)
from everypair._compiled.box_sums import (
    COEFFICIENTS,
    add_windows,
    box_evaluate,
    box_far,
    box_moments,
    box_near,
    box_near_rows,
    box_row_moments,
    box_slots,
    csr_box_row_moments,
)
from everypair._compiled.class_sums import (
    class_totals,
    largest_exponents,
    square_slopes,
    times_by_class,
    weighted_exponentials,
    weighted_squares,
)
from everypair._compiled.column_products import (
    columns_add_rows,
    columns_dot,
    columns_look,
    vector_sums,
)
from everypair._compiled.descent import (
    descend_coordinates,
)
from everypair._compiled.dual_rows import ascend_rows, project_rows
from everypair._compiled.elastic_net_sums import (
    elastic_net_conjugate,
    elastic_net_scales,
    elastic_net_value,
    elastic_net_young,
)
from everypair._compiled.group_boxes import WIDE_COEFFICIENTS, lay_boxes
from everypair._compiled.group_hessians import (
    add_row_moments,
    evaluate_rows,
    smooth_group_rows,
)
from everypair._compiled.group_pairs import CHANNELS, TILE, WIDEST_SCORE_RANGE, group_slopes
from everypair._compiled.group_quotas import top_of_groups
from everypair._compiled.group_series import SERIES_COEFFICIENTS
from everypair._compiled.grouped_rows import (
    cell_largest,
    cell_sums,
    group_areas_lost,
    group_rows,
    sort_groups,
)
from everypair._compiled.labellings import (
    best_f_beta_table,
)
from everypair._compiled.left_out import (
    left_out_pairs_won,
)
from everypair._compiled.ordering import (
    count_buckets,
    mend_order,
    scatter_keys,
    scatter_values,
)
from everypair._compiled.quasi_newton import two_loops
from everypair._compiled.rankings import (
    count_in_boxes,
    doubled_wins,
    mass_below,
    merge_levels,
    scores_between,
)
from everypair._compiled.rbf_values import rbf_from_products
from everypair._compiled.row_products import (
    csr_add_gram,
    csr_add_moments,
    csr_add_rows,
    csr_add_rows_in_blocks,
    csr_dot,
    csr_dot_and_moments,
    csr_dot_moments,
    csr_has_duplicates,
    csr_window_cross,
    dense_add_chosen_rows,
    dense_add_moments,
    dense_add_rows,
    dense_add_rows_in_blocks,
    rows_dot,
    rows_look,
)
from everypair._compiled.simplex import (
    simplex_ascent,
)
from everypair._compiled.smooth_groups import (
    smooth_group_curvatures,
    smooth_group_slopes,
)
from everypair._compiled.soft_counts import (
    add_soft_slopes,
    soft_counts,
)
from everypair._compiled.splits import best_split, part_orders
from everypair._compiled.stumps import (
    best_stump,
)
from everypair._compiled.walks import (
    auc_pairs,
    compensated_sum,
    count_short,
    growing_sum,
    grown_by,
    grown_on,
    hinge_total,
    rounded_hinge_walk,
    scatter_products,
    weight_outside,
    window_mass,
    window_rows,
    window_sum,
)

__all__ = [
    "CHANNELS",
    "COEFFICIENTS",
    "SERIES_COEFFICIENTS",
    "TILE",
    "WIDEST_SCORE_RANGE",
    "WIDE_COEFFICIENTS",
    "add_row_moments",
    "add_soft_slopes",
    "add_windows",
    "ascend_rows",
    "auc_pairs",
    "best_f_beta_table",
    "best_split",
    "best_stump",
    "binned_dot",
    "binned_rows",
    "binned_sums",
    "box_evaluate",
    "box_far",
    "box_moments",
    "box_near",
    "box_near_rows",
    "box_row_moments",
    "box_slots",
    "cell_largest",
    "cell_sums",
    "class_totals",
    "columns_add_rows",
    "columns_dot",
    "columns_look",
    "compensated_sum",
    "count_buckets",
    "count_in_boxes",
    "count_short",
    "csr_add_gram",
    "csr_add_moments",
    "csr_add_rows",
    "csr_add_rows_in_blocks",
    "csr_box_row_moments",
    "csr_dot",
    "csr_dot_and_moments",
    "csr_dot_moments",
    "csr_has_duplicates",
    "csr_window_cross",
    "dense_add_chosen_rows",
    "dense_add_moments",
    "dense_add_rows",
    "dense_add_rows_in_blocks",
    "descend_coordinates",
    "doubled_wins",
    "elastic_net_conjugate",
    "elastic_net_scales",
    "elastic_net_value",
    "elastic_net_young",
    "evaluate_rows",
    "group_areas_lost",
    "group_rows",
    "group_slopes",
    "growing_sum",
    "grown_by",
    "grown_on",
    "hinge_total",
    "largest_exponents",
    "lay_boxes",
    "left_out_pairs_won",
    "mass_below",
    "mend_order",
    "merge_levels",
    "part_orders",
    "project_rows",
    "rbf_from_products",
    "rounded_hinge_walk",
    "rows_dot",
    "rows_look",
    "scatter_keys",
    "scatter_products",
    "scatter_values",
    "scores_between",
    "simplex_ascent",
    "smooth_group_curvatures",
    "smooth_group_rows",
    "smooth_group_slopes",
    "soft_counts",
    "sort_groups",
    "square_slopes",
    "times_by_class",
    "top_of_groups",
    "two_loops",
    "vector_sums",
    "weight_outside",
    "weighted_exponentials",
    "weighted_squares",
    "window_mass",
    "window_rows",
    "window_sum",
]
