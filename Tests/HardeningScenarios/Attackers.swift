import TestSupport
import Testing

extension ParseClient {
    /// Three clients: without a session, tunnelled, and signed in.
    static func attackers(_ suite: Suite) async throws -> [ParseClient] {
        [ParseClient(suite), ParseClient(suite, style: .tunnelled), try await Customer.signUp(suite).client]
    }
}

private let internalWords = [
    "SQL", "sqlite", "SELECT", "PCRE", "Swift", "GRDB", "offset", "/work", "/tmp", "json_extract", "no such",
]

/// Fails when an answer reveals the server's internals.
func expectNoInternalText(_ answer: ParseClient.Answer) {
    for word in internalWords { #expect(!answer.text.contains(word), "\(answer.text)") }
}
