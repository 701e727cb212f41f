"""A periodic signal is designed so that its spectrum has a wanted shape: Fourier transforms, complex numbers."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, holomorphic_grad, jacobian
from autograd.misc.optimizers import rmsprop


def spectrum(signal):
    return np.abs(np.fft.fft(signal)) ** 2 / signal.shape[0]


def loss(signal, wanted):
    found = spectrum(signal)
    smooth = np.sum((np.roll(signal, 1) - signal) ** 2)
    return np.mean((np.log1p(found) - wanted) ** 2) + 0.01 * smooth + 0.1 * np.real(np.fft.ifft(found)[3])


def run():
    rs = npr.RandomState(2)
    wanted = np.log1p(np.abs(np.fft.fft(np.cos(np.arange(8) * 2.0))))
    start = rs.randn(8)
    end = rmsprop(grad(lambda signal, i: loss(signal, wanted)), start, step_size=0.05, num_iters=10)
    turned = holomorphic_grad(lambda z: np.sum(np.exp(1j * z) * z**2))(start[:3] + 0.5j * start[3:6])
    J = jacobian(lambda s: np.fft.irfft(np.fft.rfft(s)[:3], 6))(start)
    return {"signal": end, "loss": loss(end, wanted), "real": np.real(turned), "imaginary": np.imag(turned), "J": J}
