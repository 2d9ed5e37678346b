"""Vectors that a block has lost are made again from their past, and no others."""

from __future__ import annotations

from functools import partial

import numpy as np

from everypair.linalg.block_shard import Expression, Kept, Past, Shard, Shares, in_order


def test_a_long_past_is_made_again_one_vector_after_the_other():
    made = []

    def plus(number, shard, values=0.0):
        made.append(number)
        return np.full(3, float(number)) + values

    steps = [Kept(inner=Expression(partial(plus, 0)))]
    for number in range(1, 3000):  # deeper than Python's recursion
        steps.append(Kept(inner=Expression(partial(plus, number), (steps[-1],))))
        Past.of(steps[-2])
        steps[-2].keep("somewhere")
    pasts = in_order([Past.of(steps[-1])])
    assert [past.token for past in pasts] == [step.token for step in steps]

    def shard(kept):
        return Shard("block 0", 0, np.ones(3, dtype=bool), None, Shares(1.0, 1.0), kept=kept)

    last = steps[-1].token
    lost = shard({})
    lost.make_again(pasts, [last])
    assert lost.kept.keys() == {last}
    np.testing.assert_array_equal(lost.kept[last], sum(range(3000)))
    made.clear()
    half = shard({steps[2990].token: np.zeros(3)})
    half.make_again(pasts, [last])
    assert made == list(range(2991, 3000))
