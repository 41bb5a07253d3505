import ObjectStore
import ParseProtocol
import ServiceKit
import Testing

/// How much of the log slow queries take.
@Suite struct SlowQueryTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func aShapeIsLoggedOnceInTenSeconds() {
        var lines = SlowQueryLines()
        let start = 1000 * Self.second
        #expect(lines.admit("a", from: "", at: start) == 0)
        #expect(lines.admit("b", from: "", at: start) == 0)
        for _ in 0..<5 { #expect(lines.admit("a", from: "", at: start + 9 * Self.second) == nil) }
        #expect(lines.admit("a", from: "", at: start + 10 * Self.second) == 5)
        #expect(lines.admit("b", from: "", at: start + 10 * Self.second) == 0)
    }

    @Test func ofManyShapesFewAreLogged() {
        var lines = SlowQueryLines()
        let start = 1000 * Self.second
        let logged = (0..<1000).count { lines.admit("\($0)", from: "", at: start) != nil }
        #expect(logged == 10)
        #expect(lines.admit("0", from: "", at: start + 10 * Self.second) == 990)
    }

    @Test func aNetworkLeavesPlacesToOthers() {
        var lines = SlowQueryLines()
        let start = 1000 * Self.second
        let logged = (0..<1000).count { lines.admit("\($0)", from: "cb007105", at: start) != nil }
        #expect(logged == 5)
        #expect(lines.admit("shop", from: "", at: start) == 995)
        #expect(lines.admit("other", from: "cb007106", at: start) == 0)
        #expect(lines.admit("a", from: "cb007105", at: start + 10 * Self.second) == 0)
    }

    @Test func aShapeHasALimitedLength() throws {
        let names = (0..<1000).map { String(repeating: "f", count: 120) + "\($0)" }
        let parts = names.map { JSON.object([$0: 1]) }
        let query = Query(className: "Item", where: JSON.object(["$or": .array(parts)]).serialized)
        let text = query.outline.serializedText
        #expect(text.utf8.count > 100_000)
        let shape = SlowQueryLines.text(text)
        #expect(shape.utf8.count < 2100)
        #expect(text.hasPrefix(shape.dropLast()))
        #expect(SlowQueryLines.text("{}") == "{}")
    }
}
