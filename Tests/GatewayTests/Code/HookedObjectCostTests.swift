import GatewayService
import Glibc
import ParseProtocol
import TestSupport
import Testing

/// The gateway's cost of preparing a change for code is linear in the size of the change and of the object.
@Suite(.serialized) struct HookedObjectCostTests {
    /// A change of an object whose `list` has `size` elements.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let changes: @Sendable (Int) -> JSON
    }

    private static func numbers(_ range: Range<Int>) -> JSON { .array(range.map { .int(Int64($0)) }) }

    static let changes: [Change] = [
        Change(testDescription: "AddUnique") { size in
            ["list": ["__op": "AddUnique", "objects": numbers(size..<2 * size)]]
        },
        Change(testDescription: "Remove") { size in
            ["list": ["__op": "Remove", "objects": numbers(size..<2 * size)]]
        },
        Change(testDescription: "Add") { ["list": ["__op": "Add", "objects": numbers(0..<$0)]] },
        Change(testDescription: "elements of one list") { size in
            .object(Dictionary((0..<size).map { ("list.\($0)", JSON.int(1)) }) { first, _ in first })
        },
        Change(testDescription: "members of one value") { size in
            .object(Dictionary((0..<size).map { ("box.m\($0)", JSON.int(1)) }) { first, _ in first })
        },
    ]

    private static var threadTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test(arguments: changes) func timeGrowsNoFasterThanTheChange(_ change: Change) {
        func time(_ size: Int) -> Double {
            let original: JSON = ["list": Self.numbers(0..<size), "box": [:]]
            let changes = change.changes(size)
            return (0..<7).reduce(Double.infinity) { least, _ in
                let start = Self.threadTime
                let merged = HookedObject.merged(changes, into: original, of: "Note")
                #expect(HookedObject.withOperators(of: changes, merged)["className"] == "Note")
                return min(least, Self.threadTime - start)
            }
        }
        var growth = TimeGrowth()
        while let multiple = growth.next { growth.add(time(2500 * multiple)) }
        #expect(growth.isLinear, "\(growth)")
    }

    @Test func operatorsGiveWhatTheStoreMakesOfThem() {
        let date: JSON = ["__type": "Date", "iso": "2020-01-01T00:00:00.000Z"]
        let original: JSON = [
            "list": [1, 2, 2, 3], "box": ["a": ["x": 1]], "items": [["q": 1]], "at": date, "number": 1,
        ]
        let merged = HookedObject.merged(
            [
                "list": ["__op": "Remove", "objects": [2]], "other": ["__op": "AddUnique", "objects": [1, 1]],
                "box.a.y": 2, "box.b": ["__op": "Increment", "amount": 1], "box.a.x": ["__op": "Delete"],
                "items.0.q": ["__op": "Increment", "amount": 5], "items.2": 3, "items.9": ["__op": "Delete"],
                "items.x": 1, "items.00": 1, "items.5000": 1, "at.iso": 1, "number.a": 1, "none.a": ["__op": "Delete"],
            ], into: original, of: "Note")
        #expect(merged["list"] == [1, 3])
        #expect(merged["other"] == [1])
        #expect(merged["box"] == ["a": ["y": 2], "b": 1])
        #expect(merged["items"] == [["q": 6], .null, 3])
        #expect(merged["at"] == date && merged["number"] == 1 && merged["none"] == nil)
    }
}
