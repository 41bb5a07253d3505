import ParseProtocol

/// One line of a process's log, as swift-log writes it: time, level, process, metadata, module, message; or an object,
/// where `SATCHEL_LOG_FORMAT` is `json`.
struct LogLine: Equatable, Sendable {
    let time: Timestamp
    let level: Level
    let process: String
    let message: String
    let metadata: [String: String]

    enum Level: String, CaseIterable, Sendable, Comparable {
        case verbose, info, warn, error

        static func < (a: Level, b: Level) -> Bool {
            (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
        }

        /// A level's name in a request, case-insensitive: the protocol's name, or the name of the `console` function.
        init?(asked name: String) {
            switch name.lowercased() {
            case "debug", "trace": self = .verbose
            case "log": self = .info
            case "warning": self = .warn
            case let name:
                guard let level = Self(rawValue: name) else { return nil }
                self = level
            }
        }

        /// swift-log's name of a level.
        init?(logged: Substring) {
            switch logged {
            case "trace", "debug": self = .verbose
            case "info", "notice": self = .info
            case "warning": self = .warn
            case "error", "critical": self = .error
            default: return nil
            }
        }
    }

    init(time: Timestamp, level: Level, process: String, message: String, metadata: [String: String]) {
        self.time = time
        self.level = level
        self.process = process
        self.message = message
        self.metadata = metadata
    }

    /// Nil for a line of another form, such as the rest of a multi-line message.
    init?(_ line: Substring) {
        if line.first == "{" {
            self.init(json: line)
        } else {
            self.init(text: line)
        }
    }

    private init?(json line: Substring) {
        guard let object = try? JSON(parsing: Array(line.utf8)),
            let level = object["level"]?.stringValue.flatMap({ Level(logged: $0[...]) }),
            let time = object["time"]?.stringValue.flatMap({ Timestamp(iso: $0) }),
            let process = object["process"]?.stringValue, let message = object["message"]?.stringValue
        else { return nil }
        let metadata = object["metadata"]?.objectValue ?? [:]
        self.init(
            time: time, level: level, process: process, message: message,
            metadata: metadata.compactMapValues(\.stringValue))
    }

    private init?(text line: Substring) {
        let parts = line.split(separator: " ", maxSplits: 3)
        guard parts.count == 4, let time = Self.time(parts[0]), let level = Level(logged: parts[1]),
            parts[2].hasSuffix(":")
        else { return nil }
        self.time = time
        self.level = level
        process = String(parts[2].dropLast())
        let rest = parts[3]
        let module = rest.ranges(of: #/(?:^|\ )\[[A-Za-z0-9_]+\]\ /#).first
        guard let module else {
            message = String(rest)
            metadata = [:]
            return
        }
        message = String(rest[module.upperBound...])
        var pairs: [String: String] = [:]
        // Values may have spaces; each ends where the next name begins.
        let text = rest[..<module.lowerBound]
        let names = text.matches(of: #/(?:^|\ )([A-Za-z][A-Za-z0-9_.]*)=/#)
        for (index, name) in names.enumerated() {
            let end = index + 1 < names.count ? names[index + 1].range.lowerBound : text.endIndex
            pairs[String(name.output.1)] = String(text[name.range.upperBound..<end])
        }
        metadata = pairs
    }

    /// `2026-11-21T15:18:58+0000`; other zones are rejected, because services log in the host's zone, which is UTC in
    /// containers.
    private static func time(_ text: Substring) -> Timestamp? {
        guard text.utf8.count == 24, let base = Timestamp(iso: String(text.prefix(19)) + ".000Z") else { return nil }
        let zone = text.suffix(5)
        guard let hours = Int64(zone.dropFirst().prefix(2)), let minutes = Int64(zone.suffix(2)),
            zone.first == "+" || zone.first == "-"
        else { return nil }
        let offset = (hours * 60 + minutes) * 60_000 * (zone.first == "-" ? -1 : 1)
        return Timestamp(milliseconds: base.milliseconds - offset)
    }

    /// The form in `/scriptlog` (PARSE_PROTOCOL section 12).
    var json: JSON {
        var members: [String: JSON] = [
            "timestamp": .string(time.iso), "level": .string(level.rawValue), "message": .string(message),
            "process": .string(process),
        ]
        members["method"] = metadata["http.method"].map(JSON.string)
        members["url"] = metadata["http.path"].map(JSON.string)
        let others = metadata.filter { $0.key != "http.method" && $0.key != "http.path" }
        if !others.isEmpty { members["metadata"] = .object(others.mapValues(JSON.string)) }
        return .object(members)
    }
}
