import ParseProtocol

/// A figure of the suite with a history for operators.
public enum SuiteFigure: String, CaseIterable, Sendable {
    /// Requests that were answered with 4xx.
    case refused
    /// Requests that were answered with 5xx.
    case failed
    /// Requests that wait for a lane.
    case waiting
    /// Connections of live queries.
    case live
    /// The memory of the gateway.
    case memory
    /// Mails that were given up.
    case mailsFailed
    /// Notifications that were given up.
    case pushesFailed
    /// Charges and refunds that the payment provider refused.
    case paymentsFailed
    /// Messages between services that wait.
    case outbox
    /// The seconds for which the oldest of them waits.
    case outboxAge
    /// The memory of all services.
    case servicesMemory

    /// Whether it counts events: an hour has the sum of its minutes; for other figures, the largest value.
    public var isCount: Bool {
        switch self {
        case .refused, .failed, .mailsFailed, .pushesFailed, .paymentsFailed: true
        case .waiting, .live, .memory, .outbox, .outboxAge, .servicesMemory: false
        }
    }

    /// Whether each gateway has its own value and these are added up; otherwise all gateways see the same value.
    public var isOfGateway: Bool {
        switch self {
        case .refused, .failed, .waiting, .live, .memory: true
        case .mailsFailed, .pushesFailed, .paymentsFailed, .outbox, .outboxAge, .servicesMemory: false
        }
    }
}

/// The figures of the suite in a minute or an hour, as one gateway sees them, or all together.
public struct FigureRow: Sendable, Equatable {
    /// The function of analytics that stores a minute. The gateway's table of functions omits it, so clients cannot
    /// call it.
    public static let keepFunction = "keepFigures"
    /// The function of analytics that returns the history; also for the gateway alone.
    public static let pastFunction = "pastFigures"

    /// Answered requests by the bucket of their time. Buckets without requests are missing.
    public private(set) var times: [Int: Int64] = [:]
    /// Missing values are zero.
    public private(set) var values: [SuiteFigure: Int64] = [:]

    /// Keeps sums within 64 bits and within the whole numbers of JSON.
    private static let valueMax: Int64 = 1 << 50
    /// More than the gateway has.
    private static let bucketsMax = 200

    /// - Parameters:
    ///   - times: requests by bucket.
    ///   - values: by figure.
    public init(times: [Int: Int64], values: [SuiteFigure: Int64]) {
        self.times = times.filter { $0.value > 0 }
        self.values = values
    }

    /// The row in a message or a table. Figures that this release does not know are dropped.
    /// - Returns: nil for anything else.
    public init?(_ json: JSON) {
        guard let counts = json["times"]?.objectValue, counts.count <= Self.bucketsMax else { return nil }
        for (name, count) in counts {
            guard let bucket = Int(name), (0..<Self.bucketsMax).contains(bucket), let count = Self.value(count) else {
                return nil
            }
            times[bucket] = count
        }
        for figure in SuiteFigure.allCases {
            guard let member = json[figure.rawValue] else { continue }
            guard let value = Self.value(member) else { return nil }
            values[figure] = value
        }
    }

    private static func value(_ json: JSON) -> Int64? {
        json.intValue.flatMap { (0...valueMax).contains($0) ? $0 : nil }
    }

    /// The row for a message or a table.
    public var json: JSON {
        var members = Dictionary(uniqueKeysWithValues: values.map { ($0.rawValue, JSON.int($1)) })
        members["times"] = .object(Dictionary(uniqueKeysWithValues: times.map { ("\($0)", JSON.int($1)) }))
        return .object(members)
    }

    /// All answered requests.
    public var requests: Int64 { times.values.reduce(0, Self.sum) }

    /// Adds a later row of the same gateway.
    public mutating func follow(_ later: FigureRow) { add(later) { $0.isCount } }

    /// Adds the row of another gateway for the same time.
    public mutating func join(_ other: FigureRow) { add(other) { $0.isOfGateway } }

    /// - Parameter isAdded: false for a figure whose larger value counts.
    private mutating func add(_ other: FigureRow, _ isAdded: (SuiteFigure) -> Bool) {
        times.merge(other.times, uniquingKeysWith: Self.sum)
        for (figure, value) in other.values {
            let own = values[figure] ?? 0
            values[figure] = isAdded(figure) ? Self.sum(own, value) : max(own, value)
        }
    }

    private static func sum(_ one: Int64, _ other: Int64) -> Int64 { min(one + other, valueMax) }
}
