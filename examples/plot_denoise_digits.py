"""
The way back: pre-images that remove noise
==========================================

Kernel PCA keeps the leading directions of feature space. What is left of an image after the
projection has no noise in the other directions, but it is a point of feature space, and most of
these are the features of no image at all. A *pre-image* is an image whose features are as near as
possible.
"""

# %%
# Handwritten digits, 8 × 8 pixels, with strong noise on every pixel. The models see noisy digits
# only, 1,200 of them, and are asked about others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA
from mercer.kernels import RBF, Linear

clean = load_digits().data / 16.0
noisy = clean + 0.3 * np.random.default_rng(0).normal(size=clean.shape)
train, test = noisy[:1200], noisy[1200:]

linear = KernelPCA(n_components=12, kernel=Linear()).fit(train)
gaussian = KernelPCA(n_components=48, kernel=RBF(gamma=0.1)).fit(train)

restored = {
    "clean": clean[1200:],
    "with noise": test,
    "PCA": linear.inverse_transform(linear.transform(test)),
    "kernel PCA": gaussian.inverse_transform(gaussian.transform(test)),
}

fig, axes = plt.subplots(4, 10, figsize=(9.6, 4.2), layout="constrained")
for row, (title, images) in zip(axes, restored.items(), strict=True):
    for ax, image in zip(row, images[20:30], strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    error = np.mean((images - clean[1200:]) ** 2)
    row[0].set_ylabel(f"{title}\n{error:.3f}" if error else title)

# %%
# The numbers are mean squared errors against the clean images. PCA can only weigh twelve fixed
# patterns, and more of them bring the noise back; the Gaussian kernel keeps 48 directions that
# bend with the data.
#
# Three ways back
# ---------------
#
# For the Gaussian kernel the nearest features are found by a fixed point. The image can also be
# placed by its distances to the nearest training images, or learned by a regression.

for method in ("fixed_point", "distances", "ridge"):
    model = KernelPCA(n_components=48, kernel=RBF(gamma=0.1), preimage=method).fit(train)
    back = model.inverse_transform(model.transform(test))
    print(f"{method:12} {np.mean((back - clean[1200:]) ** 2):.4f}")
