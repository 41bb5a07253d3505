import ParseProtocol

/// The parts of a Sentry event that lists and grouping use. Any client with the app can send events, so every member
/// may be missing or of another type (https://develop.sentry.dev/sdk/data-model/event-payloads/).
package struct CrashEvent: Sendable {
    /// An exception. In a list, the cause comes first.
    package struct Thrown: Sendable {
        let type: String
        let message: String
        let frames: [StackFrame]
    }

    package let thrown: [Thrown]
    /// The frames of the crashed thread or of the event itself, used when no exception has frames.
    private let otherFrames: [StackFrame]
    /// The text of a message event, with its placeholders if it has any.
    private let pattern: String
    private let message: String
    package let level: String
    /// Whether the app crashed; SDKs mark this with the level `fatal`.
    package var isFatal: Bool { level == "fatal" }
    package let release: String
    package let platform: String
    package let clientFingerprint: [String]
    private let transaction: String

    /// Maximum exceptions of a chain and frames of a stack. Deeper ones are recursion.
    private static let exceptionsMax = 20
    private static let framesMax = 250
    private static let fingerprintMax = 20

    package init(_ event: JSON) {
        let values = event["exception"]?["values"]?.arrayValue ?? event["exception"]?.arrayValue ?? []
        thrown = values.suffix(Self.exceptionsMax).map { value in
            Thrown(
                type: Self.short(value["type"]), message: Self.short(value["value"]),
                frames: Self.frames(value["stacktrace"]))
        }
        let threads = event["threads"]?["values"]?.arrayValue ?? []
        let crashed =
            threads.prefix(200).first { $0["crashed"] == true } ?? threads.prefix(200).first { $0["current"] == true }
        let own = Self.frames(event["stacktrace"])
        otherFrames = own.isEmpty ? Self.frames(crashed?["stacktrace"]) : own
        let entry = event["logentry"] ?? event["message"]
        message = Self.short(entry?["formatted"] ?? entry?["message"] ?? entry)
        pattern = Self.short(entry?["message"] ?? entry?["formatted"] ?? entry)
        level = event["level"]?.stringValue.flatMap { Self.levels.contains($0) ? $0 : nil } ?? "error"
        release = Self.short(event["release"])
        platform = Self.short(event["platform"])
        transaction = Self.short(event["transaction"])
        clientFingerprint = (event["fingerprint"]?.arrayValue ?? []).prefix(Self.fingerprintMax).compactMap {
            $0.stringValue ?? $0.intValue.map(String.init)
        }.map { String($0.prefix(200)) }
    }

    private static let levels: Set<String> = ["fatal", "error", "warning", "info", "debug"]

    private static func frames(_ trace: JSON?) -> [StackFrame] {
        // The last frame is the innermost call.
        (trace?["frames"]?.arrayValue ?? []).suffix(framesMax).compactMap(StackFrame.init)
    }

    /// A text for a list, truncated.
    static func short(_ value: JSON?) -> String { String((value?.stringValue ?? "").prefix(500)) }

    /// The frames that locate the error, innermost last: the app's own if any are marked as such, otherwise all.
    package var frames: [StackFrame] {
        let all = thrown.last { !$0.frames.isEmpty }?.frames ?? otherFrames
        let own = all.filter(\.isInApp)
        return own.isEmpty ? all : own
    }

    /// `OutOfBag` in `OutOfBag: index 7`; empty for messages.
    package var type: String { thrown.last?.type ?? "" }
    package var text: String { thrown.last?.message ?? message }

    package var title: String {
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let parts = [type, String(line.prefix(200))].filter { !$0.isEmpty }
        return parts.isEmpty ? "(no message)" : parts.joined(separator: ": ")
    }

    /// The location of the error.
    package var culprit: String { frames.last?.text ?? transaction }

    /// The message without its variables.
    var messagePattern: String {
        MessagePattern.ofMessage(thrown.isEmpty ? pattern : text)
    }
}
