import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions with which operators read the figures of graphs.
struct AnalyticsFunctions: Sendable {
    let store: ClassStore
    /// The shop's currency, the default for revenue.
    let currency: Currency
    /// The shop's zone, in which days are counted.
    let zone: ShopZone

    func install(_ routes: inout ServiceRoutes) {
        add("analyticsEvents", to: &routes) { parameters, reader in
            let limit = try parameters.listLimit()
            return .array(try EventLog.newest(try Self.eventName(parameters["name"]), limit: limit, reader))
        }
        add("analyticsNames", to: &routes, names)
        add("analyticsSeries", to: &routes, series)
        add("analyticsTop", to: &routes) { [zone] parameters, reader in
            let name = try Self.eventName(parameters["name"])
            let limit = try parameters.listLimit(standard: 10, maximum: 200)
            let range = try SeriesRange(parameters, only: .day, zone: zone)
            let dimension = try Self.text("dimension", parameters)
            return .array(
                try EventCounts.top(name, dimension, range, limit: limit, reader).map {
                    ["value": .string($0.value), "count": .int($0.count)]
                })
        }
        add("analyticsActiveUsers", to: &routes, activeUsers)
        add("analyticsRetention", to: &routes) { [zone] in try CohortFigures($0, zone: zone).all($1) }
        add("analyticsSales", to: &routes) { [zone] parameters, reader in
            try SalesFigures(range: SeriesRange(parameters, zone: zone), reader: reader).all()
        }
        add("analyticsRequests", to: &routes) { [zone] parameters, reader in
            guard let grouping = (parameters["groupBy"] ?? "class").stringValue.flatMap(RequestCountsLog.Grouping.init)
            else { throw ParseError(.validationError, "groupBy must be class, verb, deviceType or sdk.") }
            let limit = try parameters.listLimit()
            return .array(
                try RequestCountsLog.groups(by: grouping, SeriesRange(parameters, zone: zone), limit: limit, reader))
        }
        routes.function("rebuildSales") { [store, zone] parameters, request in
            try request.requireMaster()
            let page = try SalesRebuild(parameters)
            try await store.write(for: request.share) { try page.write(zone: zone, in: $0) }
            return try .result(["sales": .int(Int64(page.count))])
        }
        add("pushOpens", to: &routes) { parameters, reader in
            let hashes = try Self.hashes(parameters["pushHash"])
            var answer = try PushOpens.of(hashes, reader)
            for (name, value) in try PushSales.of(hashes, reader).objectValue ?? [:] { answer[name] = value }
            answer["opensByHash"] = try PushOpens.each(hashes, reader)
            answer["pushHash"] = parameters["pushHash"]
            return answer
        }
    }

    private func add(
        _ name: String, to routes: inout ServiceRoutes,
        _ body: @escaping @Sendable (_ parameters: JSON, _ reader: StoreReader) throws -> JSON
    ) {
        routes.function(name) { [store] parameters, request in
            try request.requireArea(.developers)
            return try .result(try await store.read(for: request.share) { try body(parameters, $0) })
        }
    }

    private static func eventName(_ value: JSON?) throws -> String {
        guard let name = value?.stringValue, Event.isName(name) else { throw Event.invalidName }
        return name
    }

    /// The events that were counted, or the dimensions of one.
    @Sendable private func names(_ parameters: JSON, _ reader: StoreReader) throws -> JSON {
        if let name = parameters["name"], !name.isNull {
            let (names, more) = try EventCounts.dimensions(of: Self.eventName(name), reader)
            return ["names": .array(names.map { ["name": .string($0)] }), "more": .bool(more)]
        }
        let (names, more) = try EventCounts.names(reader)
        return [
            "names": .array(
                names.map { name, hour in
                    ["name": .string(name), "lastAt": zone.start(ofHour: hour).wire]
                }),
            "more": .bool(more),
        ]
    }

    private static func text(_ name: String, _ parameters: JSON) throws -> String {
        guard let text = parameters[name]?.stringValue, !text.isEmpty else {
            throw ParseError(.validationError, "\(name) must be a text.")
        }
        return text
    }

    /// Maximum pushes in one request, as many as a promotion's report has.
    private static let hashesMax = 100

    /// One hash, or several whose figures are added up.
    private static func hashes(_ value: JSON?) throws -> [String] {
        let values = value?.arrayValue ?? [value ?? .null]
        let hashes = values.compactMap(\.stringValue).filter { !$0.isEmpty }
        guard (1...hashesMax).contains(values.count), hashes.count == values.count else {
            throw ParseError(.validationError, "pushHash must be a text, or a list of 1 to \(hashesMax) texts.")
        }
        return hashes
    }

    // MARK: - Graphs

    /// Maximum lines in a graph of a dimension's values.
    private static let linesMax: Int64 = 20

