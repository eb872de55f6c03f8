"""Writes token-scales.json: advantages, weights and their normalisation, computed token by token from the formulas.

Only the standard library. Run: python3 test/training/goldens/make-token-scales.py
"""
import json
import pathlib
import random
import statistics


def advantages(rewards, scale):
    mean = statistics.fmean(rewards)
    deviation = statistics.pstdev(rewards)
    return [(reward - mean) / (deviation + 1e-6) if scale else reward - mean for reward in rewards]


def case(generator, scale, balance):
    groups = [
        [round(generator.uniform(-2, 2), 3) for _ in range(generator.randint(2, 6))]
        for _ in range(generator.randint(1, 5))
    ]
    counts = [[generator.randint(1, 40) for _ in group] for group in groups]
    tokens = []  # one [trajectory, weight, advantage] for each trainable token
    trajectory = 0
    for group, group_counts in zip(groups, counts):
        for advantage, count in zip(advantages(group, scale), group_counts):
            tokens += [[trajectory, 1 / (count + 1e-6), advantage] for _ in range(count)]
            trajectory += 1
    mean_weight = statistics.fmean(weight for _, weight, _ in tokens)
    for token in tokens:
        token[1] /= mean_weight
        if balance > 0 and token[2] < 0:
            token[2] *= 1 - balance
        if balance < 0 and token[2] > 0:
            token[2] *= 1 + balance
    size = statistics.fmean(abs(advantage) * weight for _, weight, advantage in tokens)
    scales = {number: {"weight": weight, "advantage": advantage / size} for number, weight, advantage in tokens}
    return {
        "groups": groups,
        "counts": counts,
        "scale": scale,
        "balance": balance,
        "advantages": [advantages(group, scale) for group in groups],
        "scales": [scales[number] for number in range(trajectory)],
    }


generator = random.Random(7)
cases = [case(generator, scale, balance) for scale in (True, False) for balance in (0, 0.25, 1, -0.5, -1)]
path = pathlib.Path(__file__).with_name("token-scales.json")
path.write_text("[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n")
