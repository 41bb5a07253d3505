import Foundation
import ParseProtocol
import Synchronization
import TestSupport

/// A message to a subscriber, over either transport.
enum HistoryMessage {
    case subscribed(cursor: String, missed: Bool)
    case event(LiveHistory.Event, cursor: String)
    case ended(code: Int64, reconnects: Bool)

    /// - Parameter kind: `op` of a WebSocket message, `event` of a stream; nil for messages without meaning here.
    init?(_ kind: String, _ content: JSON, cursor: String?) {
        switch kind {
        case "subscribed": self = .subscribed(cursor: cursor ?? "", missed: content["missed"] == true)
        case "create", "enter", "update", "leave", "delete":
            let event = LiveHistory.Event(kind, content["object"] ?? .null, original: content["original"])
            self = .event(event, cursor: cursor ?? "")
        case "error":
            self = .ended(code: content["code"]?.intValue ?? -1, reconnects: content["reconnect"] == true)
        // No client unsubscribes in these tests, so the message means a logout.
        case "unsubscribed": self = .ended(code: 209, reconnects: false)
        default: return nil
        }
    }
}

/// A connection with one subscription.
protocol HistoryLine: Sendable {
    /// The messages received since the last call.
    func take() -> [HistoryMessage]
    /// Whether the connection has ended.
    var isOver: Bool { get }
    /// Starts or stops reading from the socket.
    func setReading(_ isReading: Bool) async throws
}

extension LiveConnection: HistoryLine {
    func take() -> [HistoryMessage] {
        takeAll().compactMap { HistoryMessage($0.text("op"), $0, cursor: $0["cursor"]?.stringValue) }
    }

    var isOver: Bool { isClosed && waiting.isEmpty }
}

/// A stream of Server-Sent Events. Its texts are ASCII, so each read is valid text.
final class HistoryStream: HistoryLine {
    private struct State {
        /// Received data that is not yet a complete chunk.
        var raw = ""
        /// Nil until the response head has arrived.
        var status: String?
        var text = ""
        var isOver = false
        var isReading = true
    }

    private let connection: RawConnection
    private let state = Mutex(State())

    /// - Parameter query: query options.
    init(
        _ suite: Suite, _ className: String, _ query: [String: JSON], headers: [(String, String)], cursor: String?,
        receiveBytes: Int32?
    ) throws {
        connection = try RawConnection(suite, receiveBytes: receiveBytes)
        let lines = [
            "GET /parse/live/\(className)?\(ParseClient.queryText(query)) HTTP/1.1", "Host: x", "Connection: close",
            "Accept: text/event-stream",
        ]
        let more = headers + (cursor.map { [("Last-Event-ID", $0)] } ?? [])
        connection.send(head: (lines + more.map { "\($0): \($1)" }).joined(separator: "\n"))
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    func setReading(_ isReading: Bool) async throws { state.withLock { $0.isReading = isReading } }

    func take() -> [HistoryMessage] {
        state.withLock { state in
            while state.isReading, !state.isOver, let text = connection.read(within: 0, max: 1 << 18) {
                if text.isEmpty { state.isOver = true }
                state.raw += text
            }
            Self.readHead(&state)
            guard let status = state.status else { return [] }
            guard status.contains(" 200 ") else {
                guard state.isOver else { return [] }
                let body = (try? JSON(parsing: state.raw)) ?? .null
                return [HistoryMessage("error", body, cursor: nil)].compactMap(\.self)
            }
            Self.readChunks(&state)
            return Self.readEvents(&state)
        }
    }

    private static func readHead(_ state: inout State) {
        guard state.status == nil, let end = state.raw.range(of: "\r\n\r\n") else { return }
        state.status = String(state.raw.prefix { $0 != "\r\n" })
        state.raw.removeSubrange(..<end.upperBound)
    }

    /// RFC 9112, section 7.1.
    private static func readChunks(_ state: inout State) {
        var rest = state.raw[...].utf8
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let count = Int(String(rest[..<end]) ?? "", radix: 16),
            let start = rest.index(end, offsetBy: 2, limitedBy: rest.endIndex),
            let stop = rest.index(start, offsetBy: count, limitedBy: rest.endIndex),
            let next = rest.index(stop, offsetBy: 2, limitedBy: rest.endIndex)
        {
            state.text += String(rest[start..<stop]) ?? ""
            if count == 0 { state.isOver = true }
            rest = rest[next...]
        }
        state.raw = String(rest) ?? ""
    }

    private static func readEvents(_ state: inout State) -> [HistoryMessage] {
        var blocks = state.text.components(separatedBy: "\n\n")
        state.text = blocks.removeLast()
        return blocks.compactMap { block in
            var members: [String: String] = [:]
            for line in block.split(separator: "\n") {
                guard let colon = line.range(of: ": ") else { continue }
                members[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
            }
            guard let kind = members["event"], let data = try? JSON(parsing: members["data"] ?? "") else { return nil }
            return HistoryMessage(kind, data, cursor: members["id"])
        }
    }
}
