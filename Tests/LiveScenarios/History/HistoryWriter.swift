import ParseProtocol
import TestSupport

/// A writer of random changes to its own objects, one after the other.
struct HistoryWriter {
    private struct Object {
        let id: String
        let serial: JSON
        var fields: [String: JSON]
    }

    private static let objectsMax = 6
    private static let attemptsMax = 20

    let master: ParseClient
    let className: String
    let recorder: HistoryRecorder
    /// The ACLs from which it chooses.
    let accesses: [JSON]
    private let name: String
    private var random: Seeded
    private var objects: [Object] = []
    private var last: Int64 = 0

    init(
        _ name: String, _ suite: Suite, className: String, accesses: [JSON], _ recorder: HistoryRecorder, _ seed: UInt64
    ) {
        self.name = name
        self.className = className
        self.accesses = accesses
        self.recorder = recorder
        master = .master(suite)
        random = Seeded(seed)
    }

    /// Creates, changes or deletes an object.
    mutating func step() async throws {
        let choice = objects.isEmpty ? 0 : Int.random(in: 0..<10, using: &random)
        let index = objects.isEmpty ? 0 : Int.random(in: 0..<objects.count, using: &random)
        switch choice {
        case 0...1 where objects.count < Self.objectsMax:
            var fields = chosen()
            fields["ACL"] = accesses.randomElement(using: &random)
            let serial = JSON.string("\(name)-\(last)")
            let (id, stored) = try await write(nil, serial, fields)
            objects.append(Object(id: id, serial: serial, fields: stored ?? [:]))
        case 2:
            let object = objects.remove(at: index)
            _ = try await write(object.id, object.serial, nil)
        default:
            var fields = objects[index].fields
            // Changes only some fields, so that watched fields often remain unchanged.
            for (name, value) in chosen() where Bool.random(using: &random) { fields[name] = value }
            if Int.random(in: 0..<4, using: &random) == 0 { fields["ACL"] = accesses.randomElement(using: &random) }
            objects[index].fields = try await write(objects[index].id, objects[index].serial, fields).fields ?? [:]
        }
    }

    private mutating func chosen() -> [String: JSON] {
        let tags = ["a", "b", "c"].filter { _ in Bool.random(using: &random) }
        return [
            "kind": .int(.random(in: 0..<3, using: &random)), "score": .int(.random(in: 0..<100, using: &random)),
            "tags": .array(tags.map(JSON.string)),
            "text": .string(String(repeating: "x", count: Bool.random(using: &random) ? 40_000 : 10)),
        ]
    }

    /// Retries a write until its outcome is known.
    /// - Parameters:
    ///   - id: nil for a new object.
    ///   - fields: nil for a deletion.
    private mutating func write(
        _ id: String?, _ serial: JSON, _ fields: [String: JSON]?
    ) async throws -> (id: String, fields: [String: JSON]?) {
        var answer: ParseClient.Answer?
        for _ in 0..<Self.attemptsMax {
            last += 1
            let version = JSON.int(last)
            let stored = fields?.merging(["version": version, "serial": serial]) { $1 }
            let begin = recorder.now
            answer = try? await send(id, stored)
            var done: String?
            if let answer, (200..<300).contains(answer.status) {
                done = id ?? answer.objectId
            } else if let object = try await look(serial) {
                done = object["version"] == version ? object.objectId : nil
            } else if fields == nil {
                done = id
            }
            guard let done else { continue }
            recorder.wrote(.init(done, version: last, stored, recorder.span(from: begin)))
            return (done, stored)
        }
        if let answer { throw Unexpected("a write of \(name)", answer) }
        throw NeverHappened("A write of \(name) is answered.")
    }

    private func send(_ id: String?, _ fields: [String: JSON]?) async throws -> ParseClient.Answer {
        guard let id else { return try await master.create(className, .object(fields ?? [:])) }
        let path = "/classes/\(className)/\(id)"
        guard let fields else { return try await master.call(.DELETE, path) }
        return try await master.call(.PUT, path, .object(fields))
    }

    /// Reads the object after a write with an unknown outcome. Each query is unique, so no cached answer is returned.
    private func look(_ serial: JSON) async throws -> JSON? {
        var found: JSON?
        let unlike: JSON = ["$ne": .int(-.random(in: 2...1 << 50))]
        try await eventually("objects are found again", within: .seconds(60)) {
            let answer = try? await master.find(className, ["serial": serial, "version": unlike])
            found = answer?.results.first
            return answer?.status == 200
        }
        return found
    }
}
