"""Simulations at a sizing, over more and more load, over a day, and of what was measured."""
import math

from queues import percentile
from shop import Shop
from sizing import Demand, Sizing
from tables import grid, milliseconds, number

SWEEP = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4)
NOT_SHOPPERS = ("picture", "event", "signin")


def shoppers_times(shop):
    """Of the requests that scripts/load makes and judges."""
    return [seconds for kind, times in shop.times.items() if kind not in NOT_SHOPPERS for seconds in times]


def at_sizing(sizing, options):
    shop = Shop(sizing, seed=options.seed).run(options.requests)
    stations = [
        [each.name, each.servers, f"{each.utilisation(shop.seconds):.1%}", milliseconds(percentile(each.waits, 0.5)),
         milliseconds(percentile(each.waits, 0.99)),
         number(each.writes / each.commits) if getattr(each, "commits", 0) else ""]
        for each in shop.stations if each.waits
    ]
    kinds = [
        [sizing.costs.kinds[kind]["title"], len(times), milliseconds(percentile(times, 0.5)),
         milliseconds(percentile(times, 0.99))]
        for kind, times in shop.times.items() if times
    ]
    return "\n\n".join([
        f"Simulated: {options.requests:,} requests in {shop.seconds:,.1f} s at the peak, {sizing.cores} processors, "
        f"{sizing.replicas['catalog']} replicas of catalog, seed {options.seed}. No network, no turns for processors.",
        grid(["station", "threads", "busy", "wait p50 ms", "p99 ms", "writes a commit"], stations),
        grid(["request", "number", "p50 ms", "p99 ms"], kinds)])


def p99(sizing, load, options, **others):
    return percentile(shoppers_times(Shop(sizing, load, options.seed, **others).run(options.requests)), 0.99)


def knee(sizing, options, promise, **others):
    """The highest load, as a multiple of the sizing's, at which p99 is within so many milliseconds, to 3 %."""
    low, high = 0.0, 0.25
    while high < 1024 and p99(sizing, high, options, **others) * 1000 <= promise:
        low, high = high, high * 2
    while low and high / low > 1.03:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if p99(sizing, middle, options, **others) * 1000 <= promise else (low, middle)
    return low


def sweep(sizing, options):
    rows = []
    for load in SWEEP:
        shop = Shop(sizing, load, options.seed).run(options.requests)
        busiest = max(shop.stations, key=lambda each: each.utilisation(shop.seconds))
        times = shoppers_times(shop)
        rows.append([
            f"{load:g}", number(sizing.demand.orders * load), number(sum(shop.rates.values())),
            milliseconds(percentile(times, 0.5)), milliseconds(percentile(times, 0.99)),
            milliseconds(percentile(shop.times["checkout"], 0.99)), busiest.name,
            f"{busiest.utilisation(shop.seconds):.0%}"])
    found = knee(sizing, options, options.p99)
    ends = (f"99 of 100 requests of shoppers are answered within {options.p99:g} ms up to {found:.2f} times this load, "
            f"{sizing.demand.orders * found:,.0f} orders a day." if found else
            f"99 of 100 requests of shoppers are not answered within {options.p99:g} ms at any load: see the searches.")
    header = ["load", "orders a day", "requests/s", "p50 ms", "p99 ms", "checkout p99 ms", "busiest", "asked of it"]
    return "\n".join([grid(header, rows), ends])


def curve(peak):
    """The rates of 24 hours as multiples of their mean, the highest at 20 h: a wave as steep as the peak needs."""
    low, high = 0.0, 400.0
    for _ in range(60):
        power = (low + high) / 2
        wave = [((1 + math.cos((hour - 20) / 24 * 2 * math.pi)) / 2) ** power for hour in range(24)]
        mean = sum(wave) / 24
        low, high = (power, high) if 1 / mean < peak else (low, power)
    return [each / mean for each in wave]


def day(sizing, options):
    rows = []
    for hour, rate in enumerate(curve(sizing.demand.peak)):
        load = rate / sizing.demand.peak
        # A night without a visitor is not simulated.
        if load * sum(sizing.rates.values()) < 0.001:
            continue
        shop = Shop(sizing, load, options.seed + hour).run(max(1000, options.requests // 10))
        times = shoppers_times(shop)
        rows.append([f"{hour} h", number(sum(shop.rates.values())), milliseconds(percentile(times, 0.5)),
                     milliseconds(percentile(times, 0.99))])
    return grid(["hour", "requests/s", "p50 ms", "p99 ms"], rows)


def measured_run(costs, options):
    """The sizing and the demand of the shoppers' run: nothing but their requests, at its rate."""
    run = costs.figures["shoppersRun"]
    visits = run["rate"] / sum(costs.requests_per_visit.values())
    demand = Demand.of(costs, shoppers=visits * 86_400, peak=1, pictures=0, events=0, signins=0)
    return Sizing(costs, demand, options.utilisation, cores=run["processorsOfMachine"])


def check(costs, options):
    run = costs.figures["shoppersRun"]
    sizing = measured_run(costs, options)
    one = dict.fromkeys(sizing.replicas, 1)
    shop = Shop(sizing, seed=options.seed, replicas=one).run(options.requests)
    limit = knee(sizing, options, run["limitP99Ms"], replicas=one) * run["rate"]
    times = shoppers_times(shop)

    def row(what, measured, simulated):
        return [what, f"{measured:g}", f"{simulated:,.1f}", f"{simulated / measured:.2f}"]

    rows = [
        row(f"p50 at {run['rate']}/s, ms", run["p50Ms"], percentile(times, 0.5) * 1000),
        row(f"p99 at {run['rate']}/s, ms", run["p99Ms"], percentile(times, 0.99) * 1000),
        row(f"the highest rate with p99 within {run['limitP99Ms']} ms", run["limit"], limit),
    ]
    for kind, (middle, high) in run["stepsMs"].items():
        rows.append(row(f"{costs.kinds[kind]['title']}, p50 ms", middle, percentile(shop.times[kind], 0.5) * 1000))
        rows.append(row(f"{costs.kinds[kind]['title']}, p99 ms", high, percentile(shop.times[kind], 0.99) * 1000))
    return grid(["what", "measured", "simulated", "simulated / measured"], rows)
