"""`PairLoss` beside the tensor of all pairs, which it does not build."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from everypair.torch import PairLoss  # noqa: E402

PHI = {
    "logistic": lambda z: torch.nn.functional.softplus(-z),
    "exponential": lambda z: torch.exp(-z),
    "square": lambda z: (1 - z) ** 2,
    "squared_hinge": lambda z: torch.clamp(1 - z, min=0) ** 2,
    "hinge": lambda z: torch.clamp(1 - z, min=0),
    "sigmoid": lambda z: torch.sigmoid(-z),
}


def all_pairs(phi, scores, target, weight):
    positive, negative = target == 1, target == 0
    a, b = (weight[rows] / weight[rows].sum() for rows in (positive, negative))
    return a @ phi(scores[positive][:, None] - scores[negative][None, :]) @ b


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(50, generator=generator, dtype=torch.float64, requires_grad=True)
    target = (torch.rand(50, generator=generator) < 0.3).long()
    return scores, target, torch.rand(50, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("loss", sorted(PHI))
def test_value_and_gradient_are_those_of_the_tensor_of_pairs(loss, batch):
    scores, target, weight = batch
    ours = PairLoss(loss)(scores, target, weight)
    (gradient,) = torch.autograd.grad(ours, scores)
    theirs = all_pairs(PHI[loss], scores, target, weight)
    (expected,) = torch.autograd.grad(theirs, scores)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"loss": "sigmoid"}, {"push": 3}])
def test_gradcheck(options, batch):
    scores, target, weight = batch
    assert torch.autograd.gradcheck(lambda s: PairLoss(**options)(s, target, weight), scores)


def test_float32_scores_of_shape_n_by_1_train_a_net():
    torch.manual_seed(0)
    X = torch.randn(400, 4)
    target = (X[:, 0] * X[:, 1] > 0.8).float()
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    steps = torch.optim.Adam(net.parameters(), lr=0.02)
    loss, values = PairLoss(), []
    for _ in range(60):
        steps.zero_grad()
        value = loss(net(X), target[:, None])
        value.backward()
        steps.step()
        values.append(value.item())
    assert value.dtype == torch.float32
    assert values[-1] < 0.5 * values[0]


def test_a_batch_of_one_class_has_no_pair_and_no_gradient():
    scores = torch.tensor([0.3, 0.4], requires_grad=True)
    value = PairLoss()(scores, torch.tensor([0, 0]))
    value.backward()
    assert value.item() == 0
    assert np.all(scores.grad.numpy() == 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "auc"}, "loss='auc'"),
        ({"push": 0}, "push=0"),
        ({"loss": "hinge", "push": 2}, "push=2"),
    ],
)
def test_unknown_settings_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        PairLoss(**options)


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="3 values and target has 2"):
        PairLoss()(torch.zeros(3), torch.zeros(2))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32])
def test_labels_are_0_and_1_or_minus_1_and_1(dtype):
    scores, target = torch.tensor([0.5, -0.2, 0.1]), torch.tensor([1, 0, 0])
    wanted = PairLoss()(scores, target)
    assert PairLoss()(scores, target.to(dtype)) == wanted
    assert PairLoss()(scores, 2 * target - 1) == wanted


@pytest.mark.parametrize(
    ("target", "words"),
    [([1, 2, 2], "1, 2"), ([0.9, 0.0, 1.0], "0, 0.9, 1"), ([-1, 0, 1], "-1, 0, 1")],
)
def test_other_labels_are_refused(target, words):
    with pytest.raises(ValueError, match=f"target has the values {words}: give"):
        PairLoss()(torch.zeros(3), torch.tensor(target))


def test_arrays_in_place_of_tensors_are_refused():
    with pytest.raises(TypeError, match="scores is a ndarray, not a tensor"):
        PairLoss()(np.zeros(2), torch.tensor([0, 1]))
    with pytest.raises(TypeError, match=r"torch.as_tensor\(target\)"):
        PairLoss()(torch.zeros(2), np.array([0, 1]))


def test_scores_of_whole_numbers_are_refused():
    with pytest.raises(TypeError, match=r"dtype torch.int64: give scores.float\(\)"):
        PairLoss()(torch.tensor([2, 0]), torch.tensor([1, 0]))
