import ParseProtocol
import TestSupport
import Testing

/// One client calls slow cloud code many times at once. Id T2w of docs/internals/hardening.md.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CloudShareTests {
    private static let code = """
        Parse.Cloud.define('hello', () => 'Hello');
        Parse.Cloud.define('slow', () => new Promise(done => setTimeout(() => done('late'), 8000)));
        """

    private static func call(_ function: String, over connection: RawConnection) {
        let head = "POST /parse/functions/\(function) HTTP/1.1\nHost: x\nX-Parse-Application-Id: satchel"
        connection.send(head: head + "\nContent-Length: 0")
    }

    @Test func callsOfOneNetworkLeavePlacesToOthers() async throws {
        let suite = try await CloudSuite.start(Self.code)
        let attackers = try (0..<300).map { try RawConnection(suite, from: "127.5.0.\($0 % 2 + 1)") }
        for attacker in attackers { Self.call("slow", over: attacker) }
        let honest = try RawConnection(suite, from: "127.9.0.1")
        for _ in 0..<5 {
            Self.call("hello", over: honest)
            let answer = honest.read(within: 3000) ?? "nothing within 3 s"
            #expect(answer.contains("Hello"), "\(answer)")
        }
        withExtendedLifetime(attackers) {}
        await suite.stop()
    }
}
