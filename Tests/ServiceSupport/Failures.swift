import ParseProtocol

/// The Parse error of work that must fail; nil if it succeeds or throws another error.
package func parseError(_ work: () async throws -> Void) async -> ParseError? {
    do {
        try await work()
        return nil
    } catch {
        return error as? ParseError
    }
}

/// The code of the Parse error of work that must fail; nil if it succeeds, -1 for another error.
package func parseCode(_ work: () async throws -> Void) async -> Int? {
    do {
        try await work()
        return nil
    } catch {
        return (error as? ParseError)?.code.rawValue ?? -1
    }
}
