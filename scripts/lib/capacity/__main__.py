"""The work of scripts/capacity: the resources that a number of shoppers or orders needs."""
import argparse
import sys

import tables
from costs import Costs
from sizing import Demand, Sizing


def positive(text):
    value = float(text)
    if not 0 < value < 1e12:
        raise argparse.ArgumentTypeError("is not above 0")
    return value


def not_negative(text):
    value = float(text)
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError("is below 0 or too large")
    return value


def share(text):
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("is not between 0 and 1")
    return value


def arguments(costs, given=None):
    usual = costs.figures["assumptions"]
    parser = argparse.ArgumentParser(prog="scripts/capacity")
    many = parser.add_mutually_exclusive_group()
    many.add_argument("--orders", type=positive, help="orders a day; 10000 unless told")
    many.add_argument("--shoppers", type=positive, help="visits a day, in place of orders")
    parser.add_argument("--conversion", type=positive, help="orders a visit; those of scripts/lib/load/shoppers.json")
    parser.add_argument("--peak", type=positive, default=4, help="the busiest hour's rate, as a multiple of the mean")
    parser.add_argument("--cores", type=int, help="processors of the machine; as many as are needed unless told")
    parser.add_argument("--utilisation", type=share, default=0.6, help="how busy processors and threads may be")
    parser.add_argument("--pace", choices=["quiet", "busy"], default="quiet", help="whose costs decide")
    parser.add_argument("--gigabits", type=positive, default=1, help="of the network to the shoppers")
    parser.add_argument("--pictures", type=not_negative, default=usual["picturesPerVisit"], help="of 100 KB, a visit")
    parser.add_argument("--events", type=not_negative, default=usual["eventsPerVisit"], help="app events a visit")
    parser.add_argument("--signins", type=not_negative, default=usual["signinsPerVisit"], help="by password, a visit")
    options = parser.parse_args(given)
    if options.cores is not None and not 1 <= options.cores <= 4096:
        parser.error("--cores is 1 to 4096")
    if options.peak < 1 or options.peak > 24:
        parser.error("--peak is 1 to 24")
    if options.orders is None and options.shoppers is None:
        options.orders = 10_000
    return options


def main():
    costs = Costs.read()
    options = arguments(costs)
    demand = Demand.of(
        costs, orders=options.orders, shoppers=options.shoppers, conversion=options.conversion, peak=options.peak,
        pictures=options.pictures, events=options.events, signins=options.signins)
    sizing = Sizing(costs, demand, options.utilisation, options.cores, options.gigabits, options.pace)
    print(tables.report(sizing))


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)
