import ParseProtocol

/// The figures of a set of requests. Times are in milliseconds from the scheduled start.
package struct Figures: Sendable, Equatable {
    /// Requests with a result.
    package var requests = 0
    /// Requests without the expected answer.
    package var errors = 0
    /// Requests without an error that the shop correctly refused, because the goods have run out.
    package var refused = 0
    package var p50 = 0.0
    package var p99 = 0.0
    package var p999 = 0.0
    package var longest = 0.0

    /// Figures of no requests.
    package init() {}

    var json: JSON {
        [
            "requests": .int(Int64(requests)), "errors": .int(Int64(errors)), "refused": .int(Int64(refused)),
            "p50Milliseconds": JSON(number: p50), "p99Milliseconds": JSON(number: p99),
            "p999Milliseconds": JSON(number: p999), "maxMilliseconds": JSON(number: longest),
        ]
    }
}

/// Counts results and their times.
package struct Tally: Sendable {
    private var times: Times
    private var errors = 0
    private var refused = 0

    /// An empty tally.
    package init(times: Times = Times()) { self.times = times }

    /// Adds a request. A failed request's time counts too: leaving it out would favour a shop that fails slowly.
    package mutating func add(_ outcome: Outcome, after seconds: Double) {
        times.add(seconds: seconds)
        switch outcome {
        case .answered: break
        case .refused: refused += 1
        case .failed: errors += 1
        }
    }

    /// The figures of the counted requests.
    package var figures: Figures {
        var figures = Figures()
        (figures.requests, figures.errors, figures.refused) = (times.count, errors, refused)
        figures.p50 = times.milliseconds(at: 50)
        figures.p99 = times.milliseconds(at: 99)
        figures.p999 = times.milliseconds(at: 99.9)
        figures.longest = times.longest
        return figures
    }
}

/// The result of a request.
package enum Outcome: Sendable, Equatable {
    case answered
    /// The goods have run out: the shop works correctly.
    case refused
    /// The reason, in a few words that are the same for all requests of the kind.
    case failed(String)
}
