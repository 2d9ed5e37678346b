"""Every peer that is installed beside this library: same data, same objective, same accuracy.

    python -m benchmarks.peers            whole comparison; continues an interrupted run
    python -m benchmarks.peers --fast     a few small cells, written nowhere

`tasks` holds the data, `objectives` the judge, `solvers/` one file a peer, `cell` measures one
of them in a process of its own, `plan` lists the cells, `page` and `figures` show the results.
"""

import sys
from pathlib import Path

# The other benchmarks are scripts that import each other by bare names.
sys.path.append(str(Path(__file__).parents[1]))
