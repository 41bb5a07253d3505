import ParseProtocol
import TestSupport
import Testing

/// Saves that name thousands of members of one field.
@Suite(.timeLimit(.minutes(2))) struct DottedNameTests {
    /// A document is limited to 128 KiB, which is only checked at the end.
    @Test("T2v: twenty thousand dotted names do not keep the writer busy")
    func twentyThousandDottedNamesDoNotKeepTheWriterBusy() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let large = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("o.k\($0)", JSON.int(1)) })
        let times = try await CostlyRequests.times {
            let answer = try await client.create("Note", ["text": "a"])
            return answer.status == 201 ? nil : "\(answer.status) \(answer.text)"
        } during: {
            let answer = try await client.create("Dotted", .object(large))
            #expect(answer.code == ParseError.Code.objectTooLarge.rawValue, "\(answer.status) \(answer.text)")
        }
        #expect(times.failures.isEmpty, "\(times)")
        #expect(times.percentile(95) < 1500, "\(times)")
    }

    @Test func dottedNamesChangeMembersAndElements() async throws {
        let suite = try await Suite.shared
        let client = ParseClient.master(suite)
        let made = try await client.create("Dotted", ["o": ["a": ["b": 1], "list": [1, 2]], "list": [["n": 1], 5]])
        let path = "/classes/Dotted/\(made.objectId)"
        let changes: JSON = [
            "o.a.b": ["__op": "Increment", "amount": 2], "o.a.c": ["d": true], "o.list.1": 7, "o.new.deep.er": "x",
            "o.gone": ["__op": "Delete"], "list.0.n": 2, "list.1": ["__op": "Delete"], "list.3": [],
        ]
        let changed = try await client.call(.PUT, path, changes)
        #expect(changed.status == 200, "\(changed.text)")
        let object = try await client.get(path).json
        #expect(object["o"] == ["a": ["b": 3, "c": ["d": true]], "list": [1, 7], "new": ["deep": ["er": "x"]]])
        #expect(object["list"] == [["n": 2], .null, .null, []])
    }
}
