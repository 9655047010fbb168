"""Fit, predict and prove on data that ships with scikit-learn (``make demo``)."""

from time import perf_counter

from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelPCA, check_kernel, gram
from mercer.kernels import RBF, Linear


def title(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    Z = StandardScaler().fit_transform(X)
    kernel = 0.5 * RBF(gamma=0.02) + 0.01 * Linear()

    title("A kernel from two")
    print(check_kernel(kernel, Z))
    print(f"\nits Gram matrix: {gram(kernel, Z)!r}")

    title("A support vector machine, with its proof")
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    model = make_pipeline(StandardScaler(), SVC(kernel, C=10.0))
    model.fit(train, y_train)  # compiled loops are read from disk, or compiled once
    start = perf_counter()
    model.fit(train, y_train)
    seconds = perf_counter() - start
    right = model.score(test, y_test)
    print(f"breast cancer: {len(train)} rows to learn from, {len(test)} to predict")
    print(f"{right:.1%} predicted rightly, fitted in {seconds * 1e3:.1f} ms\n")
    print(model[-1].certificate_)

    title("Ten classes, one set of kernel rows")
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.3, random_state=0)
    start = perf_counter()
    digits = SVC(RBF(gamma=0.1), C=5.0).fit(train, y_train)
    seconds, proof = perf_counter() - start, digits.certificate_
    print(f"digits: {digits.score(test, y_test):.1%} of {len(test)} right, {seconds * 1e3:.0f} ms")
    print(f"worst of {len(proof.problems)} pairs: {proof.worst}, gap {proof.relative_gap:.1e}")

    title("Kernel PCA")
    pca = KernelPCA(kernel=kernel, n_components=3).fit(Z)
    shares = ", ".join(f"{share:.0%}" for share in pca.explained_variance_ratio_)
    print(f"the first components hold {shares} of the variance in feature space\n")
    print(pca.certificate_)


if __name__ == "__main__":
    main()
