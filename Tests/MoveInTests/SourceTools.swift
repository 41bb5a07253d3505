import Foundation
import ParseProtocol
import TestSupport

@testable import MoveIn

/// Keeps what a source gives.
actor Collected: RowSink {
    private(set) var rows: [MovedRow] = []
    private(set) var refusals: [RefusedRow] = []
    private(set) var notes: [String] = []

    func take(_ rows: [MovedRow]) { self.rows += rows }
    func refuse(_ refusal: RefusedRow) { refusals.append(refusal) }
    func note(_ sentence: String, on className: String) { notes.append("\(className): \(sentence)") }

    /// The rows as JSON.
    var objects: [JSON] { rows.map { .object($0.fields) } }
}

extension OldServer {
    func read(_ className: String) async throws -> Collected {
        let sink = Collected()
        try await read(className, since: nil, into: sink)
        return sink
    }

    func classNamed(_ name: String) async throws -> MovedClass? { try await classes().first { $0.name == name } }
}

let fixtures = "\(checkoutDirectory)/Tests/MoveInTests/Fixtures"

/// Runs a body with an empty folder, and removes it afterwards.
func withFolder<T>(_ body: (String) async throws -> T) async throws -> T {
    let folder = "/tmp/satchel-move-in-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

func write(_ bytes: [UInt8], _ path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

func content(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

/// Builds documents of BSON byte by byte, damaged ones too.
enum Built {
    static func document(_ elements: [UInt8]...) -> [UInt8] {
        let content = elements.flatMap(\.self)
        return little(Int32(content.count + 5)) + content + [0]
    }

    static func element(_ type: UInt8, _ name: String, _ value: [UInt8]) -> [UInt8] {
        [type] + Array(name.utf8) + [0] + value
    }

    static func string(_ text: String) -> [UInt8] { little(Int32(text.utf8.count + 1)) + Array(text.utf8) + [0] }

    static func id(_ id: String) -> [UInt8] { element(2, "_id", string(id)) }

    static func little(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    /// A document in a document in …, `levels` of them.
    static func nested(_ levels: Int, type: UInt8 = 3) -> [UInt8] {
        (1..<levels).reduce(document()) { inner, _ in document(element(type, "0", inner)) }
    }
}
