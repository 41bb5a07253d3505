import Foundation
import Messages
import Testing

/// The direct encoding of a write of one object gives the bytes of SwiftProtobuf.
@Suite struct SingleWriteTests {
    /// Lengths on both sides of those whose number takes another byte.
    static let texts = [
        "", "x", "Größe", String(repeating: "a", count: 127), String(repeating: "é", count: 9000),
    ]

    @Test(arguments: Change.Verb.allCases, [true, false])
    func requests(verb: Change.Verb, atomic: Bool) throws {
        for className in Self.texts {
            for id in Self.texts {
                let change = Change.with {
                    $0.verb = verb
                    $0.className = className
                    $0.objectID = id
                    $0.proposedID = String(id.reversed())
                }
                try check([change], atomic: atomic)
                try check([change, change], atomic: atomic)
                var more = change
                more.shown = ["name"]
                try check([more], atomic: atomic)
                more = change
                more.imports = true
                try check([more], atomic: atomic)
            }
        }
        try check([], atomic: atomic)
    }

    private func check(_ changes: [Change], atomic: Bool) throws {
        let request = WriteRequest.with {
            $0.changes = changes
            $0.atomic = atomic
        }
        let expected: [UInt8] = try request.serializedBytes()
        #expect(try request.encoded() == expected)
    }

    @Test(arguments: texts)
    func replies(id: String) throws {
        let plain = WriteOutcome.with { $0.objectID = id }
        var existing = plain
        existing.existed = true
        var shown = plain
        shown.shown = Data()
        let failed = WriteOutcome.with { $0.failure.code = 101 }
        for outcomes in [[], [plain], [plain, plain], [existing], [shown], [failed]] {
            let reply = WriteReply.with { $0.outcomes = outcomes }
            let expected: [UInt8] = try reply.serializedBytes()
            #expect(try reply.encoded() == expected)
        }
    }
}
