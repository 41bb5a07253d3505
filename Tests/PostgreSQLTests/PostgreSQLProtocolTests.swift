import PostgreSQL
import TestSupport
import Testing

/// Servers that violate the protocol. None of their answers ends the process or causes an endless wait.
@Suite struct PostgreSQLProtocolTests {
    /// Connects, runs one statement that gets this answer, and then another one.
    private func run(_ answer: [UInt8], on server: ScriptedServer, streams: Bool = false) throws -> [PostgreSQLValue] {
        server.answer([ScriptedServer.done, answer])
        let connection = try PostgreSQLConnection(PostgreSQLTarget(server.string, connectSeconds: 30))
        return try connection.limited(to: .seconds(20)) {
            let statement = try connection.statement("SELECT 42 AS a, 'abc' AS b")
            statement.streams = streams
            var values: [PostgreSQLValue] = []
            while try statement.step() { values += (-1..<3).map { statement.value($0) } }
            return values
        }
    }

    @Test(arguments: [true, false])
    func validAnswersAreRead(streams: Bool) throws {
        let values = try run(ScriptedServer.row, on: ScriptedServer(), streams: streams)
        #expect(values == [.null, .int(42), .text("abc"), .null])
    }

    /// Poolers send several errors, and libpq would then return empty results forever
    /// (https://github.com/yandex/odyssey/issues/514).
    @Test(arguments: [1, 2, 3, 10])
    func errorsWithoutEndAreOneFailure(count: Int) throws {
        let errors = (0..<count).flatMap { _ in ScriptedServer.error("57P01") }
        let server = try ScriptedServer()
        #expect(failure { try run(errors, on: server) }?.isConnectionLost == true)
    }

    @Test(
        arguments: [
            [], ScriptedServer.ready, ScriptedServer.ready + ScriptedServer.ready, ScriptedServer.message("1"),
            ScriptedServer.message("2"), ScriptedServer.message("D", [0, 1, 0, 0, 0, 1, 52]),
            ScriptedServer.message("G", [0, 0, 0]), ScriptedServer.message("H", [0, 0, 0]),
            ScriptedServer.message("c"), ScriptedServer.message("V", [0, 0, 0, 0]), [0], [82, 255, 255, 255, 255],
            [UInt8](repeating: 0, count: 100_000), Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
        ] as [[UInt8]])
    func whatIsNoAnswerIsAFailure(answer: [UInt8]) throws {
        let server = try ScriptedServer()
        #expect(failure { try run(answer, on: server) }?.isConnectionLost == true)
    }

    @Test(arguments: 1...300)
    func answersWithSlipsAreAFailureOrAResult(seed: UInt64) throws {
        var generator = Seeded(seed)
        let server = try ScriptedServer()
        let streams = Bool.random(using: &generator)
        let error = failure { try run(slipped(&generator), on: server, streams: streams) }
        #expect(error?.isTimedOut != true)
        #expect(try run(ScriptedServer.row, on: server).count == 4)
    }

    private func slipped(_ generator: inout Seeded) -> [UInt8] {
        var bytes = ScriptedServer.row
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes[place] = .random(in: 0...255, using: &generator)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + 5))
            case 3: bytes.insert(contentsOf: ScriptedServer.error("XX000"), at: place)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}
