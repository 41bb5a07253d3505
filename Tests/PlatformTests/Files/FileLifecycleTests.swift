import ParseProtocol
import Platform
import Testing

/// When the content of an upload is removed.
@Suite struct FileLifecycleTests {
    @Test func contentStaysWhileItsRowMayBeStored() {
        let gone = ParseError(.serviceUnavailable, "The database is no longer available.")
        #expect(!FileLifecycle.isUnused(after: gone, isServed: true))
        #expect(FileLifecycle.isUnused(after: gone, isServed: false))
        #expect(FileLifecycle.isUnused(after: ParseError.internalError, isServed: true))
    }
}
