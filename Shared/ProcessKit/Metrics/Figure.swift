import ParseProtocol

/// The value of a metric in one process, as its report to the gateway has it.
public struct Figure: Sendable, Equatable {
    /// What the value means.
    public let metric: Metric
    /// The current value.
    public let value: Double
    /// They distinguish it from other values of the metric. Few values: never ids, and nothing that clients choose.
    public let labels: [String: String]

    /// - Parameters:
    ///   - value: a finite number.
    ///   - labels: without the name of the process, which the gateway adds.
    public init(_ metric: Metric, _ value: Double, _ labels: [String: String] = [:]) {
        self.metric = metric
        self.value = value
        self.labels = labels
    }

    /// The figure in a report.
    /// - Returns: nil for a metric that this release does not know, and for anything else.
    public init?(_ json: JSON) {
        guard let metric = json["name"]?.stringValue.flatMap(Metric.named), let value = json["value"]?.doubleValue
        else { return nil }
        self.init(metric, value, (json["labels"]?.objectValue ?? [:]).compactMapValues(\.stringValue))
    }

    /// The figure for a report.
    public var json: JSON {
        [
            "name": .string(metric.name), "value": JSON(number: value),
            "labels": .object(labels.mapValues(JSON.string)),
        ]
    }
}
