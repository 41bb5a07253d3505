import Glibc
import Logging
import ParseProtocol

/// Log lines about cloud code.
package struct CodeLog {
    let logger: Logger

    /// Logs a call that failed. An error with a custom code is logged at level info: it is part of the code's logic.
    func outcome(_ outcome: RunOutcome, of run: CodeRun) {
        switch outcome {
        case .result: return
        case .failed(let failure):
            let isFault = failure.code == ParseError.Code.scriptFailed.rawValue
            logger.log(
                level: isFault ? .warning : .info, "Cloud code failed.",
                metadata: metadata(run).merging([
                    "code.error": "\(failure.code)", "code.message": "\(Self.oneLine(failure.message))",
                    "code.stack": "\(Self.oneLine(failure.stack))",
                ]) { _, new in new })
        case .ended(let text), .notRun(let text):
            logger.warning(
                "Cloud code did not answer.",
                metadata: metadata(run).merging(["code.problem": "\(text)"]) { _, new in new })
        }
    }

    /// Logs a line that the code wrote.
    func line(_ text: String, level: String, of run: CodeRun?) {
        let levels: [String: Logger.Level] = ["error": .error, "warn": .warning, "debug": .debug]
        var metadata = run.map(metadata) ?? [:]
        metadata["code.text"] = "\(Self.oneLine(text))"
        logger.log(level: levels[level] ?? .info, "Cloud code log line.", metadata: metadata)
    }

    /// Logs a line of a process's standard output or error, such as Node's own warnings.
    func output(_ text: String) {
        logger.info("Output of a cloud code process.", metadata: ["code.text": "\(Self.oneLine(text))"])
    }

    /// Logs how many lines of a process were dropped.
    func dropped(_ dropped: LogRateLimit.Dropped, pid: pid_t) {
        logger.warning(
            "Cloud code exceeded its log rate limit; lines were dropped.",
            metadata: [
                "process": "\(pid)", "code.lines": "\(dropped.lines)", "code.bytes": "\(dropped.bytes)",
            ])
    }

    func cannotStart(_ problem: String) {
        logger.error("Cloud code cannot be started.", metadata: ["error": "\(problem)"])
    }

    func cannotLoad(_ failure: CodeFailure) {
        logger.error(
            "Cloud code cannot be loaded.",
            metadata: [
                "code.message": "\(Self.oneLine(failure.message))", "code.stack": "\(Self.oneLine(failure.stack))",
            ])
    }

    func processEnded(pid: pid_t, how: String) {
        logger.warning("A process of cloud code ended.", metadata: ["process": "\(pid)", "process.end": "\(how)"])
    }

    func malformed(pid: pid_t) {
        logger.error("A cloud code process sent an invalid message.", metadata: ["process": "\(pid)"])
    }

    private func metadata(_ run: CodeRun) -> Logger.Metadata {
        ["code.call": "\(run.name)", "request.id": "\(run.traceId)"]
    }

    /// Limit of Unicode scalars, because one character may consist of any number of them.
    private static let textMax = 8 << 10

    /// Keeps the text on one line, so that code cannot forge the log lines of other components.
    package static func oneLine(_ text: String) -> String {
        String(text.unicodeScalars.prefix(textMax))
            .split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)
            .joined(separator: "\\n")
    }
}

/// Splits a stream into lines as bytes arrive.
struct LineReader {
    /// Longer lines are truncated.
    private static let bytesMax = 8 << 10
    private var line: [UInt8] = []

    /// The lines that end in these bytes.
    mutating func lines(in bytes: some Sequence<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                lines.append(String(decoding: line, as: UTF8.self))
                line.removeAll(keepingCapacity: true)
            } else if line.count < Self.bytesMax {
                line.append(byte)
            }
        }
        return lines
    }

    /// The text after the last line; nil when empty.
    var rest: String? { line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
}
