import ParseProtocol
import SuiteClient

/// An honest live query client. It repeatedly writes an object and waits for the event.
struct Listener: Sendable {
    static let pause = Duration.milliseconds(500)
    static let className = "Notice"

    private static let patience = Duration.seconds(30)

    private var device: Device
    private var link: LiveLink?

    init(_ device: Device) { self.device = device }

    static func prepare(_ master: Master) async throws {
        let fields: JSON = ["number": ["type": "Number"], "isHonest": ["type": "Boolean"]]
        try await master.send(.post("/schemas/\(className)", ["className": .string(className), "fields": fields]))
    }

    mutating func listen(until end: ContinuousClock.Instant, into record: ShopperRecord) async {
        while ContinuousClock.now < end {
            let start = ContinuousClock.now
            do {
                let link = try await connected()
                let notice = Request.post("/classes/\(Self.className)", ["isHonest": true])
                if await device.ask(notice, until: end, into: record) != nil {
                    try await link.next(within: Self.patience) { $0["op"] == "create" }
                    record.answered(.event, after: ContinuousClock.now - start)
                }
            } catch {
                link?.close()
                link = nil
                record.failed(.event, after: ContinuousClock.now - start, "event: \(error)")
            }
            try? await Task.sleep(until: min(end, .now + Self.pause), clock: .continuous)
        }
    }

    private mutating func connected() async throws -> LiveLink {
        if let link, link.isOpen { return link }
        let new = try await LiveLink.open(device.target, from: device.address, on: device.group, messagesKept: 1000)
        link = new
        try await new.connect()
        try await new.send([
            "op": "subscribe", "requestId": 1,
            "query": ["className": .string(Self.className), "where": ["isHonest": true]],
        ])
        try await new.next(within: Self.patience) { $0["op"] == "subscribed" }
        return new
    }
}
