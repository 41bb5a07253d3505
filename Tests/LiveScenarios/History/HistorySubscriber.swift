import ParseProtocol
import TestSupport

/// A kind of query: the condition as sent, the condition for the checker, and a matching object.
struct HistoryQuery: Sendable {
    let condition: JSON
    let example: [String: JSON]
    let fits: @Sendable ([String: JSON]) -> Bool

    static let all = HistoryQuery(condition: [:], example: [:]) { _ in true }
    static let kind = HistoryQuery(condition: ["kind": 1], example: ["kind": 1]) { $0["kind"] == 1 }
    static let score = HistoryQuery(condition: ["score": ["$gte": 50]], example: ["score": 50]) {
        $0["score"]?.intValue ?? 0 >= 50
    }
    static let tag = HistoryQuery(condition: ["tags": "a"], example: ["tags": ["a"]]) {
        $0["tags"]?.arrayValue?.contains("a") == true
    }
    static let either = HistoryQuery(
        condition: ["$or": [["kind": 0], ["score": ["$lt": 20]]]], example: ["kind": 0]
    ) {
        $0["kind"] == 0 || $0["score"]?.intValue ?? 100 < 20
    }
    static let other = HistoryQuery(condition: ["kind": ["$ne": 2]], example: ["kind": 1]) { $0["kind"] != 2 }
    static let each = [all, kind, score, tag, either, other]
}

/// A subscriber that reconnects whenever its connection ends, and records all events until all activity has ended.
struct HistorySubscriber: Sendable {
    enum Account: Sendable {
        case master, guest
        case user(Int)
    }

    /// The version of objects created after all writes. Their events show that all earlier events were delivered.
    static let lastVersion: JSON = -1
    /// Number of writes during which a slow subscriber reads nothing; then it reads everything.
    private static let slowWrites = 150
    /// Receive buffer of a slow subscriber's socket; the kernel increases it.
    private static let slowBytes: Int32 = 4096

    let name: String
    let account: Account
    var query = HistoryQuery.all
    var keys: [String] = ["version"]
    var watch: [String] = []
    var isStream = false
    var isSlow = false
    /// Whether it disconnects after some events and reconnects.
    var leaves = false

    /// The parts of the scenario that a subscriber uses.
    struct Place: Sendable {
        let suite: Suite
        let className: String
        let recorder: HistoryRecorder
        let users: [Customer]
    }

    /// The subscriber's position in the history.
    private struct Position {
        var number: Int?
        var cursor: String?
        /// Whether the subscription on the current connection has begun.
        var hasBegun = false
        var isOver = false
    }

    func run(_ place: Place) async throws {
        var position = Position()
        var failures = 0
        while !position.isOver {
            do {
                let begin = place.recorder.now
                let line = try await open(place, position.cursor)
                try await listen(line, place, begin, &position)
                failures = 0
            } catch {
                // A writer or the gateway is starting.
                failures += 1
                guard failures < 100 else { throw error }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        place.recorder.done()
    }

    private func open(_ place: Place, _ cursor: String?) async throws -> any HistoryLine {
        let client = client(place)
        let receiveBytes = isSlow ? Self.slowBytes : nil
        guard isStream else {
            let live = try await LiveConnection.connect(
                place.suite,
                ["masterKey": client.masterKey, "sessionToken": client.sessionToken].compactMapValues {
                    $0.map(JSON.string)
                }, receiveBytes: receiveBytes)
            let names = ["keys": keys, "watch": watch].filter { !$0.value.isEmpty }
            let query: [String: JSON] = ["className": .string(place.className), "where": query.condition]
            var message: JSON = [
                "op": "subscribe", "requestId": 1,
                "query": .object(query.merging(names.mapValues { .array($0.map(JSON.string)) }) { $1 }),
            ]
            message["cursor"] = cursor.map(JSON.string)
            try await live.send(message)
            return live
        }
        var options: [String: JSON] = ["where": query.condition]
        for (name, fields) in ["keys": keys, "watch": watch] where !fields.isEmpty {
            options[name] = .string(fields.joined(separator: ","))
        }
        return try HistoryStream(
            place.suite, place.className, options, headers: client.credentials, cursor: cursor,
            receiveBytes: receiveBytes)
    }

    private func client(_ place: Place) -> ParseClient {
        switch account {
        case .master: .master(place.suite)
        case .guest: ParseClient(place.suite)
        case .user(let number): place.users[number].client
        }
    }

    /// Records the messages until the connection ends.
    private func listen(
        _ line: any HistoryLine, _ place: Place, _ begin: LiveHistory.Moment, _ position: inout Position
    ) async throws {
        var (count, isReading) = (0, true)
        position.hasBegun = false
        while true {
            var messages: [HistoryMessage] = []
            try await eventually("\(name) is told something", within: .seconds(180)) {
                let isSleeping =
                    isSlow && !place.recorder.isWritten && place.recorder.writeCount / Self.slowWrites % 2 == 1
                if isReading == isSleeping {
                    isReading = !isSleeping
                    try await line.setReading(isReading)
                }
                messages = line.take()
                return !messages.isEmpty || line.isOver
            }
            if messages.isEmpty { return }
            for message in messages {
                guard note(message, place, begin, &position) else { return }
                count += 1
            }
            if leaves, count > 30, !place.recorder.isWritten { return }
        }
    }

    /// - Returns: whether the subscription continues.
    private func note(
        _ message: HistoryMessage, _ place: Place, _ begin: LiveHistory.Moment, _ position: inout Position
    ) -> Bool {
        let recorder = place.recorder
        switch message {
        case .subscribed(let cursor, let missed):
            if let number = position.number, position.cursor != nil, !missed {
                recorder.resumed(number, from: begin)
            } else {
                position.number = recorder.began(listening(place, recorder.span(from: begin)), user: user)
            }
            (position.cursor, position.hasBegun) = (cursor, true)
        case .event(let event, let cursor):
            guard let number = position.number else { return false }
            guard event.object["version"] != Self.lastVersion else {
                recorder.ended(number, .quiet)
                position.isOver = true
                return false
            }
            recorder.told(number, event)
            position.cursor = cursor
        case .ended(let code, let reconnects):
            if code == 209 { position.isOver = true }
            // A subscription that is refused while a writer starts is retried.
            guard position.hasBegun && !reconnects || position.isOver else { return false }
            if let number = position.number { recorder.ended(number, .refused(code)) }
            position = Position(isOver: position.isOver)
            return false
        }
        return true
    }

    private var user: Int? { if case .user(let number) = account { number } else { nil } }

    private func listening(_ place: Place, _ span: LiveHistory.Span) -> LiveHistory.Listening {
        let reader: LiveHistory.Reader =
            switch account {
            case .master: .init(isMaster: true)
            case .guest: .init()
            case .user(let number): .init(userId: place.users[number].userId)
            }
        let query = LiveHistory.Query(keys: keys, watch: watch, query.fits)
        return LiveHistory.Listening(name, reader, query, began: span)
    }
}
