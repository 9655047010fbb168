"""Fit, predict and prove on data that ships with scikit-learn (``make demo``)."""

from time import perf_counter

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, KernelRidge, check_kernel, gram
from mercer.kernels import RBF, Linear


def main() -> None:
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    print(f"diabetes: {len(X_train)} training and {len(X_test)} test rows, {X.shape[1]} columns\n")

    kernel = 0.5 * RBF(gamma=0.02) + 0.01 * Linear()
    Z = StandardScaler().fit_transform(X_train)
    print(check_kernel(kernel, Z), "\n")
    print(f"Gram operator: {gram(kernel, Z)!r}\n")

    start = perf_counter()
    model = make_pipeline(StandardScaler(), KernelRidge(kernel, lam=0.1))
    model.fit(X_train, y_train)
    error = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
    print(f"KernelRidge: test error {error:.1f} (the mean alone: {np.std(y_test):.1f})")
    print(f"R² {model.score(X_test, y_test):.3f}, {perf_counter() - start:.2f} s\n")
    print(model[-1].certificate_, "\n")

    pca = KernelPCA(kernel, n_components=3).fit(Z)
    shares = ", ".join(f"{share:.0%}" for share in pca.explained_variance_ratio_)
    print(f"KernelPCA: the first components hold {shares} of the variance in feature space\n")
    print(pca.certificate_)


if __name__ == "__main__":
    main()
