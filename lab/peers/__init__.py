"""Every peer that is installed beside this library: same data, same objective, same accuracy.

    python -m lab peers            whole comparison; continues an interrupted run
    python -m lab peers --fast     a few small cells, written nowhere

`tasks` holds the data, `objectives` the judge, `solvers/` one file a peer, `cell` measures one
of them in a process of its own, `plan` lists the cells, `page` and `figures` show the results.
"""
