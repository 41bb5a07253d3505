import Foundation
import ParseProtocol

/// An authenticator app with one secret. Python's library computes the codes, independently of the server.
package actor Authenticator {
    /// In the form that the QR code contains.
    package nonisolated let secret: String
    private var lastStep: Int64 = 0

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    package init() { secret = String((0..<32).map { _ in Self.alphabet[Int.random(in: 0..<32)] }) }

    /// Returns an unused code of the earliest time step that the server still accepts. Waits for the next step if there
    /// is none.
    package func next() async throws -> String {
        // Late in a step, the previous step's code may expire before the request arrives.
        let seconds = Timestamp.now.milliseconds / 1000
        let step = max(lastStep + 1, seconds / 30 - (seconds % 30 < 15 ? 1 : 0))
        // The server accepts a step's code from one step earlier.
        try await eventually("there is another code", within: .seconds(60)) {
            Timestamp.now.milliseconds / 30_000 + 1 >= step
        }
        lastStep = step
        return try await code(of: step)
    }

    /// An expired code.
    package func stale() async throws -> String { try await code(of: Timestamp.now.milliseconds / 30_000 - 1000) }

    private func code(of step: Int64) async throws -> String {
        let program = """
            import base64, hashlib, hmac, struct, sys
            digest = hmac.new(base64.b32decode(sys.argv[1]), struct.pack(">Q", int(sys.argv[2])), hashlib.sha1).digest()
            start = digest[-1] & 15
            print(f"{(struct.unpack('>I', digest[start:start + 4])[0] & 0x7fffffff) % 1000000:06d}")
            """
        return try await Command.run(["python3", "-c", program, secret, "\(step)"])
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
