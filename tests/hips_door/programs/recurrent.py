"""Recurrent networks that learn to spell a text, one letter after the other: plain states, and LSTM cells."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, value_and_grad
from autograd.misc.optimizers import adam, rmsprop
from autograd.scipy.special import logsumexp

TEXT = "the cat sat on the mat. the rat ran."
LETTERS = sorted(set(TEXT))
GATES = ("change", "forget", "ingate", "outgate")


def concat_and_multiply(weights, *args):
    joined = np.hstack(args + (np.ones((args[0].shape[0], 1)),))
    return np.dot(joined, weights)


def create_params(inputs, states, outputs, scale, rs):
    return {
        "init hiddens": rs.randn(1, states) * scale,
        "change": rs.randn(inputs + states + 1, states) * scale,
        "predict": rs.randn(states + 1, outputs) * scale,
    }


def rnn_predict(params, inputs):
    hiddens = np.repeat(params["init hiddens"], inputs.shape[1], axis=0)
    outputs = []
    for step in inputs:
        hiddens = np.tanh(concat_and_multiply(params["change"], step, hiddens))
        output = concat_and_multiply(params["predict"], hiddens)
        outputs.append(output - logsumexp(output, axis=1, keepdims=True))
    return outputs


def sigmoid(x):
    return 0.5 * (np.tanh(x) + 1.0)


def lstm_predict(params, inputs):
    count = inputs.shape[1]
    hiddens, cells = (np.repeat(params[name], count, axis=0) for name in ("init hiddens", "init cells"))
    outputs = []
    for step in inputs:
        change = np.tanh(concat_and_multiply(params["change"], step, hiddens))
        forget, ingate, outgate = (sigmoid(concat_and_multiply(params[name], step, hiddens)) for name in GATES[1:])
        cells = cells * forget + ingate * change
        hiddens = outgate * np.tanh(cells)
        scores = concat_and_multiply(params["predict"], hiddens)
        outputs.append(scores - logsumexp(scores, axis=1, keepdims=True))
    return outputs


def one_hot(text, length):
    rows = [text[i : i + length] for i in range(0, len(text) - length + 1, length)]
    codes = np.array([[LETTERS.index(letter) for letter in row] for row in rows])
    return np.array(codes.T[:, :, None] == np.arange(len(LETTERS))[None, None, :], dtype=float)


def train_rnn():
    text = one_hot(TEXT, 9)

    def loss(params, i):
        log_probabilities = rnn_predict(params, text)
        steps, sequences, _ = text.shape
        likelihood = 0.0
        for t in range(1, steps):
            likelihood = likelihood + np.sum(log_probabilities[t - 1] * text[t])
        return -likelihood / (steps * sequences)

    params = create_params(len(LETTERS), 6, len(LETTERS), 0.3, npr.RandomState(0))
    losses = []
    end = adam(grad(loss), params, step_size=0.1, num_iters=8, callback=lambda p, i, g: losses.append(loss(p, i)))
    return {"losses": np.array(losses), "change": end["change"], "start": end["init hiddens"]}


def train_lstm():
    rs, letters, states = npr.RandomState(1), len(LETTERS), 5
    params = {name: 0.3 * rs.randn(letters + states + 1, states) for name in GATES}
    params["init hiddens"], params["init cells"] = 0.3 * rs.randn(1, states), 0.3 * rs.randn(1, states)
    params["predict"] = 0.3 * rs.randn(states + 1, letters)
    text = one_hot(TEXT, 12)

    def loss(params):
        guesses = lstm_predict(params, text)
        return -sum(np.sum(guess * truth) for guess, truth in zip(guesses[:-1], text[1:])) / text.shape[0]

    both, losses = value_and_grad(loss), []

    def slope(params, i):
        value, found = both(params)
        losses.append(value)
        return found

    end = rmsprop(slope, params, step_size=0.05, num_iters=5)
    return {"losses": np.array(losses), "forget": end["forget"], "cells": end["init cells"]}


def run():
    plain, cells = train_rnn(), train_lstm()
    return {**plain, **{f"lstm {name}": value for name, value in cells.items()}}
