"""Parts of scikit-learn that accept any conforming namespace, with array API dispatch."""

import numpy as np
from clients import Lazy, like, numbers

metrics, pairwise = Lazy("sklearn.metrics"), Lazy("sklearn.metrics.pairwise")
preprocessing, decomposition = Lazy("sklearn.preprocessing"), Lazy("sklearn.decomposition")
linear_model, naive_bayes, analysis = (
    Lazy(f"sklearn.{name}") for name in ("linear_model", "naive_bayes", "discriminant_analysis")
)
extmath, selection = Lazy("sklearn.utils.extmath"), Lazy("sklearn.model_selection")
pipeline = Lazy("sklearn.pipeline")

X, Y, Z = numbers(8, 3, seed=1), numbers(8, 3, seed=2), numbers(8, seed=3)
P, Q = numbers(8, 3, low=0.2, high=0.9, seed=4), numbers(8, 3, low=0.2, high=0.9, seed=5)
LABELS = np.array([0, 1, 1, 0, 1, 0, 1, 1])


def dispatch(f):
    """With array API dispatch on."""

    def run(*arrays):
        with Lazy("sklearn").config_context(array_api_dispatch=True):
            return f(*arrays)

    return run


def ridge(x, y):
    return linear_model.Ridge(alpha=0.5, solver="svd").fit(x, y)


def fitted(name, *args):
    """A scaler fitted to its input and applied to it."""
    return lambda x: getattr(preprocessing, name)(*args).fit(x).transform(x)


def pca(solver):
    more = {"power_iteration_normalizer": "QR", "random_state": 0} if solver == "randomized" else {}
    return lambda x: decomposition.PCA(2, svd_solver=solver, **more).fit(x)


_METRICS = (
    "mean_squared_error root_mean_squared_error mean_absolute_error r2_score explained_variance_score "
    "mean_squared_log_error root_mean_squared_log_error mean_absolute_percentage_error mean_pinball_loss "
    "median_absolute_error d2_pinball_score d2_absolute_error_score"
).split()
_PAIRWISE = (
    "euclidean_distances linear_kernel polynomial_kernel rbf_kernel sigmoid_kernel laplacian_kernel "
    "paired_euclidean_distances additive_chi2_kernel chi2_kernel manhattan_distances paired_manhattan_distances"
).split()

_CASES = {
    **{
        f"metrics.{name}(multioutput='raw_values')": (
            lambda x, y, name=name: getattr(metrics, name)(x, y, multioutput="raw_values"),
            P,
            Q,
        )
        for name in _METRICS
    },
    **{f"pairwise.{name}": (lambda x, y, name=name: getattr(pairwise, name)(x, y), P, Q) for name in _PAIRWISE},
    "pairwise_distances": (lambda x, y: metrics.pairwise_distances(x, y), X, Y),
    "pairwise_kernels(metric='rbf')": (lambda x, y: pairwise.pairwise_kernels(x, y, metric="rbf"), X, Y),
    "MinMaxScaler": (fitted("MinMaxScaler"), X),
    "MinMaxScaler.inverse_transform": (lambda x: preprocessing.MinMaxScaler().fit(x).inverse_transform(x), X),
    "MaxAbsScaler": (fitted("MaxAbsScaler"), X),
    "KernelCenterer": (fitted("KernelCenterer"), X[:3]),
    "FunctionTransformer": (lambda x: preprocessing.FunctionTransformer(lambda t: t * t).fit_transform(x), X),
    "minmax_scale": (lambda x: preprocessing.minmax_scale(x), X),
    "maxabs_scale": (lambda x: preprocessing.maxabs_scale(x), X),
    "Ridge(solver='svd').coef_": (lambda x, y: ridge(x, y).coef_, X, Z),
    "Ridge(solver='svd').predict": (lambda x, y: ridge(x, y).predict(x), X, Z),
    "Ridge(solver='svd').intercept_": (lambda x, y: ridge(x, y).intercept_, X, Z),
    "RidgeCV": (lambda x, y: linear_model.RidgeCV().fit(x, y).coef_, X, Z),
    "GaussianNB": (lambda x: naive_bayes.GaussianNB().fit(x, like(x, LABELS)).predict_log_proba(x), X),
    "extmath.row_norms": (lambda x: extmath.row_norms(x, squared=True), X),
    "train_test_split": (lambda x: selection.train_test_split(x * x, random_state=0)[0], X),
    "PCA(svd_solver='covariance_eigh')": (lambda x: pca("covariance_eigh")(x).explained_variance_, X),
}
_MUTATES = {
    "StandardScaler": (fitted("StandardScaler"), X),
    "Normalizer": (fitted("Normalizer"), X),
    "Normalizer('l1')": (fitted("Normalizer", "l1"), X),
    "Normalizer('max')": (fitted("Normalizer", "max"), X),
    "PolynomialFeatures": (fitted("PolynomialFeatures", 2), X),
    "pairwise.cosine_similarity": (lambda x, y: pairwise.cosine_similarity(x, y), X, Y),
    "pairwise.cosine_distances": (lambda x, y: pairwise.cosine_distances(x, y), X, Y),
    "pairwise.paired_cosine_distances": (lambda x, y: pairwise.paired_cosine_distances(x, y), X, Y),
    "extmath.softmax": (lambda x: extmath.softmax(x), X),
    "PCA(svd_solver='full').explained_variance_": (lambda x: pca("full")(x).explained_variance_, X),
    "PCA(svd_solver='full').transform": (lambda x: pca("full")(x).transform(x) ** 2, X),
    "PCA(svd_solver='full').get_covariance": (lambda x: pca("full")(x).get_covariance(), X),
    "PCA(svd_solver='randomized')": (lambda x: pca("randomized")(x).explained_variance_, X),
    "LinearDiscriminantAnalysis": (
        lambda x: analysis.LinearDiscriminantAnalysis().fit(x, like(x, LABELS)).decision_function(x),
        X,
    ),
    "make_pipeline(Normalizer, Ridge)": (
        lambda x, y: (
            pipeline.make_pipeline(preprocessing.Normalizer(), linear_model.Ridge(solver="svd")).fit(x, y).predict(x)
        ),
        X,
        Z,
    ),
}
CASES = {name: (dispatch(f), *arrays) for name, (f, *arrays) in _CASES.items()}
#: These write into an array that a rule keeps: they differentiate where mutation is allowed.
MUTATES = {name: (dispatch(f), *arrays) for name, (f, *arrays) in _MUTATES.items()}
