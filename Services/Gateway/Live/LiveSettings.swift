import ProcessKit

/// The limits of live queries.
package struct LiveSettings: Sendable {
    /// Whether live queries are enabled.
    package let isOn: Bool
    /// Nil for every class whose name does not begin with `_`.
    let classes: Set<String>?
    /// WebSocket connections and event streams together.
    let connectionsMax: Int
    let subscriptionsPerConnection: Int
    /// Bytes of one message of a client, over all of its frames.
    let messageBytesMax: Int
    /// Bytes that may wait for a slow client.
    let queueBytesMax: Int
    /// Seconds between two pings; a client that sends nothing during two of them is disconnected.
    let pingSeconds: Int

    /// The protocol's classes that allow subscriptions when the setting names them. Sessions and devices never do.
    private static let ownClasses: Set<String> = ["_User", "_Role"]

    /// - Parameter connections: the gateway's limit of connections.
    /// - Throws: `StartupProblem`.
    init(_ settings: Settings, connections: Int) throws(StartupProblem) {
        isOn = try settings.flag("satchel.live", default: true)
        let names = settings.list("satchel.live.classes")
        for name in names where name.hasPrefix("_") && !Self.ownClasses.contains(name) {
            throw settings.wrong("satchel.live.classes", "has \(name), which no client may listen to.")
        }
        classes = names.isEmpty || names.contains("*") && !names.contains { $0.hasPrefix("_") } ? nil : Set(names)
        connectionsMax = try settings.number(
            "satchel.live.connections.max", 1...1_000_000, default: max(1, connections / 4 * 3))
        subscriptionsPerConnection = try settings.number(
            "satchel.live.subscriptions.per.connection", 1...10_000, default: 100)
        messageBytesMax = try settings.number("satchel.live.message.bytes.max", 1024...1 << 20, default: 64 << 10)
        queueBytesMax = try settings.number("satchel.live.queue.bytes.max", 16 << 10...64 << 20, default: 256 << 10)
        pingSeconds = try settings.number("satchel.live.ping.seconds", 1...3600, default: 30)
    }

    /// Whether clients may subscribe to a class at all.
    func allows(_ className: String) -> Bool {
        guard let classes else { return !className.hasPrefix("_") }
        return classes.contains(className) || classes.contains("*") && !className.hasPrefix("_")
    }
}
