"""A visit's walk as scripts/lib/load/Shoppers/Walk.swift has it, counted."""
import random
from collections import Counter

VISITS, SEED = 40_000, 1


def requests_per_visit(habits):
    """The mean number of requests of each step in a visit, of many visits that are drawn."""
    dice, counts = random.Random(SEED), Counter()
    for _ in range(VISITS):
        counts.update(walk(habits, dice))
    return {step: count / VISITS for step, count in counts.items()}


def walk(habits, dice):
    """The steps of one visit."""
    customer = dice.random() < habits["customerShare"]
    known, goods, wanted = customer, False, None
    steps, shares = list(habits["shares"]), list(habits["shares"].values())
    mean = habits["visitRequests"]
    length = dice.randint(max(1, mean // 2), max(1, mean * 3 // 2))
    made = ["brands"]
    while len(made) < length or wanted:
        step = wanted or dice.choices(steps, shares)[0]
        if step == "favourite" and not customer:
            step = "product"
        first = step
        if first == "checkout" and not goods:
            first = "bag"
        if first in ("bag", "history") and not known:
            first = "enter"
        wanted = None if first == step else step
        known = known or first == "enter"
        goods = first == "bag" or goods and first != "checkout"
        made.append(first)
    return made
