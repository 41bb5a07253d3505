import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit
import Testing

/// A service's errors as clients receive them.
@Suite struct FailureTests {
    @Test(arguments: [
        (10, "The disk fails."), (266, "The disk fails."), (14, "The disk fails."), (13, "The disk is full."),
        (8, "The disk or the file is read-only."), (11, "The database is damaged."),
    ])
    func aDiskThatCannotBeReadIsNoFaultOfOurs(code: Int32, text: String) throws {
        let failure = try #require(BusFailure(StoreError(resultCode: code, message: "x"), of: "catalog.get.v1"))
        #expect(failure.failure.code == 2)
        #expect(failure.failure.message.hasSuffix(text))
        #expect(failure.failure.retriable)
    }

    @Test func whatSaysNothingToClientsIsNotTold() {
        #expect(BusFailure(StoreError(resultCode: 1, message: "no such table"), of: "catalog.get.v1") == nil)
        #expect(BusFailure(CancellationError(), of: "catalog.get.v1") == nil)
    }
}
