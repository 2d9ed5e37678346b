"""What shows what everypair does: papers, data, benchmarks, peers. Not part of the wheel."""
