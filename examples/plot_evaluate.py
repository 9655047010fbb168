"""
How good is it?
===============

``mercer.assess.evaluate`` takes the truth and the predictions, and scores if there are any. It
returns all rates at once, with confidence intervals, as a table and as a picture.
"""

# %%
# Two classes
# -----------
#
# A rate is a number from few rows. The interval behind it says how much it would change with other
# rows of the same kind: they are drawn again, class by class, a thousand times.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogistic, KernelRidge
from mercer.assess import evaluate, generalization_gap
from mercer.kernels import RBF

data = load_breast_cancer()
names = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(data.data, names, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

model = KernelLogistic(RBF(gamma=0.01), lam=0.1).fit(X_train, y_train)
probability = model.predict_proba(X_test)
result = evaluate(y_test, model.predict(X_test), probability, positive="malignant")
print(result)

# %%
# The confusion matrix, the ROC curve and the calibration: of the rows to which the model gave a
# probability of about 0.7, are about 70 % malignant?

result.plot()
plt.show()

# %%
# Every rate is an attribute, and has an interval.

low, high = result.interval("tpr")
print(f"sensitivity {result.tpr:.3f}, with 95 % confidence in [{low:.3f}, {high:.3f}]")

# %%
# The curve does not see the priors
# ---------------------------------
#
# True and false positive rate each look at one class only. If two of three malignant rows are
# left out, precision falls, but the curve stays where it was, up to chance.

keep = (y_test != "malignant") | (np.arange(len(y_test)) % 3 == 0)
rare = evaluate(y_test[keep], model.predict(X_test)[keep], probability[keep], positive="malignant")
print(f"precision {result.ppv:.3f} and {rare.ppv:.3f}, area {result.auc:.3f} and {rare.auc:.3f}")

# %%
# Many classes
# ------------
#
# With more than two classes each has its own recall, precision and curve, and ``uar`` is the mean
# recall, to which rare classes count as much as frequent ones.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=300, random_state=0)
model = SVC(RBF(gamma=0.02), C=10).fit(X_train, y_train)
digits = evaluate(y_test, model.predict(X_test))
print(f"accuracy {digits.accuracy:.3f}, uar {digits.uar:.3f}")
digits.plot()
plt.show()

# %%
# Numbers
# -------
#
# Targets that are not whole are read as numbers.

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(StandardScaler().fit_transform(X), y,
                                                    random_state=0)  # fmt: skip
model = KernelRidge(RBF(gamma=0.01), lam=1.0).fit(X_train, y_train)
numbers = evaluate(y_test, model.predict(X_test))
print(numbers)
numbers.plot()
plt.show()

# %%
# How much of the fit is memory?
# ------------------------------
#
# The generalisation error is the error on new rows less that on the training rows.

print(generalization_gap(model, X_train, y_train, X_test, y_test))