    @Sendable private func series(_ parameters: JSON, _ reader: StoreReader) throws -> JSON {
        let metric = try Metric(parameters["metric"])
        if let dimension = parameters["dimension"], !dimension.isNull {
            return try lines(metric, parameters, reader)
        }
        let range = try SeriesRange(parameters, only: metric.interval, zone: zone)
        let values: [Int64: Int64]
        switch metric {
        case .event(let name): values = try EventCounts.series(name, range, reader)
        case .active(let kind): values = try ActiveIds.days(kind, range, reader)
        case .requests: values = try RequestCountsLog.series(range, reader)
        case .sales:
            let currency = try Self.currency(parameters) ?? currency
            values = try SalesFigures(range: range, reader: reader).net(currency.code)
        }
        return ["interval": .string(range.interval.rawValue), "points": range.points(values)]
    }

    /// - Throws: `.validationError` (142) for an unknown currency: it would look like a currency without sales.
    private static func currency(_ parameters: JSON) throws -> Currency? {
        guard let value = parameters["currency"], !value.isNull else { return nil }
        guard let code = value.stringValue, let currency = try? Currency(code) else {
            throw ParseError(.validationError, "currency must be an ISO 4217 code, such as usd.")
        }
        return currency
    }

    /// One line for each of a dimension's most frequent values, or for a given value.
    private func lines(_ metric: Metric, _ parameters: JSON, _ reader: StoreReader) throws -> JSON {
        guard case .event(let name) = metric else {
            throw ParseError(.validationError, "Only events have dimensions.")
        }
        guard parameters["interval"]?.stringValue ?? "day" == "day" else {
            throw ParseError(.validationError, "Dimensions are counted per day.")
        }
        let range = try SeriesRange(parameters, only: .day, zone: zone)
        let dimension = try Self.text("dimension", parameters)
        let limit = try parameters.listLimit(standard: 10, maximum: Self.linesMax)
        let values =
            try parameters["value"]?.stringValue.map { [$0] }
            ?? EventCounts.top(name, dimension, range, limit: limit, reader).map(\.value)
        let lines = try values.map { value -> JSON in
            let points = try EventCounts.series(name, dimension, value: value, range, reader)
            return ["value": .string(value), "points": range.points(points)]
        }
        return ["interval": "day", "series": .array(lines)]
    }

    @Sendable private func activeUsers(_ parameters: JSON, _ reader: StoreReader) throws -> JSON {
        let range = try SeriesRange(parameters, only: .day, zone: zone)
        guard range.toDay - range.fromDay <= ActiveIds.daysKept else {
            throw ParseError(
                .validationError, "from and to must be at most \(ActiveIds.daysKept) days apart: ids expire then.")
        }
        func unique(_ period: ActiveIds.Period) throws -> (users: [Int64: Int64], installations: [Int64: Int64]) {
            (
                try ActiveIds.unique(.users, per: period, range, reader),
                try ActiveIds.unique(.installations, per: period, range, reader)
            )
        }
        func points(_ values: (users: [Int64: Int64], installations: [Int64: Int64]), _ days: [Int64]) -> JSON {
            .array(
                days.map { day in
                    [
                        "at": range.moment(of: day).wire, "users": .int(values.users[day] ?? 0),
                        "installations": .int(values.installations[day] ?? 0),
                    ]
                })
        }
        func reported(_ values: (users: [Int64: Int64], installations: [Int64: Int64])) -> [Int64] {
            Set(values.users.keys).union(values.installations.keys).sorted()
        }
        let days = (try ActiveIds.days(.users, range, reader), try ActiveIds.days(.installations, range, reader))
        let (weeks, months, whole) = (try unique(.week), try unique(.month), try unique(.range))
        return [
            "users": .int(whole.users[0] ?? 0), "installations": .int(whole.installations[0] ?? 0),
            "days": points((days.0, days.1), Array(range.buckets)), "weeks": points(weeks, reported(weeks)),
            "months": points(months, reported(months)),
        ]
    }
}

/// The quantity that a graph shows.
private enum Metric {
    case event(String)
    case active(ActiveIds.Kind)
    case requests
    case sales

    /// - Throws: `.validationError` (142) for an unknown metric, `.invalidEventName` (160) for an invalid event name.
    init(_ value: JSON?) throws {
        switch value?.stringValue {
        case "opens": self = .event(Event.opened)
        case "activeUsers": self = .active(.users)
        case "activeInstallations": self = .active(.installations)
        case "requests": self = .requests
        case "sales": self = .sales
        case let text? where text.hasPrefix("event:"):
            let name = String(text.dropFirst("event:".count))
            guard Event.isName(name) else { throw Event.invalidName }
            self = .event(name)
        default:
            throw ParseError(
                .validationError,
                "metric must be opens, activeUsers, activeInstallations, requests, sales or event:<name>.")
        }
    }

    /// Sets of ids are stored per day.
    var interval: SeriesRange.Interval? { if case .active = self { .day } else { nil } }
}
