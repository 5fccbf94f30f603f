#!/usr/bin/env python3
"""Trains a small convolutional network on scikit-learn's 8x8 digits and writes it as an NNEF model.

Writes model/ (graph.nnef is kept, the .dat files are replaced) and heldout/ (images and labels that training never
sees) beside this file. Needs torch, numpy and scikit-learn; takes about half a minute.
"""
import pathlib
import struct

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

SEED = 7
HELD_OUT = 360
EPOCHS = 30
BATCH = 32
HERE = pathlib.Path(__file__).resolve().parent


class Digits(nn.Module):
    """The network that model/graph.nnef describes, layer for layer."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(64)
        self.classify = nn.Linear(256, 10)

    def forward(self, image):
        relu1 = functional.relu(self.norm1(self.conv1(image)))
        relu2 = functional.relu(self.norm2(self.conv2(relu1)))
        pool2 = functional.max_pool2d(relu2, 2)
        relu3 = functional.relu(self.norm3(self.conv3(pool2)))
        pool3 = functional.max_pool2d(relu3, 2)
        features = functional.dropout(pool3.flatten(1), 0.3, self.training)
        return self.classify(features)  # softmax stands in the loss here, in the graph there


def shifted(images, generator):
    """Each image moved by up to one pixel in each direction."""
    padded = functional.pad(images, (1, 1, 1, 1))
    rows, columns = torch.randint(0, 3, (2, len(images)), generator=generator)
    return torch.stack([padded[i, :, r:r + 8, c:c + 8] for i, (r, c) in enumerate(zip(rows, columns))])


def train(images, labels):
    torch.set_num_threads(1)  # the same sums in the same order everywhere
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    generator = torch.Generator().manual_seed(SEED)
    network = Digits()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-2)
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images), generator=generator).split(BATCH):
            loss = functional.cross_entropy(network(shifted(images[batch], generator)), labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def write_tensor(path, array):
    """A tensor file of 32-bit floats (NNEF 1.0, "Tensor File Format")."""
    data = np.ascontiguousarray(array, dtype="<f4")
    extents = list(data.shape) + [0] * (8 - data.ndim)
    header = struct.pack("<2B2BII8III", 0x4E, 0xEF, 1, 0, data.nbytes, data.ndim, *extents, 32, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header.ljust(128, b"\0") + data.tobytes())


def write_model(network, folder):
    for i in (1, 2, 3):
        norm = getattr(network, f"norm{i}")
        write_tensor(folder / f"conv{i}/filter.dat", getattr(network, f"conv{i}").weight.detach())
        for name, values in (("mean", norm.running_mean), ("variance", norm.running_var),
                             ("offset", norm.bias), ("scale", norm.weight)):
            write_tensor(folder / f"norm{i}/{name}.dat", values.detach().reshape(1, -1))
    write_tensor(folder / "classify/filter.dat", network.classify.weight.detach())
    write_tensor(folder / "classify/bias.dat", network.classify.bias.detach().reshape(1, -1))


def main():
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels, test_size=HELD_OUT, random_state=SEED, stratify=labels)
    network = train(torch.from_numpy(train_images), torch.from_numpy(train_labels))
    with torch.no_grad():
        found = network(torch.from_numpy(test_images)).argmax(1).numpy()
    print(f"held-out accuracy: {(found == test_labels).mean():.4f} ({(found == test_labels).sum()} of {len(found)})")

    write_model(network, HERE / "model")
    (HERE / "heldout").mkdir(exist_ok=True)
    np.save(HERE / "heldout/images.npy", np.ascontiguousarray(test_images))
    np.save(HERE / "heldout/labels.npy", test_labels)


if __name__ == "__main__":
    main()
