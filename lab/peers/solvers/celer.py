"""celer: ``sum_i log(1 + exp(-y_i x_i.w)) + a |w|_1``, no intercept; its alpha is n times ours.

It has no squared penalty: it takes part in the L1 paths alone (`path_race`), where the map is used.
"""

from __future__ import annotations

from ..peer import Peer

PEERS: tuple[Peer, ...] = ()
