import PostgreSQL
import Testing

/// Notifications between connections.
@Suite struct PostgreSQLNotificationTests {
    @Test func notificationsArriveInOrder() async throws {
        let (listener, teller) = try await Connections.pair()
        #expect(try listener.notifications() == [])
        try listener.execute("LISTEN news")
        try teller.begin()
        for payload in ["a", "ä'\"", ""] { try teller.enqueue("SELECT pg_notify('news', $1)", [.text(payload)]) }
        try teller.enqueue("SELECT pg_notify('others', 'b')")
        try teller.commit()
        var heard: [PostgreSQLNotification] = []
        while heard.count < 3 { heard += try listener.notifications(waiting: .seconds(30)) }
        #expect(heard.map(\.payload) == ["a", "ä'\"", ""])
        #expect(Set(heard.map(\.channel)) == ["news"])
        #expect(Set(heard.map(\.process)) == [teller.serverProcess])
    }

    @Test func whatComesBesideAnAnswerIsHeardToo() async throws {
        let connection = try await Connections.shared()
        try connection.execute("LISTEN beside")
        try connection.execute("NOTIFY beside, 'me'")
        #expect(try connection.notifications().map(\.payload) == ["me"])
        #expect(try connection.notifications() == [])
    }
}
