import Foundation
import ParseProtocol

/// Takes the rows that cannot be moved.
protocol RefusalList: Sendable {
    func add(_ refusal: RefusedRow) async throws
}

/// A file of refused rows, a JSON object in each line. It exists only if there are any.
actor RefusalFile: RefusalList {
    nonisolated let path: String
    private var file: FileHandle?

    /// Removes the file of an earlier run.
    init(path: String) {
        self.path = path
        try? FileManager.default.removeItem(atPath: path)
    }

    func add(_ refusal: RefusedRow) async throws {
        if file == nil {
            guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
                let opened = FileHandle(forWritingAtPath: path)
            else { throw MoveInError("Cannot write \(path).") }
            file = opened
        }
        try file?.write(contentsOf: Data(refusal.json.serialized + [UInt8(ascii: "\n")]))
    }
}

extension RefusedRow {
    var json: JSON {
        [
            "className": .string(className), "objectId": objectId.map(JSON.string) ?? .null,
            "place": .string(place.description), "reason": .string(reason),
        ]
    }
}
