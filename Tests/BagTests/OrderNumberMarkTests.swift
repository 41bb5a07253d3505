import BagService
import Foundation
import Glibc
import Testing

/// The file with the highest assigned order number.
@Suite struct OrderNumberMarkTests {
    @Test func aFileThatCannotBeReadIsNoFileWithoutANumber() throws {
        // A pipe can be opened, but not read at an offset.
        let path = NSTemporaryDirectory() + "mark-\(UUID().uuidString)"
        try #require(mkfifo(path, 0o600) == 0)
        defer { _ = unlink(path) }
        #expect(throws: OrderNumberMark.Unusable.self) { _ = try OrderNumberMark(path: path).open() }
    }
}
