"""Every row of the table of kernels is shown by a case."""
import test_elementwise
import test_linear
import test_movement
import test_reduce
import test_resample
import test_window
from battery import legalisations

FAMILIES = (test_elementwise, test_linear, test_movement, test_reduce, test_resample, test_window)


def test_every_kernel_has_a_case():
    covered = set().union(*(family.family.covered() for family in FAMILIES))
    assert set(map(str, legalisations())) - covered == set()
