import Foundation
import ParseProtocol

/// `/scriptlog`: recent log lines of the processes of this host; master key only.
struct LogController: Sendable {
    let directory: String
    let secrets: LogSecrets

    /// Bytes read from the end of each process's file: some ten thousand lines, read in milliseconds.
    static let tailBytes: UInt64 = 1 << 20
    private static let sizeMax: Int64 = 1000
    private static let week = Duration.seconds(7 * 86_400)

    /// The validated options of a log request.
    struct Options: Sendable {
        var level = LogLine.Level.info
        var size: Int64 = 10
        var from: Timestamp = Timestamp.now.advanced(by: .zero - LogController.week)
        var until = Timestamp.now
        var isAscending = false

        /// - Throws: `.invalidQuery` (102).
        init(_ options: [String: JSON]) throws(ParseError) {
            for (name, value) in options where !value.isNull && value != "" {
                switch name {
                case "level":
                    guard let level = value.stringValue.flatMap(LogLine.Level.init(asked:)) else {
                        throw ParseError(.invalidQuery, "level must be verbose, info, warn or error.")
                    }
                    self.level = level
                case "size", "n":
                    guard let size = value.intValue, (0...LogController.sizeMax).contains(size) else {
                        throw ParseError(.invalidQuery, "\(name) must be from 0 to \(LogController.sizeMax).")
                    }
                    self.size = size
                case "from", "until":
                    guard let iso = value.stringValue ?? value["iso"]?.stringValue, let time = Timestamp(iso: iso)
                    else {
                        throw ParseError(.invalidQuery, "\(name) must be an ISO 8601 time.")
                    }
                    if name == "from" { from = time } else { until = time }
                case "startDate":
                    // Parse Dashboard's name for `from`.
                    guard let milliseconds = value.intValue else {
                        throw ParseError(.invalidQuery, "startDate must be milliseconds since 1970.")
                    }
                    from = Timestamp(milliseconds: milliseconds)
                case "order":
                    guard value == "asc" || value == "desc" else {
                        throw ParseError(.invalidQuery, "order must be asc or desc.")
                    }
                    isAscending = value == "asc"
                default: throw ParseError(.invalidQuery, "Invalid parameter for logs: \(name.prefix(64))")
                }
            }
        }
    }

    func read(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let options = try Options(request.options())
        guard let lines = await Self.disk.run({ lines(options) }) else { throw Self.noLogs }
        let sorted = Self.sorted(lines)
        let chosen =
            options.isAscending ? sorted.prefix(Int(options.size)) : sorted.reversed().prefix(Int(options.size))
        return ParseResponse(.array(chosen.map { secrets.redacted($0.json) }))
    }

    static let disk = BlockingQueue("logs")

    static let noLogs = ParseError(
        .commandUnavailable, "The processes of this suite keep no logs where the gateway is.")

    /// Sorted by time. Lines of one second keep the order in which their process wrote them.
    static func sorted(_ lines: [LogLine]) -> [LogLine] {
        lines.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    /// The processes with logs, each with the path of its newest one; nil when the folder does not exist. Blocks.
    func logs() -> [(process: String, path: String)]? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return nil }
        return names.sorted().filter { $0.hasSuffix(".log") && $0 != "supervisord.log" }
            .map { (String($0.dropLast(4)), "\(directory)/\($0)") }
    }

    /// The requested lines; nil when the folder does not exist. Blocks.
    private func lines(_ options: Options) -> [LogLine]? {
        logs()?.flatMap { log in
            FileTail.text(of: log.path, bytes: Self.tailBytes).split(separator: "\n").compactMap { LogLine($0) }.filter
            {
                $0.level >= options.level && $0.time >= options.from && $0.time <= options.until
            }
        }
    }
}
