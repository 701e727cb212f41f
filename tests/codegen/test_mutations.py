"""The comparison of kernels with programs finds every mutant."""

import mutations


def test_every_mutant_is_killed():
    survivors, total = mutations.main()
    print(f"killed {total - len(survivors)}/{total}")
    assert total > 400
    assert not survivors, "\n".join(survivors)
