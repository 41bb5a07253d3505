import ParseProtocol

/// The Parse error of work that must fail; nil when it succeeds or fails otherwise.
package func parseError(_ work: () async throws -> Void) async -> ParseError? {
    do {
        try await work()
        return nil
    } catch {
        return error as? ParseError
    }
}

/// The code of the Parse error of work that must fail; nil when it succeeds, -1 when it fails otherwise.
package func parseCode(_ work: () async throws -> Void) async -> Int? {
    do {
        try await work()
        return nil
    } catch {
        return (error as? ParseError)?.code.rawValue ?? -1
    }
}
