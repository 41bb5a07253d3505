import ParseProtocol
import Platform
import Testing

/// When the content of an upload is removed.
@Suite struct FileLifecycleTests {
    @Test func contentStaysWhileItsRowMayBeStored() {
        #expect(!FileLifecycle.isUnused(after: ParseError(.serviceUnavailable, "The database is no longer available.")))
        #expect(FileLifecycle.isUnused(after: ParseError.internalError))
    }
}
