import ParseProtocol

/// The times at which a job runs: once, every so many minutes, at a time of day on some weekdays, or by a cron line.
/// All times are UTC.
package struct JobSchedule: Equatable, Sendable {
    package enum Repetition: Equatable, Sendable {
        case once
        case every(minutes: Int64)
        /// Milliseconds from midnight; weekdays from 0 (Sunday) to 6, empty for every day.
        case daily(time: Int64, days: Set<Int64>)
        case cron(CronTimes)
    }

    package let jobName: String
    /// The job never runs before this moment.
    package let startAfter: Timestamp
    package let repetition: Repetition

    private static let dayMilliseconds: Int64 = 86_400_000
    /// One year. A job that repeats more rarely needs separate starts.
    private static let minutesMax: Int64 = 366 * 1440

    /// - Parameters:
    ///   - object: a stored `_JobSchedule` (PARSE_PROTOCOL section 8).
    ///   - jobs: the existing job names.
    /// - Throws: `.scriptFailed` (141) for an unknown job, `.validationError` (142) for invalid times.
    package init(_ object: JSON, jobs: Set<String>) throws(ParseError) {
        guard let name = object["jobName"]?.stringValue, jobs.contains(name) else {
            throw ParseError(.scriptFailed, "Cannot Schedule a job that is not deployed")
        }
        jobName = name
        let start = object["startAfter"] ?? .null
        guard let iso = start.stringValue ?? start["iso"]?.stringValue, let moment = Timestamp(iso: iso) else {
            throw ParseError(.validationError, "startAfter must be an ISO 8601 time.")
        }
        startAfter = moment
        repetition = try Self.repetition(object)
    }

    private static func repetition(_ object: JSON) throws(ParseError) -> Repetition {
        let minutes = object["repeatMinutes"].flatMap { $0.isNull || $0 == 0 ? nil : $0 }
        let time = object["timeOfDay"].flatMap { $0.isNull || $0 == "" ? nil : $0 }
        let days = object["daysOfWeek"].flatMap { $0.isNull || $0 == [] ? nil : $0 }
        if let cron = object["cron"], !cron.isNull, cron != "" {
            guard minutes == nil, time == nil, days == nil else {
                throw ParseError(
                    .validationError, "cron cannot stand beside repeatMinutes, timeOfDay and daysOfWeek.")
            }
            return .cron(try CronTimes(cron.stringValue ?? ""))
        }
        if let minutes {
            guard let count = minutes.intValue, (1...minutesMax).contains(count) else {
                throw ParseError(.validationError, "repeatMinutes must be a whole number from 1 to \(minutesMax).")
            }
            guard time == nil, days == nil else {
                throw ParseError(.validationError, "repeatMinutes cannot stand beside timeOfDay and daysOfWeek.")
            }
            return .every(minutes: count)
        }
        guard time != nil || days != nil else { return .once }
        guard let text = time?.stringValue, let moment = milliseconds(ofDay: text) else {
            throw ParseError(.validationError, "timeOfDay must be a time such as 04:30.")
        }
        var chosen = Set<Int64>()
        for day in days?.arrayValue ?? (days == nil ? [] : [.null]) {
            guard let number = day.intValue ?? day.stringValue.flatMap(Int64.init), (0...6).contains(number) else {
                throw ParseError(.validationError, "daysOfWeek must be numbers from 0, Sunday, to 6.")
            }
            chosen.insert(number)
        }
        return .daily(time: moment, days: chosen)
    }

    /// Parses `04:30`, `04:30:15` and `04:30:15.000Z`.
    private static func milliseconds(ofDay text: String) -> Int64? {
        guard (5...13).contains(text.utf8.count) else { return nil }
        let full = text.utf8.count == 5 ? text + ":00.000Z" : text.utf8.count == 8 ? text + ".000Z" : text
        return Timestamp(iso: "1970-01-01T\(full)").flatMap {
            (0..<dayMilliseconds).contains($0.milliseconds) ? $0.milliseconds : nil
        }
    }

    /// The next run; nil when there is none. Runs missed during downtime are made up for once.
    /// - Parameter lastRun: the last run; nil when it never ran.
    package func next(after lastRun: Timestamp?) -> Timestamp? {
        guard let lastRun, lastRun >= startAfter else {
            switch repetition {
            case .once, .every: return startAfter
            case .daily(let time, let days): return Self.firstTime(time, days, from: startAfter.milliseconds)
            case .cron(let times): return times.first(from: startAfter)
            }
        }
        switch repetition {
        case .once: return nil
        case .cron(let times): return times.first(from: Timestamp(milliseconds: lastRun.milliseconds + 1))
        case .every(let minutes):
            let period = minutes * 60_000
            let periods = (lastRun.milliseconds - startAfter.milliseconds) / period + 1
            return Timestamp(milliseconds: startAfter.milliseconds + periods * period)
        case .daily(let time, let days): return Self.firstTime(time, days, from: lastRun.milliseconds + 1)
        }
    }

    private static func firstTime(_ time: Int64, _ days: Set<Int64>, from moment: Int64) -> Timestamp? {
        // Rounds down, so that moments before 1970 fall on the right day.
        var day = (moment >= 0 ? moment : moment - dayMilliseconds + 1) / dayMilliseconds
        for _ in 0...8 {
            // 1 January 1970 was a Thursday.
            let weekday = ((day % 7) + 11) % 7
            let candidate = day * dayMilliseconds + time
            if candidate >= moment, days.isEmpty || days.contains(weekday) { return Timestamp(milliseconds: candidate) }
            day += 1
        }
        return nil
    }
}
