import ParseProtocol

/// The figures of a set of requests. Times are in milliseconds and begin when a request was meant to start.
package struct Figures: Sendable, Equatable {
    /// Requests with an outcome.
    package var requests = 0
    /// Of those, the ones without the answer they should have.
    package var errors = 0
    /// Of those that are no errors, the ones to which the shop rightly said no, because the goods have run out.
    package var refused = 0
    package var p50 = 0.0
    package var p99 = 0.0
    package var p999 = 0.0
    package var longest = 0.0

    /// The figures of no request.
    package init() {}

    var json: JSON {
        [
            "requests": .int(Int64(requests)), "errors": .int(Int64(errors)), "refused": .int(Int64(refused)),
            "p50Milliseconds": JSON(number: p50), "p99Milliseconds": JSON(number: p99),
            "p999Milliseconds": JSON(number: p999), "maxMilliseconds": JSON(number: longest),
        ]
    }
}

/// Counts outcomes and their times.
package struct Tally: Sendable {
    private var times: Times
    private var errors = 0
    private var refused = 0

    /// A tally of nothing yet.
    package init(times: Times = Times()) { self.times = times }

    /// Adds a request. One that failed has a time as well: leaving it out would flatter the shop that fails slowly.
    package mutating func add(_ outcome: Outcome, after seconds: Double) {
        times.add(seconds: seconds)
        switch outcome {
        case .answered: break
        case .refused: refused += 1
        case .failed: errors += 1
        }
    }

    /// What is said about them.
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

/// What became of a request.
package enum Outcome: Sendable, Equatable {
    case answered
    /// The goods have run out: the shop works.
    case refused
    /// Why, in a few words that do not differ from request to request.
    case failed(String)
}
